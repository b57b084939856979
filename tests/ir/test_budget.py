"""What evaluating may cost: results are refused before they exist, loops while they go round."""

from __future__ import annotations

import time
from math import prod

import numpy as np
import pytest

from isomorph.ir import demand, schema
from isomorph.ir.budget import BudgetError, Limits, bounded, current, size_text
from isomorph.ir.demand import SIZING, STATED, Demands
from isomorph.ir.graph import Graph
from isomorph.ir.instances import INSTANCES, build, dtypes_of
from isomorph.ir.interpret import Program, interpret
from isomorph.ir.semantics import evaluate
from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

MIB = 1 << 20
SIZED = ("float32", "int64", "bool", "uint8")


def instances():
    for key, rows in sorted(INSTANCES.rows().items()):
        for number, instance in enumerate(rows):
            if instance.captures or any(callable(v) for v in instance.attributes.values()):
                continue  # what subgraphs take is counted inside them
            for dtype in [d for d in dtypes_of(key, instance) if str(d) in SIZED][:2]:
                yield pytest.param(key, instance, dtype, id=f"{key[1]}-{number}-{dtype}")


def size(value: object) -> int:
    """Elements of a value, an empty dim counted as 1."""
    if isinstance(value, list | dict):
        return sum(map(size, value.values() if isinstance(value, dict) else value))
    return 0 if value is None else prod(d or 1 for d in np.shape(value))


@pytest.mark.parametrize(("key", "instance", "dtype"), list(instances()))
def test_no_op_takes_more_than_it_is_said_to(key, instance, dtype, monkeypatch):
    graph, feeds = build(key, instance, dtype)
    op = graph.sorted_ops()[0]
    given = iter(feeds)
    operands = [
        None if v is None else v.weight.numpy() if v.weight is not None else next(given)
        for v in op.inputs
    ]
    results = [r for r in evaluate(op, operands) if isinstance(r, np.ndarray | np.generic)]
    sizes = [size(v) for v in operands]
    if not (key[1] in STATED or not SIZING.isdisjoint(op.attributes)):
        most = sum(sizes) + prod(s or 1 for s in sizes)
        most += sum(map(np.size, op.attributes.values()))
        assert all(np.size(r) <= most for r in results), "it belongs into STATED, or SIZING"
    monkeypatch.setattr(demand, "SMALL", 0)
    needs = Demands().of(op, operands)
    if not needs.results:
        assert key[1] not in STATED, "what it takes is not told"
        return
    assert np.size(results[0]) * min(results[0].itemsize, 8) <= needs.bytes


def single(type_: str, *operands: object, **attributes: object) -> Graph:
    graph = Graph("g")
    values = [graph.add_weight(Weight.of(np.asarray(o)), f"c{n}") for n, o in enumerate(operands)]
    graph.outputs = [graph.add_op(type_, values, attributes).output]
    return graph


HUGE = {
    "ConstantOfShape": single("ConstantOfShape", [2**20, 2**16]),
    "Expand": single("Expand", np.ones(1, np.float32), [2**35]),
    "Tile": single("Tile", np.ones(2, np.float32), [2**34]),
    "Range": single("Range", 0, 2**40, 1),
    "Range, floats": single("Range", np.float32(0), np.float32(2**40), np.float32(1)),
    "OneHot": single("OneHot", [1], 2**36, np.array([0, 1], np.float32)),
    "Pad": single("Pad", np.ones(2, np.float32), [0, 2**36]),
    "Upsampling": single(
        "Resize",
        np.ones((1, 1, 2, 2), np.float32),
        np.zeros(0, np.float32),
        np.array([1, 1, 1e6, 1e6], np.float32),
    ),
    "Resize": single(
        "Resize",
        np.ones((1, 1, 2, 2), np.float32),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
        [1, 1, 2**20, 2**20],
    ),
    "outer sum": single("Add", np.ones((2**17, 1), np.float32), np.ones(2**17, np.float32)),
    "outer product": single("MatMul", np.ones((2**17, 1), np.float32), np.ones((1, 2**17), "f")),
    "Gather": single("Gather", np.ones((1, 2**16), np.float32), np.zeros(2**17, np.int64)),
    "padded Conv": single(
        "Conv",
        np.ones((1, 1, 2, 2), np.float32),
        np.ones((1, 1, 1, 1), np.float32),
        pads=[2**20] * 4,
        strides=[2**20] * 2,
    ),
    "padded pool": single(
        "MaxPool",
        np.ones((1, 1, 2, 2), np.float32),
        kernel_shape=[1, 1],
        pads=[2**17] * 4,
        strides=[2**17] * 2,
    ),
}


@pytest.mark.parametrize("graph", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("wide", [False, True])
def test_a_result_that_is_too_large_is_refused_before_it_is_made(graph, wide):
    with bounded(Limits(10, 1 << 30)), pytest.raises(BudgetError) as refused:
        Program(graph, wide=wide).run([])
    assert refused.value.kind == "memory"
    text = str(refused.value)
    assert graph.sorted_ops()[0].type in text
    assert "its result" in text, text  # not the machine's own refusal
    assert "--max-memory" in text


LOOPS = {
    "endless": """(float[2] x) => (float[2] y) <bool t = {1}>
        { y = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] r)
            { d = Identity(c)  r = Identity(s) }> (, t, x) }""",
    "2^62 rounds": """(float[2] x) => (float[2] y) <int64 k = {4611686018427387904}>
        { y = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] r)
            { d = Identity(c)  r = Identity(s) }> (k, , x) }""",
    "nested, without ops": """(float[2] x) => (float[2] y) <int64 k = {1000000000}>
        { y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] r)
            { r = Loop <body = a (int64 j, bool e, float[2] q) => (bool e, float[2] q) {}>
                (k, , s) }> (k, , x) }""",
}


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_a_loop_that_does_not_end_in_time_is_stopped(text):
    graph = parse(f'<ir_version: 10, opset_import: ["": 21]> g {text}')
    started = time.monotonic()
    with bounded(Limits(0.2)), pytest.raises(BudgetError, match=r"Loop 'y'.*--max-seconds") as over:
        interpret(graph, [np.ones(2, np.float32)])
    assert over.value.kind == "time"
    assert time.monotonic() - started < 5


def test_what_a_loop_collects_counts():
    graph = parse("""<ir_version: 10, opset_import: ["": 21]>
        g (float[262144] x) => (float[k, 262144] y) <int64 k = {1000}>
        { y = Loop <body = b (int64 i, bool c) => (bool c, float[262144] r) { r = Neg(x) }>
            (k, ) }""")
    x = np.ones(1 << 18, np.float32)
    with bounded(Limits(60, 64 * MIB)), pytest.raises(BudgetError, match="Loop 'y'") as over:
        interpret(graph, [x])
    assert over.value.kind == "memory"


def test_results_that_are_still_needed_count_together_and_no_longer():
    lines = "\n".join(f"a{n} = Neg({'x' if n == 0 else f'a{n - 1}'})" for n in range(100))
    header = '<ir_version: 10, opset_import: ["": 21]> g (float[n] x) => '
    chain = parse(f"{header} (float[n] a99) {{ {lines} }}")
    x = np.ones(1 << 18, np.float32)
    with bounded(Limits(60, 3 * MIB)) as budget:
        interpret(chain, [x])
        assert budget.held == 0
    fan = "\n".join(f"a{n} = Neg(x)" for n in range(100))
    names = ", ".join(f"a{n}" for n in range(100))
    kept = parse(f"{header} (float[n] y) {{ {fan}\ny = Sum({names}) }}")
    with bounded(Limits(60, 64 * MIB)), pytest.raises(BudgetError, match="MiB of others"):
        interpret(kept, [x])


def test_an_op_that_cannot_be_interrupted_is_refused_by_its_multiplications():
    graph = Graph("g")
    a = graph.add_input("a", TensorType(DType.FLOAT32, (4096, 4096)))
    graph.outputs = [graph.add_op("MatMul", [a, a]).output]
    with bounded(Limits(1)), pytest.raises(BudgetError, match=r"6\.87e\+10 multiplications"):
        interpret(graph, [np.ones((4096, 4096), np.float32)])


def test_limits_around_hold_inside():
    with bounded(Limits(1000, 1 << 40)) as outer:
        assert current() is outer
        with bounded(Limits(2000, 1 << 20)) as inner:
            assert inner.left <= 1000
            with pytest.raises(BudgetError):
                evaluate(HUGE["Expand"].sorted_ops()[0], [np.ones(1, "f"), np.array([1 << 19])])
        assert current() is outer
    assert current() is None


def test_a_machine_without_the_memory_is_told_by_the_op():
    op = HUGE["Expand"].sorted_ops()[0]
    with pytest.raises(BudgetError, match=r"Expand.*this machine has not enough memory"):
        evaluate(op, [np.ones(1, np.float32), np.array([1 << 50])])


def test_a_larger_model_gets_more_of_both():
    small, large = Limits().of(0), Limits().of(1 << 30)
    assert small == Limits()
    assert large.seconds > small.seconds + 60
    assert large.memory >= small.memory + (8 << 30)
    assert Limits(None, None).of(1 << 30) == Limits(None, None)


def test_sizes_are_told_in_units():
    assert [size_text(n) for n in (0, 1023, 1536, 4 << 30, 8 << 40)] == [
        "0 bytes", "1023 bytes", "1.5 KiB", "4 GiB", "8 TiB",
    ]  # fmt: skip


def test_every_stated_operand_is_an_operand():
    for name, indices in STATED.items():
        every = [schema.schema("", name, v) for v in schema.versions("", name)]
        assert any(s is not None and s.input(max(indices)) for s in every), name
