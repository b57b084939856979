"""Front ends: what a user has, captured as a graph."""
