"""Hostile and broken files, made by hand: `MODELS` are messages, `FILES` are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from isomorph.ir.errors import InvalidModelError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])


def model(
    nodes: list[onnx.NodeProto] | None = None,
    initializers: list[TensorProto] | None = None,
    *,
    opset: int = 21,
    ir_version: int = 10,
    inputs: list[onnx.ValueInfoProto] | None = None,
) -> onnx.ModelProto:
    """A model of one Relu unless told otherwise."""
    graph = helper.make_graph(
        nodes if nodes is not None else [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [X] if inputs is None else inputs,
        [Y],
        initializers or [],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = ir_version
    return made


def with_weight(change: Callable[[TensorProto], None]) -> onnx.ModelProto:
    """A model that adds a weight `w`, its message changed."""
    tensor = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    change(tensor)
    return model([helper.make_node("Add", ["x", "w"], ["y"])], [tensor])


def external(location: str, offset: object = None, length: object = None) -> onnx.ModelProto:
    """The same with the weight's data somewhere else."""

    def change(tensor: TensorProto) -> None:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset), ("length", length)):
            if value is not None:
                tensor.external_data.add(key=key, value=str(value))

    return with_weight(change)


def dims(*sizes: int) -> onnx.ModelProto:
    def change(tensor: TensorProto) -> None:
        del tensor.dims[:]
        tensor.dims.extend(sizes)

    return with_weight(change)


def data_type(number: int) -> onnx.ModelProto:
    return with_weight(lambda tensor: setattr(tensor, "data_type", number))


def nested(depth: int, payload: int) -> bytes:
    """Graph in attribute in node in graph …, with a long name at the bottom."""
    inner = field(2, bytes(payload))
    for _ in range(depth):
        inner = field(1, field(5, field(6, inner)))
    return b"\x08\x0a" + field(7, inner)


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited field of a protobuf message."""
    size, digits = len(payload), bytearray([number << 3 | 2])
    while size > 0x7F:
        digits.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*digits, size]) + payload


def functions(calls: dict[str, list[str]]) -> onnx.ModelProto:
    """Local functions that call each other; the graph calls the first."""
    made = model([helper.make_node(next(iter(calls)), ["x"], ["y"], domain="local")])
    made.opset_import.append(helper.make_opsetid("local", 1))
    for name, callees in calls.items():
        steps = ["a", *(f"t{i}" for i in range(len(callees)))]
        nodes = [
            helper.make_node(c, [steps[i]], [steps[i + 1]], domain="" if c == "Relu" else "local")
            for i, c in enumerate(callees)
        ]
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
        made.functions.append(
            helper.make_function("local", name, ["a"], [steps[-1]], nodes, imports)
        )
    return made


def bomb() -> onnx.ModelProto:
    """Thirty functions, each calling the next one twice: a billion nodes."""
    names = [f"f{i}" for i in range(30)]
    return functions({n: [m, m] for n, m in zip(names, [*names[1:], "Relu"], strict=True)})


def twice(name: str) -> onnx.ModelProto:
    return model([helper.make_node("Relu", ["x"], [name]), helper.make_node("Neg", ["x"], [name])])


def cyclic() -> onnx.ModelProto:
    return model(
        [helper.make_node("Add", ["x", "b"], ["y"]), helper.make_node("Neg", ["y"], ["b"])]
    )


def attribute_twice() -> onnx.ModelProto:
    node = helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5)
    node.attribute.append(node.attribute[0])
    return model([node])


def reference_outside_of_functions() -> onnx.ModelProto:
    node = helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5)
    node.attribute[0].ref_attr_name = "alpha"
    return model([node])


def dim_text(text: str) -> onnx.ModelProto:
    return model(inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, [text])])


def metadata(key: str, text: str) -> onnx.ModelProto:
    made = model()
    made.metadata_props.add(key=key, value=text)
    return made


def two_opsets() -> onnx.ModelProto:
    made = model()
    made.opset_import.append(helper.make_opsetid("ai.onnx", 20))
    return made


def sparse(indices: list[int], size: int = 4) -> onnx.ModelProto:
    values = numpy_helper.from_array(np.ones(len(indices), np.float32), "w")
    places = numpy_helper.from_array(np.array(indices, np.int64))
    made = model([helper.make_node("Add", ["x", "w"], ["y"])])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [size]))
    return made


MODELS: dict[str, tuple[Callable[[], onnx.ModelProto], type[Exception], str]] = {
    "no opset": (lambda: model(opset=0), InvalidModelError, "opset 0.*1 is the lowest"),
    "negative opset": (lambda: model(opset=-3), InvalidModelError, "opset -3"),
    "new opset": (lambda: model(opset=999), UnsupportedError, "opset 999.*up to 28"),
    "two opsets": (two_opsets, InvalidModelError, "opsets 21 and 20 of ai.onnx"),
    "new format": (lambda: model(ir_version=77), UnsupportedError, "IR version is 77.*up to 14"),
    "negative format": (lambda: model(ir_version=-1), InvalidModelError, "IR version is -1"),
    "unknown name": (
        lambda: model([helper.make_node("Relu", ["z"], ["y"])]),
        InvalidModelError,
        "nothing computes its input 'z'",
    ),
    "unknown output": (lambda: model([]), InvalidModelError, "nothing computes its output 'y'"),
    "unknown domain": (
        lambda: model([helper.make_node("F", ["x"], ["y"], domain="a.b")]),
        InvalidModelError,
        "does not import the domain 'a.b'",
    ),
    "computed twice": (lambda: twice("y"), InvalidModelError, "'y' is computed twice"),
    "input computed": (lambda: twice("x"), InvalidModelError, "'x' is computed twice"),
    "one node, one name twice": (
        lambda: model([helper.make_node("Split", ["x"], ["y", "y"], num_outputs=2)]),
        InvalidModelError,
        "'y' is computed twice",
    ),
    "input twice": (lambda: model(inputs=[X, X]), InvalidModelError, "input 'x' is defined twice"),
    "weight twice": (
        lambda: model(initializers=[numpy_helper.from_array(np.zeros(1), "w")] * 2),
        InvalidModelError,
        "initializer 'w' is defined twice",
    ),
    "cycle": (cyclic, InvalidModelError, "cycle"),
    "attribute twice": (attribute_twice, InvalidModelError, "'alpha' is given twice"),
    "reference": (reference_outside_of_functions, InvalidModelError, "outside of functions"),
    "missing attribute": (
        lambda: model([helper.make_node("Cast", ["x"], ["y"])]),
        InvalidModelError,
        "attribute 'to' is missing",
    ),
    "unknown attribute": (
        lambda: model([helper.make_node("Relu", ["x"], ["y"], alpha=1.0)]),
        InvalidModelError,
        "no attribute 'alpha'",
    ),
    "too many operands": (
        lambda: model([helper.make_node("Relu", ["x", "x"], ["y"])]),
        InvalidModelError,
        "2 inputs, 1 to 1",
    ),
    "negative dim": (lambda: dims(-4), InvalidModelError, r"initializer 'w'.*\(-4,\)"),
    "huge dim": (lambda: dims(2**62, 2**62), InvalidModelError, "more than 1 TiB"),
    "huge empty": (lambda: dims(0, 2**62), InvalidModelError, "more than 1 TiB"),
    "wrong dims": (lambda: dims(5), InvalidModelError, "need 20 bytes, it has 16"),
    "no such type": (lambda: data_type(999), InvalidModelError, "element type 999"),
    "no type": (lambda: data_type(0), InvalidModelError, "element type 0"),
    "circle of functions": (
        lambda: functions({"f": ["g"], "g": ["f"]}),
        InvalidModelError,
        "circle: local.f → local.g → local.f",
    ),
    "function of itself": (lambda: functions({"f": ["f"]}), InvalidModelError, "circle"),
    "bomb of functions": (bomb, UnsupportedError, "expand to .* nodes"),
    "sparse past the end": (lambda: sparse([1, 9]), InvalidModelError, "do not ascend within"),
    "sparse unordered": (lambda: sparse([2, 1]), InvalidModelError, "do not ascend"),
    "sparse and huge": (lambda: sparse([1], 2**35), UnsupportedError, "are made dense"),
    "constraint": (
        lambda: metadata("isomorph.constraints", "batch >> 4"),
        InvalidModelError,
        "isomorph.constraints.*batch >> 4",
    ),
    "range": (
        lambda: metadata("isomorph.domains", "x in a..b"),
        InvalidModelError,
        "isomorph.domains.*x in a..b",
    ),
    "data outside, absolute": (
        lambda: external("/etc/passwd"),
        InvalidModelError,
        "'w'.*'/etc/passwd'.*absolute",
    ),
    "data outside, up": (lambda: external("../w.bin"), InvalidModelError, "leads out"),
    "data outside, down and up": (
        lambda: external("a/../../w.bin"),
        InvalidModelError,
        "leads out",
    ),
    "data outside, Windows": (lambda: external("C:\\w.bin"), InvalidModelError, "absolute"),
    "data outside, Windows up": (lambda: external("..\\w.bin"), InvalidModelError, "leads out"),
    "data nowhere": (lambda: external("no.bin"), InvalidModelError, "no such file"),
    "data without place": (lambda: external(""), InvalidModelError, "names no file"),
    "data with a null": (lambda: external("a\0b"), InvalidModelError, "names no file"),
    "data is the folder": (lambda: external("."), InvalidModelError, "'.'"),
    "data in the model": (lambda: external("model.onnx", 0, 17), InvalidModelError, "need 16"),
    "data in memory": (
        lambda: external("*/_ORT_MEM_ADDR_/*", 140000000, 16),
        InvalidModelError,
        "no such file",
    ),
    "offset negative": (lambda: external("w.bin", -1), InvalidModelError, "offset '-1'"),
    "offset not a number": (lambda: external("w.bin", "0x10"), InvalidModelError, "'0x10'"),
    "offset huge": (lambda: external("w.bin", 2**62, 16), InvalidModelError, "which has 64"),
    "offset past the end": (lambda: external("w.bin", 60), InvalidModelError, "bytes 60 to 76"),
    "length wrong": (lambda: external("w.bin", 0, 15), InvalidModelError, "need 16 bytes, 15"),
}


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "text": (b"Dear model,\nhow are you?\n", "not an ONNX model but text"),
    "web page": (b"<!DOCTYPE html><html><body>404</body></html>", "a web page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    "zip": (b"PK\x03\x04rest of it", "a zip archive"),
    "pickle": (b"\x80\x02}q\x00.", "never opened here"),
    "json": (b'{"nodes": []}', "JSON"),
    "noise": (bytes(range(255, 0, -1)), "not a whole ONNX model"),
    "zeros": (bytes(100), "not a whole ONNX model"),
    "length of 2 GiB": (b"\x08\x0a\x3a\xff\xff\xff\xff\x07" + bytes(8), "claims 2147483647 bytes"),
    "length of 2^63": (b"\x3a" + b"\xff" * 9 + b"\x01", "not a whole ONNX model"),
    "endless number": (b"\x08" + b"\xff" * 40, "not a whole ONNX model"),
    "another message": (helper.make_node("Relu", ["x"], ["y"]).SerializeToString(), "ONNX model"),
    "too deep": (nested(60, 1), "nested deeper"),
    "far too deep": (nested(5000, 1 << 17), "nested deeper"),
    "header alone": (b"\x08\x0a", "a graph and an IR version are expected"),
}
