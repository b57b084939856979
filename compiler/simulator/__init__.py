"""Runs the CUDA kernels of `isomorph.kernels` on the CPU, and checks them."""
