"""The digits CNN as an array function, as a torch module and as files: one model, everywhere."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from safetensors.numpy import load_file

import isomorph as iso
from isomorph.frontends.canonical import canonical
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.text import parse
from isomorph.parity.verdict import Status
from tests.isomorphism import differences
from tests.kernels.support import needs_compiler, uses_its_arena

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Graph

HERE = Path(__file__).parents[2] / "examples" / "digits"
SPEC = ["images: float32[batch, 1, 8, 8] in 0..1"]
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed: pip install torch"
)
WAYS = [
    "array function",
    pytest.param("torch module", marks=needs_torch),
    "file of the array function, opset 13",
    "file of the array function, opset 21",
    "file by hand",
    "file by hand, defaults left out",
]


@pytest.fixture(autouse=True)
def folder() -> Iterator[None]:
    """The example's modules, imported as its own folder's."""
    sys.path.insert(0, str(HERE))
    yield
    sys.path.remove(str(HERE))
    for name in ("model", "torch_model"):
        sys.modules.pop(name, None)


@cache
def graph_of(way: str) -> Graph:
    match way:
        case "array function":
            return iso.trace(import_module("model").digits, SPEC)
        case "torch module":
            return iso.trace(import_module("torch_model").digits(), SPEC)
        case "file by hand":
            return decode_model(by_hand(terse=False))
        case "file by hand, defaults left out":
            return decode_model(by_hand(terse=True))
    return read_back(int(way.rpartition(" ")[2]))


def read_back(opset: int) -> Graph:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "digits.onnx"
        iso.export(graph_of("array function"), path, opset=opset, verify=False)
        return decode_model(onnx.load(path))


def by_hand(*, terse: bool) -> onnx.ModelProto:
    """The model as exporters of torch write it: Flatten, and Gemm on weights [out, in].

    Args:
        terse: leave out what has a default, and pad by `auto_pad`.
    """
    stored = load_file(HERE / "digits.safetensors")
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def weight(name: str, array: Any) -> str:
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(kind: str, inputs: list[str], name: str, said: Any = None, **attributes: Any) -> str:
        given = attributes if terse else {**attributes, **(said or {})}
        nodes.append(helper.make_node(kind, inputs, [name], **given))
        return name

    padding: dict[str, Any] = {"auto_pad": "SAME_UPPER"} if terse else {"pads": [1, 1, 1, 1]}
    full = {"dilations": [1, 1], "group": 1, "kernel_shape": [3, 3], "strides": [1, 1]}
    x = "pixels"
    for i in (1, 2):
        names = [f"conv{i}.weight", f"conv{i}.bias"]
        x = op("Conv", [x, *(weight(n, stored[n]) for n in names)], f"conv{i}", full, **padding)
        names = [f"bn{i}.{kind}" for kind in ("scale", "bias", "mean", "var")]
        said = {"epsilon": 1e-5, "momentum": 0.9}
        x = op("BatchNormalization", [x, *(weight(n, stored[n]) for n in names)], f"bn{i}", said)
        x = op("Relu", [x], f"relu{i}")
        if i == 1:
            said = {"ceil_mode": 0, "dilations": [1, 1], "pads": [0, 0, 0, 0]}
            x = op("MaxPool", [x], "pool", said, kernel_shape=[2, 2], strides=[2, 2])
    x = op("Flatten", [x], "flat", {"axis": 1})
    for i in (1, 2):
        turned, bias = stored[f"fc{i}.weight"].T, stored[f"fc{i}.bias"]
        operands = [x, weight(f"fc{i}.weight", turned), weight(f"fc{i}.bias", bias)]
        x = op("Gemm", operands, f"fc{i}", {"alpha": 1.0, "beta": 1.0}, transB=1)
        x = op("Relu", [x], "relu3") if i == 1 else x
    kind = onnx.TensorProto.FLOAT
    ends = (
        [helper.make_tensor_value_info(n, kind, shape)]
        for n, shape in (("pixels", ["batch", 1, 8, 8]), (x, ["batch", 10]))
    )
    graph = helper.make_graph(nodes, "by_hand", *ends, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("way", WAYS)
def test_the_canonical_graph_is_one(way: str):
    found = canonical(graph_of(way))
    assert not differences(canonical(graph_of("array function")), found)
    assert len(found) == 11


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize("way", WAYS)
def test_it_exports_to_the_same_operators(way: str, opset: int, tmp_path: Path):
    iso.export(graph_of(way), tmp_path / "digits.onnx", opset=opset, verify=False)
    nodes = onnx.load(tmp_path / "digits.onnx").graph.node
    wanted = {"Conv": 2, "Relu": 3, "MaxPool": 1, "Reshape": 1, "MatMul": 2, "Add": 2}
    assert Counter(n.op_type for n in nodes) == wanted


@needs_compiler
@pytest.mark.parametrize("way", WAYS)
def test_its_kernels_compute_it(way: str):
    graph = graph_of(way)
    run = iso.compile(graph, device="sim:sm_90")
    uses_its_arena(run, np.random.default_rng(0).random((16, 1, 8, 8), np.float32))
    verdict = iso.verify(graph, run, cases=16, seed=2)
    assert verdict.status is Status.PASS, str(verdict)
    assert verdict.judged
    assert len(verdict.dims["batch"]) > 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("weight", "hold other numbers"),
        ("attribute", "pads is"),
        ("operand", "used as two different values"),
        ("op", "is (('', 'Sigmoid')"),
        ("name", ""),
    ],
)
def test_what_counts_as_different(change: str, said: str):
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n, 1, 4] x, float[n, 1, 4] y) => (float[n, 1, 4] z)
      <float[1, 1, 3] w = {1, 2, 3}>
    { t = Conv<pads = [1, 1]>(x, w)
      u = Relu(t)
      z = Sub(u, y) }"""
    changed = {
        "weight": text.replace("{1, 2, 3}", "{1, 2, 3.5}"),
        "attribute": text.replace("[1, 1]>", "[2, 0]>"),
        "operand": text.replace("Conv<pads = [1, 1]>(x", "Conv<pads = [1, 1]>(y"),
        "op": text.replace("Relu", "Sigmoid"),
        "name": text.replace("u = ", "v = ").replace("Sub(u", "Sub(v"),
    }[change]
    found = differences(canonical(parse(text)), canonical(parse(changed)))
    assert bool(found) is bool(said)
    assert said in "".join(found)
