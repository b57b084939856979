"""The intermediate representation: an ONNX vocabulary on a networkx graph."""
