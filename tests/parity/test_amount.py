"""A verdict of PASS is of numbers that were compared, at the sizes where models may differ."""

from __future__ import annotations

import numpy as np
import pytest

import isomorph as iso
from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from isomorph.parity.amount import Amount
from isomorph.parity.engine import verify
from isomorph.parity.strategies.hints import hints, integers, integers_of
from isomorph.parity.structure import Port
from isomorph.parity.verdict import Status

HEAD = '<ir_version: 8, opset_import: ["": 17]> g (float[n, 4] x) =>'
NEG = parse(f"{HEAD} (float[n, 4] y) {{ y = Neg(x) }}")
NOT_A_NUMBER = parse(f"{HEAD} (float[n, 4] y) <float k = {{nan}}> {{ y = Mul(x, k) }}")
BOTH = parse(
    f"{HEAD} (float[n, 4] y, float[n, 4] z) <float k = {{nan}}> {{ y = Mul(x, k) z = Neg(x) }}"
)


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (np.zeros((0, 4)), np.zeros((0, 4)), "output y has no elements"),
        (np.full((2, 4), np.nan), np.full((2, 4), np.nan), "output y is NaN throughout"),
    ],
    ids=["no rows", "only NaN"],
)
def test_saved_arrays_in_which_there_is_nothing_to_compare_pass_nothing(x, y, why, tmp_path):
    np.savez(tmp_path / "r.npz", x=x.astype("f"), y=y.astype("f"))
    verdict = verify(tmp_path / "r.npz", NEG)
    assert (verdict.status, verdict.exit_code) == (Status.INSUFFICIENT, 2)
    assert why in verdict.reason
    assert [o.status for o in verdict.outputs] == [Status.INSUFFICIENT]


def test_one_number_among_them_is_enough(tmp_path):
    x = np.full((2, 4), np.nan, np.float32)
    x[1, 2] = 3
    empty = np.zeros((0, 4), np.float32)
    np.savez(tmp_path / "r.npz", **{"0/x": empty, "0/y": empty, "1/x": x, "1/y": -x})
    assert verify(tmp_path / "r.npz", NEG).status is Status.PASS


def test_what_is_never_a_number_passes_nothing():
    verdict = verify(NOT_A_NUMBER, NOT_A_NUMBER, cases=20)
    assert verdict.status is Status.INSUFFICIENT
    assert "no number was compared in 20 cases: output y is NaN throughout" in verdict.reason


def test_an_output_without_numbers_beside_others_is_told():
    verdict = verify(BOTH, BOTH, cases=20)
    assert verdict.status is Status.PASS
    assert "output y is NaN throughout, on both sides: no number of it was compared" in str(verdict)


def test_an_output_that_is_declared_empty_is_compared_by_its_shape():
    kind = TensorType(DType.FLOAT32, (0, 3))
    amount = Amount([Port("y", kind)])
    amount.add([np.zeros((0, 3))], [np.zeros((0, 3))])
    assert amount.nothing() == ((), False)


def cut(x):
    return x[:100]


@pytest.mark.parametrize("traced", [True, False])
def test_sizes_that_the_models_name_are_tried(traced):
    same = iso.trace(lambda x: x * 1, ["x: float32[n, 4]"], output_names=["y"])
    reference = iso.trace(cut, ["x: float32[n, 4]"], output_names=["y"]) if traced else cut
    verdict = verify(reference, same, inputs=[] if traced else ["x: float32[n, 4]"])
    assert verdict.status is Status.FAIL, verdict
    assert {99, 100, 101} <= {*verdict.dims["n"]}


def test_a_size_that_both_models_name_is_tried():
    graph = iso.trace(cut, ["x: float32[n, 4]"])
    verdict = verify(graph, graph, cases=50)
    assert verdict.status is Status.PASS, verdict
    assert {99, 100, 101} <= {*verdict.dims["n"]}


def test_sizes_that_no_memory_holds_are_not():
    head = '<ir_version: 8, opset_import: ["": 17]> g (float[n, 4096] x) => (float[m, 4096] y)'
    slices = "<int64[1] a = {0}, int64[1] b = {60000}> { y = Slice(x, a, b) }"
    far = parse(f"{head} {slices}")
    verdict = verify(far, far, cases=20)
    assert verdict.status is Status.PASS, verdict
    assert max(verdict.dims["n"]) < 60000


def test_the_telling_sizes_come_first():
    assert hints([7, 64, -1], [7, 9])[:6] == (9, 10, 8, 64, 65, 63)
    assert hints([0, 1, 2**40], []) == ()


def test_integers_are_found_in_graphs_and_code():
    head = "b (int64 i, bool c, float[n, 4] s) => (bool d, float[n, 4] r) <int64 far = {77}>"
    body = f"{head} {{ d = Identity(c) r = Neg(s) e = Neg(far) }}"
    loop = f"<bool t = {{1}}> {{ y = Loop <body = {body}> (, t, x) }}"
    graph = parse(f"{HEAD} (float[n, 4] y) {loop}")
    assert 77 in set(integers(graph))
    bound = 55
    assert {9, 55} <= set(integers_of(lambda x: [(x[:9], x[bound:], y) for y in x]))
