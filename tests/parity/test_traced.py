"""A trace is held against its function: faults of tracing are found, rounding inside is none."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isomorph as iso
from isomorph import array as xp
from isomorph.api import ParityError
from isomorph.frontends.array import nn, tables
from isomorph.parity import Status, verify
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RNG = np.random.default_rng(0)
W = RNG.standard_normal((50, 16)).astype("f4")
V = RNG.standard_normal((16, 4)).astype("f4")
SAYS = "the trace computes something else than the function itself"
TOKENS = "tokens: int64[batch, seq] in 0..49"


def another_ddof(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None, **options: rule(x, axis, **{**options, "ddof": 1})


def another_axis(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None, **options: rule(x, 0 if axis == 1 else axis, **options)


def slightly_off(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **options: rule(x, *args, **options) * np.float32(1 + 2**-20)


def a_dtype_wider(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **options: rule(x, *args, **options).astype(np.float64)


PLANTED = {
    "ddof": ("var", another_ddof, lambda x: np.var(x, axis=1)),
    "axis": ("sum", another_axis, lambda x: np.sum(x, axis=1, keepdims=True) * x),
    "factor": ("mean", slightly_off, lambda x: np.mean(x, axis=1)),
    "integers": ("argmax", another_axis, lambda x: np.argmax(x, axis=1)),
    "from integers": (
        "var", another_ddof, lambda x: np.var(np.floor(x).astype(np.int32).astype("f4"), axis=1),
    ),
    "dtype": ("cumsum", a_dtype_wider, lambda x: np.cumsum(x, axis=1)),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_of_tracing_fails_the_export(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    name, change, function = PLANTED[fault]
    path = tmp_path / "model.onnx"
    with monkeypatch.context() as patch:
        patch.setitem(tables.FUNCTIONS, name, change(tables.FUNCTIONS[name]))
        graph = iso.trace(function, ["x: float32[5, 5]"])
    with pytest.raises(ParityError) as caught:
        iso.export(graph, path, cases=20)
    verdict = caught.value.verdict
    assert verdict.exit_code == 3
    assert SAYS in verdict.reason
    assert "output" in verdict.reason
    assert list(tmp_path.iterdir()) == []
    iso.export(iso.trace(function, ["x: float32[5, 5]"]), path, cases=20)


def test_the_replay_of_a_fault_of_tracing_shows_what_the_function_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def function(x: Any) -> Any:
        return np.var(x, axis=1)

    with monkeypatch.context() as patch:
        patch.setitem(tables.FUNCTIONS, "var", another_ddof(tables.FUNCTIONS["var"]))
        graph = iso.trace(function, ["x: float32[batch, 5]"])
    verdict = verify(graph, graph, cases=20, replay_folder=tmp_path)
    assert verdict.status is Status.FAIL
    with np.load(tmp_path / "case.npz") as case:
        wide = case["input_0"].astype("f8")
        np.testing.assert_allclose(case["wanted_0"], function(wide), rtol=1e-12)


def test_a_branch_that_the_trace_does_not_have(tmp_path: Path):
    def function(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.shape[0] > 3:
            return x + 1
        return x * 2

    graph = iso.trace(function, ["x: float32[batch, 3]"])
    with pytest.raises(ParityError, match=SAYS):
        iso.export(graph, tmp_path / "model.onnx", cases=40)


def test_a_function_that_refuses_more_than_its_trace(tmp_path: Path):
    def function(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.shape[0] > 3:
            raise ValueError("at most 3")
        return x * 2

    graph = iso.trace(function, ["x: float32[batch, 3]"])
    result = iso.export(graph, tmp_path / "model.onnx", cases=40)
    assert result.verdict is not None
    assert any("at most 3" in note and "constraint" in note for note in result.verdict.notes)
    assert max(result.verdict.dims["batch"]) == 3


def test_a_trace_that_refuses_more_than_its_function(tmp_path: Path):
    def function(x: Any) -> Any:
        return x.reshape(-1) if isinstance(x, np.ndarray) else xp.op("Reshape", x, np.array([6]))

    graph = iso.trace(function, ["x: float32[batch, 3]"])
    with pytest.raises(ParityError, match="the function itself accepts these inputs"):
        iso.export(graph, tmp_path / "model.onnx", cases=40)


def embedding(tokens: Any) -> Any:
    return xp.take(W, tokens, axis=0) @ V


def mixed(counts: Any, x: Any) -> Any:
    return np.sin(counts.astype(np.float32) / 3) * x + counts


def nested(tokens: Any, x: Any, *, scale: Any) -> Any:
    rows = nn.embedding(tokens, W)
    return {"rows": [rows @ V, rows.sum(-1) + 0.1], "x": {"scaled": x * scale / 0.3}}


def closure(width: int) -> Callable[..., Any]:
    bias = np.linspace(0.1, 0.7, width).astype("f4")

    def function(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * bias, x.shape[0]

    return function


RIGHT = {
    "embedding": (embedding, [TOKENS]),
    "mixed": (mixed, ["counts: int32[n] in 0..1000", "x: float32[n]"]),
    "nested": (nested, ["scale: float32[n]", TOKENS, "x: float32[n]"]),
    "closure": (closure(8), ["x: float32[batch, 8]"]),
    "undecided": (lambda tokens: np.argmax(embedding(tokens), -1), [TOKENS]),
    "half": (lambda x: x.astype(np.float16).astype(np.float32) * 3, ["x: float32[n]"]),
    "limits": (lambda x: np.nan_to_num(1 / x), ["x: float32[n]"]),
    "written into": (operator.iadd, ["a: int32[n] in 0..9", "b: int32[n]"]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_trace_passes(name: str, tmp_path: Path):
    function, specs = RIGHT[name]
    path = tmp_path / "model.onnx"
    for seed in range(3):
        verdict = iso.export(iso.trace(function, specs), path, cases=40, seed=seed).verdict
        assert verdict is not None
        assert verdict.status is Status.PASS, verdict
        assert not verdict.weaker


@pytest.mark.parametrize("name", ["embedding", "mixed", "undecided", "half", "closure"])
def test_a_function_that_rounds_inside_is_compared_through_its_trace(name: str, tmp_path: Path):
    function, specs = RIGHT[name]
    path = tmp_path / "model.onnx"
    iso.export(iso.trace(function, specs), path, verify=False)
    verdict = iso.verify(function, path, inputs=specs, cases=40)
    assert verdict.status is Status.PASS, verdict
    assert not verdict.weaker


def test_a_wrong_weight_behind_an_embedding_is_found(tmp_path: Path):
    off = V.copy()
    off[3, 1] *= np.float32(1 + 1e-6)
    nodes = [node("Gather", "w tokens", "rows"), node("MatMul", "rows v", "y")]
    made = model(nodes, ["tokens: int64[n]"], ["y: float32[n, 4]"], {"w": W, "v": off})
    path = save(made, tmp_path / "model.onnx")
    verdict = iso.verify(embedding, path, inputs=["tokens: int64[n] in 0..49"], cases=40)
    assert verdict.status is Status.FAIL, verdict


def test_indexing_that_cannot_be_traced_is_compared_in_its_own_precision(tmp_path: Path):
    path = tmp_path / "model.onnx"
    iso.export(iso.trace(embedding, [TOKENS]), path, verify=False)
    verdict = iso.verify(lambda tokens: W[tokens] @ V, path, inputs=[TOKENS], cases=40)
    assert verdict.status is Status.PASS, verdict
    assert verdict.weaker


def test_nothing_of_the_function_reaches_a_file_and_copies_keep_it(tmp_path: Path):
    from isomorph.ir.copies import copy_graph

    graph = iso.trace(nested, RIGHT["nested"][1])
    assert copy_graph(graph)[0].extra["function"] is graph.extra["function"]
    arrays = [np.zeros((2, 3), np.int64), np.ones(2, "f4"), np.ones(2, "f4")]
    assert [np.shape(a) for a in graph.extra["function"](*arrays)] == [(2, 3, 4), (2, 3), (2,)]
    iso.export(graph, tmp_path / "model.onnx", verify=False)
    assert "function" not in iso.load(tmp_path / "model.onnx").extra
