"""Where graphs run: devices, and the adaptor to onnxruntime."""
