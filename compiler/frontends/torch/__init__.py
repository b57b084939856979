"""PyTorch modules, functions and exported programs, captured through `torch.export`."""
