"""Attentions of onnxruntime's own domain: right models pass, faults are found, files go through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

import isomorph as iso
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, Instance, build
from isomorph.ir.ops.transformers import OPS
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity import Status, verify
from isomorph.parity.strategies import specs_of
from isomorph.parity.strategies.values import fill
from isomorph.parity.well import judge
from tests.ops import harness, known

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.parity import Verdict

F32 = DType.FLOAT32
NAMES = sorted(name for _, name in OPS)
REFUSED = frozenset(
    {
        ("Attention", "a mask of four dims"),
        ("Attention", "shared buffer"),
        ("GroupQueryAttention", "heads of four"),
        ("GroupQueryAttention", "normalized"),
        ("MultiHeadAttention", "packed"),
        ("MultiHeadAttention", "packed keys"),
        ("MultiHeadAttention", "past, new keys that count"),
    }
)
"""Uses that the definition has and onnxruntime's CPU kernels do not run."""
EVERY = [(name, use) for name in NAMES for use in INSTANCES.rows()[DOMAIN, name]]
BROKEN = ("reads beyond", "dies where")
"""What onnxruntime does with uses that must not pass."""


def limit(name: str, use: Instance) -> str:
    return known.limited((DOMAIN, name), use, F32)


def is_broken(name: str, use: Instance) -> bool:
    return any(b in limit(name, use) for b in BROKEN)


def case(name: str, use: Instance) -> Any:
    return pytest.param(name, use, id=f"{name}-{use.note or 'plain'}")


def saved(graph: Graph, path: Path) -> Path:
    path.write_bytes(harness.encode(graph, 21).SerializeToString())
    return path


def made(name: str, use: Instance, seed: int = 0) -> tuple[Graph, list[Any]]:
    graph, feeds = build((DOMAIN, name), use, F32, seed=seed)
    infer(graph)
    return graph, feeds


def named(name: str, note: str = "") -> Instance:
    return next(u for u in INSTANCES.rows()[DOMAIN, name] if u.note == note)


RIGHT = [
    case(n, u)
    for n, u in EVERY
    if (n, u.note) not in REFUSED and not is_broken(n, u) and "lowest" not in u.note
]


@pytest.mark.parametrize(("name", "use"), RIGHT)
def test_right_models_pass(tmp_path: Path, name: str, use: Instance):
    path = saved(made(name, use)[0], tmp_path / "model.onnx")
    verdict = verify(path, path, cases=16, seed=0)
    assert verdict.status is Status.PASS, str(verdict)


@pytest.mark.parametrize(("name", "note"), sorted(REFUSED))
def test_what_is_refused_is_told(tmp_path: Path, name: str, note: str):
    path = saved(made(name, named(name, note))[0], tmp_path / "model.onnx")
    verdict = verify(path, path, cases=4, seed=0)
    assert verdict.status is Status.INSUFFICIENT
    assert "onnxruntime fails" in str(verdict)


@pytest.mark.parametrize(("name", "use"), [case(n, u) for n, u in EVERY if is_broken(n, u)])
def test_what_onnxruntime_breaks_is_told_and_does_not_pass(
    tmp_path: Path, name: str, use: Instance
):
    """One of them reads beyond its operands, the other kills the process that runs it."""
    path = saved(made(name, use)[0], tmp_path / "model.onnx")
    report = iso.check(path, opset=21)
    assert any(limit(name, use).endswith(f.reason.split("1.31.1 ")[-1]) for f in report.findings)
    assert verify(path, path, cases=8, seed=1).status is Status.FAIL


@pytest.mark.parametrize("name", NAMES)
def test_a_file_goes_all_the_way(tmp_path: Path, name: str):
    note = {"GroupQueryAttention": "rotated, packed"}.get(name, "past")
    source = saved(made(name, named(name, note))[0], tmp_path / "source.onnx")
    graph = iso.load(source)
    assert iso.check(graph, opset=21).ok
    result = iso.export(graph, tmp_path / "model.onnx", opset=21, cases=24)
    assert result.verdict is not None
    assert result.verdict.status is Status.PASS
    (node,) = onnx.load(tmp_path / "model.onnx").graph.node
    assert (node.domain, node.op_type) == (DOMAIN, name)


# -- faults -------------------------------------------------------------------------------------


def compared(tmp_path: Path, right: Graph, wrong: Graph, seed: int = 0) -> Verdict:
    paths = [saved(g, tmp_path / f"{n}.onnx") for n, g in enumerate((right, wrong))]
    return verify(*paths, cases=32, seed=seed)


def changed(use: Instance, **attributes: Any) -> Instance:
    return replace(use, attributes={**use.attributes, **attributes})


def without(use: Instance, place: int) -> Instance:
    """The use with zeros, or numbers that say nothing, in place of an operand."""
    inputs = [*use.inputs]
    given = inputs[place]
    assert given is not None
    neutral = np.full(given.shape, 1 if given.dtype == "int32" else 0)
    inputs[place] = replace(given, values=neutral, const=True)
    return replace(use, inputs=tuple(inputs))


def fixed(use: Instance, place: int) -> Instance:
    """The use with an operand that is a constant, of the numbers that it has."""
    inputs = [*use.inputs]
    given = inputs[place]
    assert given is not None
    rng = np.random.default_rng(7)
    values = rng.normal(0, 1, given.shape) if given.values is None else given.values
    inputs[place] = replace(given, values=values, const=True)
    return replace(use, inputs=tuple(inputs))


SCALE = [(name, {"scale": 0.3}, {"scale": 0.3003}) for name in NAMES]
OTHERS: list[tuple[str, str, dict[str, Any]]] = [
    ("Attention", "causal", {"unidirectional": 0}),
    ("Attention", "filtered mildly", {"mask_filter_value": -2.002}),
    ("MultiHeadAttention", "causal", {"unidirectional": 0}),
    ("MultiHeadAttention", "filtered mildly", {"mask_filter_value": -3.003}),
    ("GroupQueryAttention", "window", {"local_window_size": 3}),
    ("GroupQueryAttention", "softcap", {"softcap": 1.5015}),
    ("GroupQueryAttention", "smooth", {"smooth_softmax": 0}),
    ("GroupQueryAttention", "both ways", {"causal": 1}),
    ("GroupQueryAttention", "rotated", {"rotary_interleaved": 1}),
    ("GroupQueryAttention", "rotated", {"do_rotary": 0}),
]


@pytest.mark.parametrize(("name", "right", "wrong"), SCALE)
def test_a_scale_that_is_off_by_a_thousandth_is_found(
    tmp_path: Path, name: str, right: dict[str, Any], wrong: dict[str, Any]
):
    use = named(name)
    graphs = [made(name, changed(use, **given))[0] for given in (right, wrong)]
    assert compared(tmp_path, *graphs).status is Status.FAIL


@pytest.mark.parametrize(("name", "note", "attributes"), OTHERS)
def test_another_attribute_is_found(
    tmp_path: Path, name: str, note: str, attributes: dict[str, Any]
):
    use = named(name, note)
    graphs = [made(name, u)[0] for u in (use, changed(use, **attributes))]
    assert compared(tmp_path, *graphs).status is Status.FAIL


DROPPED = (
    ("Attention", "keys that count", 3),
    ("Attention", "scores that count", 3),
    ("Attention", "added", 5),
    ("MultiHeadAttention", "keys that count", 4),
    ("MultiHeadAttention", "added to all", 5),
    ("MultiHeadAttention", "bias", 3),
    ("GroupQueryAttention", "added", 10),
    ("GroupQueryAttention", "sink", 11),
)


@pytest.mark.parametrize(("name", "note", "place"), DROPPED)
def test_an_operand_that_is_dropped_is_found(tmp_path: Path, name: str, note: str, place: int):
    use = fixed(named(name, note), place)
    graphs = [made(name, u)[0] for u in (use, without(use, place))]
    assert compared(tmp_path, *graphs).status is Status.FAIL


def swapped(graph: Graph, place: int, size: int) -> Graph:
    """The graph with the first two heads of an operand in each other's place."""
    (op,) = graph.ops()
    value = op.input(place)
    assert value is not None
    assert isinstance(value.type, TensorType)
    assert value.type.shape is not None
    hidden = value.type.shape[-1]
    assert isinstance(hidden, int)
    order = np.arange(hidden)
    order[: 2 * size] = np.roll(order[: 2 * size], size)
    made = Graph("swapped")
    inputs = {v: made.add_input(v.name, v.type) for v in graph.inputs}
    turned = made.add_op(
        "Gather",
        [inputs[value], made.add_weight(Weight.of(order), "order")],
        {"axis": -1},
        outputs=["turned"],
    )
    operands = [None if v is None else inputs[v] for v in op.inputs]
    operands[place] = turned.results[0]
    names = [None if v is None else v.name for v in op.outputs]
    copied = made.add_op(op.type, operands, op.attributes, outputs=names, domain=op.domain)
    made.outputs = list(copied.results)
    infer(made)
    return made


HEADS = (
    ("Attention", 1, 4),
    ("MultiHeadAttention", 1, 4),
    ("MultiHeadAttention", 2, 5),
    ("GroupQueryAttention", 0, 16),
    ("GroupQueryAttention", 2, 16),
)


@pytest.mark.parametrize(("name", "place", "size"), HEADS)
def test_heads_that_are_swapped_are_found(tmp_path: Path, name: str, place: int, size: int):
    graph, _ = made(name, named(name))
    assert compared(tmp_path, graph, swapped(graph, place, size)).status is Status.FAIL


@pytest.mark.parametrize("name", NAMES)
def test_a_result_that_is_off_is_found(name: str):
    """By a thousandth of its largest number, in what was rounded or what was copied."""
    note = {"GroupQueryAttention": "several tokens, rotated"}.get(name, "past")
    graph, feeds = made(name, named(name, note))
    (op,) = graph.ops()
    given = iter(feeds)
    operands = [None if v is None else next(given) for v in op.inputs]
    right = [np.array(r) for r in evaluate(op, operands)][: len(op.outputs)]
    assert {f.status for f in judge(op, operands, right)} == {Status.PASS}
    for index, value in enumerate(right):
        results = [*right]
        results[index] = value + np.float32(1e-3 * np.abs(value).max())
        assert judge(op, operands, results)[index].status is Status.FAIL


def test_a_filter_as_low_as_it_goes_excuses_nothing():
    """A mask by the lowest number leaves the bound of the keys that count as it is."""
    use = named("Attention", "filtered by the lowest")
    graph, feeds = made("Attention", use)
    (op,) = graph.ops()
    right = np.array(evaluate(op, feeds)[0])
    assert judge(op, feeds, [right])[0].status is Status.PASS
    assert judge(op, feeds, [right * np.float32(1.001)])[0].status is Status.FAIL


# -- inputs -------------------------------------------------------------------------------------


def drawn(graph: Graph, name: str, seeds: int = 40) -> set[int]:
    spec = next(s for s in specs_of(graph) if s.name == name)
    rngs = map(np.random.default_rng, range(seeds))
    return {int(v) for rng in rngs for v in fill(spec, "normal", {}, rng).reshape(-1)}


def test_masks_lengths_and_places_are_valid():
    masked, _ = made("Attention", named("Attention", "keys that count"))
    assert drawn(masked, "x3") == {0, 1}
    lengths, _ = made("Attention", named("Attention", "past, lengths"))
    assert drawn(lengths, "x3") == set(range(7))
    buffer, _ = made("MultiHeadAttention", named("MultiHeadAttention", "shared buffer"))
    assert drawn(buffer, "x8") == set(range(8))
    beams, _ = made("MultiHeadAttention", named("MultiHeadAttention", "beams"))
    assert drawn(beams, "x9") == {0, 1}


def test_lengths_agree_with_the_number_of_keys():
    token, _ = made("GroupQueryAttention", named("GroupQueryAttention", "one token, positions"))
    assert drawn(token, "x5") == set(range(6))
    assert drawn(token, "x6") == {6}
    assert drawn(token, "x9") == set(range(12))
    several, _ = made("GroupQueryAttention", named("GroupQueryAttention", "several tokens"))
    assert drawn(several, "x5") == {2, 3, 4, 5, 6, 7}
    assert drawn(several, "x6") == {8}
    prompt, _ = made("GroupQueryAttention", named("GroupQueryAttention", "a buffer, prompt"))
    assert drawn(prompt, "x6") == {4}
