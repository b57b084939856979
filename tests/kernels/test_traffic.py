"""What the simulator counts: requests of contiguous kernels move no sector twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph.ir.text import parse
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler

if TYPE_CHECKING:
    from isomorph.simulator.report import Traffic

pytestmark = needs_compiler
ADD = "g (float[64, 64] x, float[64, 64] y) => (float[64, 64] z) { z = Add(x, y) }"
TRANSPOSE = "g (float[2, 64, 96] x) => (float[2, 96, 64] z) { z = Transpose<perm = [0, 2, 1]>(x) }"
SOFTMAX = "g (float[8, 512] x) => (float[8, 512] z) { z = Softmax(x) }"
GEMM = "g (float[64, 64] x, float[64, 64] y) => (float[64, 64] z) { z = MatMul(x, y) }"


def traffic(text: str) -> list[Traffic]:
    run = compile_graph(
        parse(f'<ir_version: 10, opset_import: ["" : 21]>\n{text}'), "sim:sm_90", checking=True
    )
    shapes = [v.type.static_shape for v in run.graph.inputs]
    run(*(np.ones(s, np.float32) for s in shapes))
    return [t for found in run.engine.machine.traffic.values() for t in found]


@pytest.mark.parametrize("text", [ADD, TRANSPOSE, SOFTMAX], ids=["add", "transpose", "softmax"])
def test_global_requests_are_contiguous(text: str):
    found = [t for t in traffic(text) if t.space == "global"]
    assert {t.kind for t in found} == {"read", "write"}
    for t in found:
        assert t.units <= 1.1 * t.bytes / 32, t


def test_a_transposed_tile_has_no_bank_conflicts():
    for t in traffic(TRANSPOSE):
        if t.space == "shared":
            assert t.units_per_request == 1, t


def test_a_product_reads_each_operand_once_per_tile():
    found = traffic(GEMM)
    read = sum(t.bytes for t in found if t.space == "global" and t.kind == "read")
    assert read == sum(t.bytes for t in found if t.space == "shared" and t.kind == "write")
    written = [t for t in found if t.space == "global" and t.kind == "write"]
    assert sum(t.bytes for t in written) == 64 * 64 * 4
