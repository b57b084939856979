"""Control flow, sequences, and sizes that data decides: the host steps, kernels compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isomorph as iso
from isomorph.ir.interpret import interpret
from isomorph.ir.text import parse
from isomorph.lowering.errors import NoKernelError
from isomorph.parity.compiled import Compiled
from isomorph.parity.verdict import Status
from isomorph.runtime.device import compile_graph
from isomorph.runtime.errors import RunError
from isomorph.runtime.ort import Session
from isomorph.runtime.staged.engine import StagedEngine
from tests.kernels.support import needs_compiler
from tests.realmodels import real_model

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph
    from isomorph.runtime.device import Run

pytestmark = needs_compiler
HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'

LOOP = """g (float[n, 3] x, int64 m, float[3, 3] w) => (float[n, 3] y, float[k, n, 3] s) {
  yes = Constant<value = bool {1}>()
  y, s = Loop(m, yes, x) <body = b (int64 i, bool before, float[n, 3] a)
      => (bool after, float[n, 3] t, float[n, 3] e) {
    p = MatMul(a, w)
    t = Tanh(p)
    e = Mul(t, a)
    total = ReduceSum<keepdims = 0>(t)
    limit = Constant<value = float {1000.0}>()
    after = Less(total, limit) }>
}"""
SCAN = """g (float[3] h, float[t, 3] x) => (float[3] y, float[3, t] s) {
  y, s = Scan<num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1],
      scan_output_directions = [1], body = b (float[3] a, float[3] e)
      => (float[3] next, float[3] o) {
    q = Add(a, e)
    next = Tanh(q)
    o = Mul(next, e) }>(h, x)
}"""
BRANCHES = """g (float[n, 3] x) => (float[k] y) {
  total = ReduceSum<keepdims = 0>(x)
  zero = Constant<value = float {0.0}>()
  positive = Greater(total, zero)
  y = If(positive) <
    then_branch = t () => (float[a] u) {
      r = Relu(x)
      flat = Constant<value = int64[1] {-1}>()
      u = Reshape(r, flat) },
    else_branch = e () => (float[b] v) {
      first = Constant<value = int64[1] {0}>()
      v = ReduceMean<keepdims = 0>(x, first) }>
}"""
SEQUENCE = """g (float[n, 6] x) => (float[n, 6] y, int64 count) {
  s = SplitToSequence<axis = 1>(x)
  one = Constant<value = int64 {1}>()
  a = SequenceAt(s, one)
  f = Exp(a)
  more = SequenceInsert(s, f, one)
  last = Constant<value = int64 {-1}>()
  fewer = SequenceErase(more, last)
  count = SequenceLength(more)
  y = ConcatFromSequence<axis = 1>(fewer)
}"""
MAPPED = """g (seq(float[k]) s, float[1] w) => (seq(float[k]) r) {
  r = SequenceMap(s) <body = b (float[k] a) => (float[k] c) { c = Mul(a, w) }>
}"""
SIZED = """g (float[n] x, bool[n] keep) => (float[k] y, float[k] z) {
  c = Compress<axis = 0>(x, keep)
  y = Neg(c)
  size = Shape(c)
  zero = Constant<value = int64[1] {0}>()
  z = Slice(x, zero, size)
}"""
DECIDED = """g (float[n, 4] x) => (float[r] y) {
  most = ReduceMax<keepdims = 0>(x)
  whole = Cast<to = 7>(most)
  minus = Constant<value = int64[1] {-1}>()
  shape = Reshape(whole, minus)
  one = Constant<value = float[1] {1.0}>()
  ones = Expand(one, shape)
  y = Add(ones, one)
}"""


def model(text: str) -> Graph:
    return parse(HEADER + text)


def compiled(text: str, **options: Any) -> Run:
    return compile_graph(model(text), "sim:sm_90", **options)


def agrees(text: str, *inputs: Any) -> Run:
    """Assert that a checked run gives what the interpreter does."""
    run = compiled(text, checking=True, seed=3)
    wanted = interpret(model(text), inputs)
    for got, right in zip(run(*inputs), wanted, strict=True):
        pairs = [(got, right)] if not isinstance(got, list) else zip(got, right, strict=True)
        for one, other in pairs:
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return run


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_a_loop_reads_its_conditions_and_nothing_else(trips: int):
    run = agrees(LOOP, drawn(2, 3), np.array(trips), drawn(3, 3))
    assert isinstance(run.engine, StagedEngine)
    assert run.engine.reads == trips
    assert [h.op for h in run.plan.hosted] == ["Loop"]


def test_a_second_run_asks_for_no_memory():
    run = compiled(LOOP)
    feeds = drawn(2, 3), np.array(3), drawn(3, 3)
    first = run(*feeds)
    store = run.engine.store
    before = store.pool.allocations, store.arena.allocations
    again = run(*feeds)
    assert (store.pool.allocations, store.arena.allocations) == before
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("steps", [1, 5])
def test_scans_run_backwards_and_along_any_axis(steps: int):
    agrees(SCAN, drawn(3), drawn(steps, 3))


def test_a_scan_over_a_later_axis_transposes_with_a_kernel():
    text = """g (float[2] h, float[2, t] x) => (float[2] y) {
      y = Scan<num_scan_inputs = 1, scan_input_axes = [1], body = b (float[2] a, float[2] e)
          => (float[2] next) { next = Add(a, e) }>(h, x) }"""
    run = agrees(text, drawn(2), drawn(2, 4))
    assert "Transpose" in [k.title for k in run.plan.kernels]


@pytest.mark.parametrize("sign", [1, -1])
def test_an_if_takes_the_branch_that_data_says(sign: int):
    run = agrees(BRANCHES, sign * np.ones((2, 3), np.float32))
    assert run.engine.reads == 1


def test_an_if_that_shapes_decide_is_no_stage():
    text = """g (float[n, 3] x) => (float[n, 3] y) {
      s = Shape(x)
      zero = Constant<value = int64 {0}>()
      n = Gather(s, zero)
      two = Constant<value = int64 {2}>()
      small = Less(n, two)
      y = If(small) <then_branch = t () => (float[n, 3] u) { u = Exp(x) },
        else_branch = e () => (float[n, 3] v) { v = Neg(x) }> }"""
    run = compiled(text)
    for rows in (1, 2):
        (y,) = run(drawn(rows, 3))
        np.testing.assert_allclose(y, np.exp(drawn(1, 3)) if rows == 1 else -drawn(2, 3), rtol=1e-6)
    assert run.plan.hosted == ()
    assert [k.title for k in run.plan.kernels] == ["Neg"]


def test_sequences_are_lists_of_tensors_on_the_machine():
    run = agrees(SEQUENCE, drawn(2, 6))
    assert {k.title for k in run.plan.kernels} >= {"Exp", "Split", "Concat"}


def test_sequences_may_be_inputs_and_outputs():
    agrees(MAPPED, [drawn(2), drawn(3)], drawn(1))
    agrees(MAPPED, [], drawn(1))


def test_an_optional_may_be_absent():
    text = """g (optional(float[2]) x, float[2] other) => (float[2] y) {
      there = OptionalHasElement(x)
      y = If(there) <
        then_branch = t () => (float[2] u) {
          e = OptionalGetElement(x)
          u = Neg(e) },
        else_branch = e () => (float[2] v) { v = Exp(other) }> }"""
    agrees(text, drawn(2), drawn(2))
    agrees(text, None, drawn(2))


def test_sizes_that_data_decides():
    run = agrees(SIZED, drawn(5), np.array([1, 0, 1, 1, 0], bool))
    assert "Gather" in [k.title for k in run.plan.kernels]
    agrees(SIZED, drawn(3), np.zeros(3, bool))


def test_a_shape_that_kernels_compute_is_read():
    x = np.array([[1, 2, 3, 0], [1, 1, 1, 1]], np.float32)
    run = agrees(DECIDED, x)
    assert isinstance(run.engine, StagedEngine)
    assert run.plan.hosted == ()
    assert run.engine.reads == 1
    assert len(run(x + 2)[0]) == 5


@pytest.mark.parametrize("text", [LOOP, SCAN, BRANCHES, SEQUENCE, SIZED])
def test_parity_judges_the_kernels_of_every_step(text: str):
    verdict = iso.verify(model(text), compiled(text), cases=6, seed=1)
    assert verdict.status is Status.PASS, str(verdict)
    assert verdict.judged


def test_every_iteration_is_judged():
    candidate = Compiled(compiled(LOOP))
    values = candidate.observe([drawn(2, 3), np.array(3), drawn(3, 3)])
    told: list[str] = []
    candidate.judge(values, lambda op, _: told.append(op.type))
    assert told.count("MatMul+Tanh") == 3


def test_a_wrong_iteration_is_found(monkeypatch: pytest.MonkeyPatch):
    from isomorph.lowering.expressions import EXPRESSIONS

    text = SCAN.replace("Tanh", "Sin")
    monkeypatch.setitem(EXPRESSIONS, "Sin", lambda _, a: f"({a[0]} * 1.01f)")
    verdict = iso.verify(model(text), compiled(text), cases=6, seed=1)
    assert verdict.status is Status.FAIL


def test_what_has_no_kernel_is_listed_at_once_whichever_branch_it_is_in():
    text = """g (float[2, 2] x, bool c) => (float[] y, string[1] t) {
      t = Constant<value = string[1] {"a"}>()
      y = If(c) <then_branch = a () => (float[] u) {
          d = RandomNormalLike(x)
          u = ReduceSum<keepdims = 0>(d) },
        else_branch = b () => (float[] v) {
          i = Multinomial(x)
          f = Cast<to = 1>(i)
          v = ReduceSum<keepdims = 0>(f) }> }"""
    with pytest.raises(NoKernelError) as error:
        compiled(text)
    assert {m.op for m in error.value.missing} >= {"RandomNormalLike", "Multinomial", "output"}


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("a = SequenceAt(s, p)\n y = Neg(a)", "position 7 in a sequence of 2"),
        ("e = SequenceErase(s, p)\n y = ConcatFromSequence<axis = 0>(e)", "position 7"),
        ("e = SequenceInsert(s, x, p)\n y = ConcatFromSequence<axis = 0>(e)", "position 7"),
    ],
)
def test_a_position_out_of_range_is_an_error_of_the_run(op: str, words: str):
    run = compiled(f"""g (float[2] x, int64 p) => (float[k] y) {{
      s = SequenceConstruct(x, x)
      {op} }}""")
    with pytest.raises(RunError, match=words):
        run(drawn(2), np.array(7))


@pytest.mark.parametrize(("rate", "samples"), [(16000, 576), (8000, 288)])
def test_a_voice_detector_runs_at_both_of_its_rates(rate: int, samples: int):
    path = real_model("silero_vad")
    rng = np.random.default_rng(rate)
    feeds = {
        "input": 0.1 * rng.standard_normal((1, samples)).astype(np.float32),
        "state": 0.1 * rng.standard_normal((2, 1, 128)).astype(np.float32),
        "sr": np.array(rate),
    }
    run = compile_graph(iso.load(path), "sim:sm_90")
    wanted = Session(path, optimize=True).run(feeds)
    for got, right in zip(run(**feeds), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=0, atol=2e-6)
    assert {h.op for h in run.plan.hosted} == {"If", "Scan"}
    assert run.engine.reads == 1
