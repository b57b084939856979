"""Graphs with control flow: the host decides what runs next, kernels compute."""
