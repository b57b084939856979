"""`verify` of single operators on the simulator, on inputs that it draws itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import isomorph as iso
from isomorph.ir.infer import infer
from isomorph.ir.schema import ML
from isomorph.ir.text import parse
from isomorph.parity.verdict import Status
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler
from tests.ops.harness import build, cases

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph

pytestmark = needs_compiler
OPERATORS = (
    *("ArgMax", "ArgMin", "BitCast", "Col2Im", "ConvInteger", "ConvTranspose", "CumProd", "CumSum"),
    *("DFT", "DeformConv", "DequantizeLinear", "Det", "Einsum", "EyeLike", "GatherElements"),
    *("GatherND", "GridSample", "Hardmax", "LRN", "LpNormalization", "LpPool", "MatMulInteger"),
    *("OneHot", "Pad", "QLinearConv", "QLinearMatMul", "QuantizeLinear", "Resize", "STFT"),
    *("ScatterElements", "ScatterND", "Tile", "TopK", "Trilu"),
    *((ML, name) for name in ("ArrayFeatureExtractor", "Binarizer", "Imputer", "Normalizer")),
    *((ML, name) for name in ("Scaler", "TreeEnsemble", "TreeEnsembleRegressor")),
)
WITH_RANGES = {
    "RoiAlign": (
        (
            "(float[2, 3, 6, 8] x, float[5, 4] r, int64[5] b) => (float[5, 3, 2, 2] y)"
            " { y = RoiAlign<output_height = 2, output_width = 2, sampling_ratio = 2>(x, r, b) }"
        ),
        ["x: float32[2, 3, 6, 8]", "r: float32[5, 4] in 0..6", "b: int64[5] in 0..1"],
    ),
    "MaxUnpool": (
        (
            "(float[1, 2, 2, 2] x, int64[1, 2, 2, 2] i) => (float[1, 2, 4, 4] y)"
            " { y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i) }"
        ),
        ["x: float32[1, 2, 2, 2]", "i: int64[1, 2, 2, 2] in 0..31"],
    ),
    "ReverseSequence": (
        "(float[4, 3] x, int64[3] i) => (float[4, 3] y) { y = ReverseSequence(x, i) }",
        ["x: float32[4, 3]", "i: int64[3] in 0..4"],
    ),
    "TensorScatter": (
        (
            "(float16[2, 3, 5, 2] x, float16[2, 3, 2, 2] u, int64[2] i) => (float16[2, 3, 5, 2] y)"
            " { y = TensorScatter(x, u, i) }"
        ),
        ["x: float16[2, 3, 5, 2]", "u: float16[2, 3, 2, 2]", "i: int64[2] in 0..3"],
    ),
}
"""Operators whose integers have to lie somewhere, and where."""


def passes(graph: Graph, inputs: list[str]) -> None:
    infer(graph)
    run = compile_graph(graph, "sim:sm_90")
    verdict = iso.verify(graph, run, inputs=inputs, cases=8, seed=2)
    assert verdict.status is Status.PASS, str(verdict)
    assert verdict.judged


@pytest.mark.parametrize("key", OPERATORS, ids=str)
def test_an_operator_is_verified(key: str | tuple[str, str]):
    (case,) = cases([key], ["float32"])[:1]
    passes(build(*case.values)[0], [])


@pytest.mark.parametrize("name", WITH_RANGES)
def test_an_operator_is_verified_where_its_integers_make_sense(name: str):
    text, inputs = WITH_RANGES[name]
    passes(parse(f'<ir_version: 13, opset_import: ["" : 24]>\n{name} {text}'), inputs)
