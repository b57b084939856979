"""Models that together hold every construct of the format, made by hand: `CONSTRUCTS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.parser
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

FLOAT = TensorProto.FLOAT
OPSETS = (helper.make_opsetid("", 21), helper.make_opsetid("my.ops", 3))

SUBGRAPHS = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2] x, bool c, int64 n) => (float[2] y, float[2] sum, float["k", 2] all, float[2] last)
<float[2] w = {1, 2}>
{
    a = Add(x, w)
    y = If (c) <
        then_branch = outer () => (float[2] t) {
            b = Neg(a)
            t = If (c) <
                then_branch = deep () => (float[2] u) { u = Mul(b, w) },
                else_branch = flat () => (float[2] v) <float[2] w2 = {3, 4}> { v = Add(x, w2) }
            >
        },
        else_branch = other () => (float[2] t) { b = Neg(x)  t = Add(b, a) }
    >
    sum, all = Loop (n, c, x) <
        body = step (int64 i, bool go, float[2] s) => (bool stay, float[2] next, float[2] out) {
            stay = Identity(go)
            next = Add(s, a)
            out = Mul(next, w)
        }
    >
    two = Constant <value = int64[1] {2}> ()
    rows = Unsqueeze(all, two)
    last, unused = Scan <num_scan_inputs = 1,
        body = scanned (float[2] state, float[2] row) => (float[2] then, float[2] same) {
            then = Add(state, row)
            same = Identity(then)
        }
    > (x, all)
}
"""

SEQUENCES = """
<ir_version: 10, opset_import: ["": 21, "my.ops": 3]>
g (seq(float[2]) s, optional(float[2]) o, seq(seq(float["n"])) deep, optional(seq(int64["m"])) os)
  => (seq(float[2]) t, float[2] first, bool has, seq(seq(float["n"])) same)
{
    t = SequenceMap (s) <body = each (float[2] e) => (float[2] f) { f = Neg(e) }>
    zero = Constant <value_int = 0> ()
    first = SequenceAt(t, zero)
    has = OptionalHasElement(o)
    same = my.ops.Same(deep)
}
"""

MAPS = """
<ir_version: 8, opset_import: ["": 15, "ai.onnx.ml": 3]>
g (float["n", 2] x, map(int64, float) m) => (seq(map(string, float)) y, float[1, 3] v)
{
    y = ai.onnx.ml.ZipMap <classlabels_strings = ["a", "é"]> (x)
    v = ai.onnx.ml.DictVectorizer <int64_vocabulary = [1, 5, 9]> (m)
}
"""

FUNCTIONS = """
<ir_version: 11, opset_import: ["": 23, "local": 2, "unused.domain": 9]>
g (float[2] x, bool c) => (float[2] y, float[2] z) {
    [call] a = local.scaled <alpha: float = 3.0> (x)
    y = local.choice (c, a)
    z = local.scaled (a)
}
<domain: "local", opset_import: ["": 13, "local": 2], doc_string: "x times alpha, plus one">
scaled <alpha: float = 2.0> (x) => (y) {
    k = Constant <value_float: float = @alpha> ()
    p = Mul (x, k)
    y = local.shifted (p)
}
<domain: "local", opset_import: ["": 23]>
shifted (x) => (y) { one = Constant <value = float {1}> ()  y = Add (x, one) }
<domain: "local", opset_import: ["": 23]>
choice (c, v) => (r) {
    n = Neg (v)
    r = If (c) <
        then_branch = t () => (float[2] p) { p = Abs (n) },
        else_branch = e () => (float[2] q) { q = Mul (n, v) }
    >
}
<domain: "local", opset_import: ["": 23]>
never (v) => (r) { r = Exp (v) }
"""

OTHER_DOMAINS = """
<ir_version: 10, opset_import: ["my.ops": 3, "": 21, "com.microsoft": 1, "unused": 7]>
g (float[2] x) => (float[2] y, float[2] z) {
    [thing] y = my.ops.Thing <k = 1, f = 1.5, s = "é", ks = [1, 2], none: ints = [],
                              w = float[2] {1, 2}> (x, , x)
    z = com.microsoft.Gelu (x)
}
"""

SPELLINGS = """
<ir_version: 10, opset_import: ["ai.onnx": 21],
 metadata_props: ["isomorph.constraints": "n>=4;n % 8==0 ; ", "b": "1", "a": "2",
                  "isomorph.domains": "x in 0..9.50"]>
g (float["n", "2*n+1", "", "n + n"] x) => (float["n"] y, float z) {
    y = Neg(x)
    z = ReduceSum <keepdims = 0> (x)
}
"""


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def shadowing() -> onnx.ModelProto:
    """Names of a subgraph that hide outer ones, which the standard forbids and run times allow."""
    return parsed("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x, bool c) => (float[2] y) {
        h = Neg(x)
        k = Abs(h)
        y = If (c) <
            then_branch = hides () => (float[2] k) { h = Exp(x)  k = Neg(h) },
            else_branch = uses () => (float[2] k) { m = Identity(h)  k = Neg(m) }
        >
    }
    """)


def spellings() -> onnx.ModelProto:
    """What means the same as something that is written more often."""
    made = parsed(SPELLINGS)
    made.metadata_props.add(key="b", value="again")
    graph = made.graph
    graph.ClearField("name")
    graph.node[0].domain = "ai.onnx"
    graph.node[0].name = ""
    graph.node[0].doc_string = ""
    graph.node[1].attribute[0].ClearField("type")
    graph.node[1].attribute[0].doc_string = "why not"
    graph.node.add(op_type="MaxPool", input=["p"], output=["q"], domain="")
    graph.node[2].attribute.add(name="kernel_shape", ints=[1])
    graph.initializer.append(numpy_helper.from_array(np.zeros((1, 1, 2), np.float32), "p"))
    graph.output[0].type.tensor_type.ClearField("shape")
    graph.input[0].type.tensor_type.shape.dim.add().dim_value = -1
    graph.input[0].type.tensor_type.shape.dim.add()
    graph.value_info.add(name="nobody").type.tensor_type.elem_type = FLOAT
    return made


def element_types(*, typed: bool) -> onnx.ModelProto:
    """An initializer and an attribute of every element type, in a typed field or raw."""
    nodes, tensors = [], []
    for dtype in DType:
        name = f"w_{dtype}"
        if dtype is DType.STRING:
            tensor = helper.make_tensor(name, dtype.value, [2], [b"\xff\0", "é".encode()])
        else:
            codes = np.arange(5) % 2
            array = (2.0**codes if dtype is DType.FLOAT8E8M0 else codes).astype(dtype.numpy)
            if dtype.is_signed:
                array = -array
            if typed:
                tensor = helper.make_tensor(name, dtype.value, [5], array.tolist())
            else:
                tensor = numpy_helper.from_array(array, name)
        tensors.append(tensor)
        nodes += (
            helper.make_node("Use", [name], [f"u_{dtype}"], domain="my.ops"),
            helper.make_node("Has", [], [f"h_{dtype}"], domain="my.ops", value=tensor),
        )
    graph = helper.make_graph(nodes, "types", [], [], tensors)
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=14)


def remarks() -> onnx.ModelProto:
    """Documentation and properties wherever there may be some, in no order and some twice."""
    made = parsed(SUBGRAPHS)
    graph, node = made.graph, made.graph.node[0]
    made.producer_name, made.producer_version, made.domain = "some tool", "1.2+x", "org.example"
    made.model_version, made.doc_string, graph.doc_string = 7, "model\nof", "graph of"
    node.name, node.doc_string = "adds", "adds them"
    graph.input[0].doc_string, graph.output[0].doc_string = "pixels", "scores"
    graph.initializer[0].doc_string = "weights"
    info = graph.value_info.add(name="a", doc_string="said of a")
    info.type.tensor_type.elem_type = FLOAT
    graph.value_info.add(name="y", doc_string="said elsewhere").CopyFrom(graph.output[0])
    branch = graph.node[1].attribute[0]
    branch.doc_string, branch.g.doc_string = "an attribute", "a branch"
    for owner in (
        *(made, graph, node, graph.input[0], graph.output[0], graph.initializer[0], info, branch.g),
        *(branch.g.node[0], branch.g.output[0]),
    ):
        for key, value in (("z", "1"), ("a", "é"), ("isomorph.source", "a b.py:012 m"), ("b", "")):
            owner.metadata_props.add(key=key, value=value)
    node.metadata_props.add(key="z", value="twice")
    return made


def annotations() -> onnx.ModelProto:
    made = parsed(SUBGRAPHS)
    for name in ("w", "a", "nobody"):
        quantized = made.graph.quantization_annotation.add(tensor_name=name)
        quantized.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    return made


def denotations() -> onnx.ModelProto:
    """Types that say what they are of, and types that are of nothing we know."""
    made = parsed(OTHER_DOMAINS)
    kind = made.graph.input[0].type
    kind.denotation = "IMAGE"
    kind.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    opaque = made.graph.input.add(name="blob").type.opaque_type
    opaque.domain, opaque.name = "my.ops", "Blob"
    made.graph.input.add(name="untyped")
    made.graph.input.add(name="empty").type.SetInParent()
    sparse = made.graph.input.add(name="sparse").type.sparse_tensor_type
    sparse.elem_type = FLOAT
    sparse.shape.dim.add().dim_param = "n"
    made.graph.input.add(name="seq").type.sequence_type.SetInParent()
    node = made.graph.node[0]
    stated = node.attribute.add(name="tp", type=AttributeProto.TYPE_PROTO)
    stated.tp.CopyFrom(kind)
    several = node.attribute.add(name="tps", type=AttributeProto.TYPE_PROTOS)
    several.type_protos.extend([kind, kind])
    node.attribute.add(name="no_types", type=AttributeProto.TYPE_PROTOS)
    return made


def sparse_tensor(places: object, dims: list[int], name: str = "") -> onnx.SparseTensorProto:
    indices = np.array(places, np.int64)
    values = numpy_helper.from_array(np.arange(len(indices), dtype=np.float32), name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(indices), dims)


def sparse() -> onnx.ModelProto:
    """Sparse tensors: initializers, and attributes of operators; zeros that are stated."""
    made = parsed("""
    <ir_version: 10, opset_import: ["": 21, "my.ops": 3]>
    g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z, float[4] k)
    <float[2, 3] dense = {1, 2, 3, 4, 5, 6}>
    {
        y = Add(x, flat)
        z = Add(x, deep)
        k = Constant ()
        [theirs] o = my.ops.Use (x)
    }
    """)
    graph = made.graph
    flat, deep = sparse_tensor([1, 5], [2, 3], "flat"), sparse_tensor([[0, 1], [1, 2]], [2, 3])
    deep.values.name, deep.values.doc_string = "deep", "of two"
    graph.sparse_initializer.extend([deep, flat])
    graph.node[2].attribute.append(helper.make_attribute("sparse_value", sparse_tensor([2], [4])))
    graph.node[2].attribute[0].doc_string = "one"
    theirs = graph.node[3].attribute
    theirs.append(helper.make_attribute("one", sparse_tensor([0], [1 << 20])))
    several = theirs.add(name="several", type=AttributeProto.SPARSE_TENSORS)
    several.sparse_tensors.extend([flat, deep])
    theirs.add(name="none", type=AttributeProto.SPARSE_TENSORS)
    return made


def lists_of_things() -> onnx.ModelProto:
    """Attributes that are lists of tensors and of graphs, and empty lists of every kind."""
    made = parsed(OTHER_DOMAINS)
    attributes = made.graph.node[0].attribute
    tensors = attributes.add(name="tensors", type=AttributeProto.TENSORS)
    named = numpy_helper.from_array(np.arange(3, dtype=np.int8), "named")
    named.doc_string = "described"
    named.metadata_props.add(key="k", value="v")
    tensors.tensors.extend([named, helper.make_tensor("", FLOAT, [1], [1.0])])
    graphs = attributes.add(name="graphs", type=AttributeProto.GRAPHS)
    inner = onnx.parser.parse_graph("inner () => (float[2] r) { r = Neg(x) }")
    graphs.graphs.extend([inner, inner])
    for kind in ("INTS", "FLOATS", "STRINGS", "TENSORS", "GRAPHS"):
        attributes.add(name=f"no_{kind}", type=AttributeProto.AttributeType.Value(kind))
    return made


def defaults(ir_version: int) -> onnx.ModelProto:
    """Inputs that have an initializer: what the caller gives takes its place."""
    made = parsed(SUBGRAPHS)
    made.ir_version = ir_version
    info = helper.make_tensor_value_info("w", FLOAT, ["two"], "may be given")
    inputs = [made.graph.input[0], info, *made.graph.input[1:]]
    copies = [onnx.ValueInfoProto.FromString(i.SerializeToString()) for i in inputs]
    made.graph.ClearField("input")
    made.graph.input.extend(copies)
    return made


def devices() -> onnx.ModelProto:
    """Where nodes are to run: configurations of the model, and sharding of nodes."""
    made = parsed(SUBGRAPHS)
    made.ir_version = 11
    made.configuration.add(name="two", num_devices=2, device=["cuda:0", "cuda:1"])
    node = made.graph.node[0]
    placed = node.device_configurations.add(configuration_id="two", pipeline_stage=1)
    spec = placed.sharding_spec.add(tensor_name="w", device=[0, 1])
    spec.sharded_dim.add(axis=0).simple_sharding.add(dim_value=2, num_shards=2)
    node.overload = "none of ours"
    return made


def training() -> onnx.ModelProto:
    made = parsed(SUBGRAPHS)
    info = made.training_info.add()
    info.initialization.CopyFrom(onnx.parser.parse_graph("i () => (float[2] f) { f = Neg(z) }"))
    info.algorithm.CopyFrom(onnx.parser.parse_graph("a () => (float[2] f) { f = Neg(w) }"))
    info.algorithm.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "rate"))
    info.update_binding.add(key="w", value="f")
    return made


def overloads() -> onnx.ModelProto:
    made = parsed(FUNCTIONS)
    other = made.functions.add()
    other.CopyFrom(made.functions[0])
    other.overload = "again"
    other.metadata_props.add(key="k", value="v")
    other.value_info.add(name="p").type.tensor_type.elem_type = FLOAT
    made.graph.node[2].overload = "again"
    return made


def outputs_of_every_kind() -> onnx.ModelProto:
    """Outputs that are inputs and weights, with other dims than these say."""
    made = parsed("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float["n"] x) => (float["n"] x, float["m"] w, float["k"] y)
    <float[2] w = {1, 2}, float[3] unread = {1, 2, 3}>
    { y = Neg(x) }
    """)
    made.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("w", FLOAT, ["q"]))
    return made


CONSTRUCTS: dict[str, Callable[[], onnx.ModelProto]] = {
    "subgraphs": lambda: parsed(SUBGRAPHS),
    "shadowing": shadowing,
    "sequences": lambda: parsed(SEQUENCES),
    "maps": lambda: parsed(MAPS),
    "functions": lambda: parsed(FUNCTIONS),
    "overloads": overloads,
    "other domains": lambda: parsed(OTHER_DOMAINS),
    "spellings": spellings,
    "element types, raw": lambda: element_types(typed=False),
    "element types, typed": lambda: element_types(typed=True),
    "remarks": remarks,
    "annotations": annotations,
    "denotations": denotations,
    "sparse": sparse,
    "lists": lists_of_things,
    "defaults": lambda: defaults(10),
    "defaults of old": lambda: defaults(3),
    "devices": devices,
    "training": training,
    "outputs": outputs_of_every_kind,
}
