"""Builders of hostile and broken models; `hostile_table.py` says what each comes to."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

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


def deep_subgraphs(depth: int) -> onnx.ModelProto:
    """If in If in If …, only reachable as a message: protobuf's readers stop at 33."""
    made = model([])
    graph = made.graph
    for _ in range(depth):
        node = graph.node.add(op_type="If", input=["x"], output=["y"])
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        graph = attribute.g
        graph.output.add().CopyFrom(Y)
    graph.node.append(helper.make_node("Relu", ["x"], ["y"]))
    return made


def deep_type(depth: int) -> onnx.ModelProto:
    """An input that is a sequence of sequences of …"""
    made = model()
    kind = made.graph.input.add(name="s").type
    for _ in range(depth):
        kind = kind.sequence_type.elem_type
    kind.tensor_type.elem_type = TensorProto.FLOAT
    return made


def many_initializers(count: int) -> onnx.ModelProto:
    """So many that differ, and the last one again."""
    made = model()
    for index in (*range(count), count - 1):
        made.graph.initializer.add(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[0])
    return made


def captures_that_multiply(count: int) -> onnx.ModelProto:
    """So many subgraphs of one node, each of which uses another outer value."""
    made = model()
    made.opset_import.append(helper.make_opsetid("my", 1))
    node = onnx.NodeProto(op_type="T", domain="my", output=["z"])
    graphs = node.attribute.add(name="graphs", type=onnx.AttributeProto.GRAPHS).graphs
    for index in range(count):
        made.graph.node.add(op_type="Neg", input=["x"], output=[f"v{index}"])
        inner = graphs.add(name="inner")
        inner.node.add(op_type="Neg", input=[f"v{index}"], output=["o"])
        inner.output.add(name="o")
    made.graph.node.append(node)
    return made


def names_that_collide(count: int) -> onnx.ModelProto:
    """So many subgraphs whose value has an outer name, and so many numbered variants of that."""
    made = captures_that_multiply(count)
    node = made.graph.node[-1]
    for index, inner in enumerate(node.attribute[0].graphs):
        made.graph.node[index + 1].output[0] = f"x__{index}"
        inner.node[0].input[0], inner.node[0].output[0] = "y", "x"
        inner.output[0].name = "x"
    return made


def backwards(count: int) -> onnx.ModelProto:
    """A chain of nodes, the last one first; valid once it is sorted."""
    names = ["x", *(f"v{i}" for i in range(count)), "y"]
    pairs = list(itertools.pairwise(names))
    return model([helper.make_node("Neg", [a], [b]) for a, b in reversed(pairs)])


def circle(count: int) -> onnx.ModelProto:
    made = backwards(count)
    made.graph.node[-1].input[0] = "y"
    return made


def circle_through_subgraph() -> onnx.ModelProto:
    return onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float[4] x, bool c) => (float[4] y) {
        y = If (c) <then_branch = t () => (float[4] p) { p = Neg(late) },
                    else_branch = e () => (float[4] q) { q = Neg(x) }>
        late = Exp(y)
    }
    """)


def large_constant_called(calls: int, elements: int, *, ints: bool) -> onnx.ModelProto:
    """A function with a large constant, called many times."""
    made = functions({"f": ["Relu"]})
    numbers = np.zeros(elements, np.float32)
    value = {"value_ints": [1] * elements} if ints else {"value": numpy_helper.from_array(numbers)}
    made.functions[0].node.append(helper.make_node("Constant", [], ["k"], **value))
    for index in range(calls):
        made.graph.node.append(helper.make_node("f", ["x"], [f"y{index}"], domain="local"))
    return made


def long_name(length: int) -> onnx.ModelProto:
    return model([helper.make_node("Relu", ["q" * length], ["y"])])


def typed_data(count: int, size: int) -> onnx.ModelProto:
    def change(tensor: TensorProto) -> None:
        tensor.ClearField("raw_data")
        tensor.float_data.extend([1.0] * count)
        del tensor.dims[:]
        tensor.dims.append(size)

    return with_weight(change)


def two_in_a_file(*ranges: tuple[int, int]) -> onnx.ModelProto:
    """Weights of bytes at (offset, length) of the data file."""
    made = external("w.bin", *ranges[0])
    for index, (offset, length) in enumerate(ranges[1:]):
        tensor = made.graph.initializer.add(
            name=f"v{index}", data_type=TensorProto.UINT8, dims=[length]
        )
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
    return made


def stated_twice() -> onnx.ModelProto:
    made = external("w.bin", 0)
    made.graph.initializer[0].external_data.add(key="location", value="/etc/passwd")
    return made


def in_attribute(location: str) -> onnx.ModelProto:
    """A constant's data somewhere else; in a function, when it is called."""
    made = functions({"f": ["Relu"]})
    tensor = TensorProto(name="k", data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    made.functions[0].node.append(helper.make_node("Constant", [], ["k"], value=tensor))
    return made


def unknown_field() -> bytes:
    data = model().SerializeToString()
    return data + b"\xfa\x7f\x03abc"


def not_text() -> bytes:
    return model().SerializeToString().replace(b"Relu", b"Re\xffl")
