"""Passes: graph in, equivalent graph out. One per file; pipelines are literal tuples."""
