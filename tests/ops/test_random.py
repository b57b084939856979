"""Random numbers: form, distribution and versions; values are never compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.types import DType, TensorType
from isomorph.passes.canonical import CANONICAL
from tests.ops import harness as h

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = 40_000
SIGMAS = 6.0
"""Chance is as far from the mean as that once in 5·10⁸ draws."""


def drawing(name: str, *operands: np.ndarray, **attributes: Any) -> Graph:
    graph = Graph(name)
    values = [
        graph.add_input(f"x{i}", TensorType(DType.of(a.dtype), a.shape))
        for i, a in enumerate(operands)
    ]
    graph.outputs = [graph.add_op(name, values, attributes).output]
    infer(graph)
    return graph


def ours(graph: Graph, operands: list[np.ndarray]) -> np.ndarray:
    return interpret(graph, operands)[0]


def theirs(graph: Graph, operands: list[np.ndarray]) -> np.ndarray:
    """As onnxruntime draws at the newest opset where it has kernels."""
    assert downgrade(graph, 21) == []
    return h.by_runtime(h.encode(graph, 21), operands)[0]


def close(found: float, mean: float, deviation: float) -> bool:
    """Whether a mean over many draws is what chance allows."""
    return abs(found - mean) <= SIGMAS * deviation / np.sqrt(MANY)


SHARES = np.full(MANY, 0.1, np.float32)
BOTH = pytest.mark.parametrize("draw", [ours, theirs])


@BOTH
@pytest.mark.parametrize("seeded", [False, True])
def test_distributions(draw: Callable[..., np.ndarray], seeded: bool):
    seed = {"seed": 7.0} if seeded else {}
    normal = draw(drawing("RandomNormal", shape=(MANY,), mean=3.0, scale=2.0, **seed), [])
    assert close(normal.mean(), 3, 2)
    assert close(((normal - 3) ** 2).mean(), 4, 4 * np.sqrt(2))
    uniform = draw(drawing("RandomUniformLike", SHARES, low=-1.0, high=3.0, **seed), [SHARES])
    assert close(uniform.mean(), 1, 4 / np.sqrt(12))
    assert uniform.min() >= -1
    assert uniform.max() <= 3


@BOTH
def test_bernoulli_draws_1_with_the_probability_given(draw: Callable[..., np.ndarray]):
    """The function body of the standard, which onnxruntime inlines, draws it with 1 - p."""
    found = draw(drawing("Bernoulli", SHARES, dtype=DType.INT32.value), [SHARES])
    assert found.dtype == np.int32
    assert set(np.unique(found)) == {0, 1}
    assert close(found.mean(), 0.1, 0.3)
    certain = np.array([0, 1] * 500, np.float32)
    np.testing.assert_array_equal(draw(drawing("Bernoulli", certain), [certain]), certain)


def test_what_onnxruntime_makes_of_bernoulli_itself():
    """A row of what is known: where this fails, the decomposition is not needed any more."""
    graph = drawing("Bernoulli", SHARES)
    graph.ops()[0].version = 15
    assert close(h.by_runtime(h.encode(graph, 15), [SHARES])[0].mean(), 0.9, 0.3)


@BOTH
def test_multinomial_draws_by_logarithms(draw: Callable[..., np.ndarray]):
    logarithms = np.log(np.array([[0.2, 0.7, 0.1]], np.float32)) + np.float32(3)
    found = draw(drawing("Multinomial", logarithms, sample_size=MANY), [logarithms])
    assert found.shape == (1, MANY)
    for place, share in enumerate((0.2, 0.7, 0.1)):
        assert close((found == place).mean(), share, np.sqrt(share * (1 - share)))


def test_a_seed_repeats_and_none_does_not():
    seeded, free = (drawing("RandomNormal", shape=(9,), **a) for a in ({"seed": 1.5}, {}))
    np.testing.assert_array_equal(ours(seeded, []), ours(seeded, []))
    assert (ours(free, []) != ours(free, [])).any()


@pytest.mark.parametrize("seed", [{}, {"seed": 1.0}])
def test_draws_are_neither_folded_nor_merged(seed: dict[str, float]):
    graph = Graph()
    draws = [graph.add_op("RandomNormal", [], {"shape": (2,), **seed}).output for _ in range(2)]
    graph.outputs = [graph.add_op("Sub", draws).output]
    CANONICAL.run(graph)
    assert sorted(op.type for op in graph.ops()) == ["RandomNormal", "RandomNormal", "Sub"]


def test_old_models():
    for opset, op, attributes in ((9, "Multinomial", {"sample_size": 4}), (15, "Bernoulli", {})):
        model, feeds = h.old_model(opset, op, [np.full((2, 3), 0.5, np.float32)], **attributes)
        graph = decode_model(model)
        assert upgrade(graph) == []
        infer(graph)
        (found,) = interpret(graph, feeds)
        assert found.shape == ((2, 4) if op == "Multinomial" else (2, 3))


@pytest.mark.parametrize(
    ("name", "operand", "attributes", "message"),
    [
        ("RandomNormalLike", np.zeros(3, np.int64), {}, "dtype must name a float type"),
        ("Multinomial", np.zeros(3, np.float32), {}, "rank 1; a matrix"),
    ],
)
def test_rules_name_what_does_not_fit(
    name: str, operand: np.ndarray, attributes: dict[str, Any], message: str
):
    with pytest.raises(TypeInferenceError, match=message):
        drawing(name, operand, **attributes)


def test_sizes_below_0_are_refused():
    with pytest.raises(TypeInferenceError, match=r"shape is \[2, -1\]"):
        drawing("RandomUniform", shape=(2, -1))
