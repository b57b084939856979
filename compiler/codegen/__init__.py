"""From a `KernelSpec` to one CUDA source, and from that to cubins."""
