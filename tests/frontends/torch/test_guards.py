"""What a capture assumes of sizes: kept as constraints, refused, or shown to make no difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import sympy  # noqa: E402 - comes with torch
from torch import nn  # noqa: E402
from torch.utils._sympy import functions as ts  # noqa: E402

import isomorph as iso  # noqa: E402
from isomorph.frontends.array import TraceError  # noqa: E402
from isomorph.frontends.torch.symbols import Symbols, UntranslatableError  # noqa: E402
from isomorph.ir.dims import parse_dim, symbol  # noqa: E402

X = "x: float32[batch, 4]"
S, T = sympy.symbols("s0 s1", integer=True, positive=True)


def kept(function: Any, *specs: str) -> dict[str, str]:
    """Constraints of a trace, with their reasons."""
    graph = iso.trace(function, specs or (X,))
    return {str(c): c.reason for c in graph.constraints}


def larger(x: Any) -> Any:
    if x.shape[0] > 3:
        return torch.mul(x, 2)
    return x


def test_a_branch_on_a_size_is_a_constraint_with_its_line():
    found = kept(larger)
    assert list(found) == ["batch > 3"]
    assert f"{Path(__file__).name}:{larger.__code__.co_firstlineno + 1}" in found["batch > 3"]


def test_it_is_written_into_the_file(tmp_path: Path):
    import onnx

    result = iso.export(iso.trace(larger, [X]), tmp_path / "m.onnx", cases=4)
    properties = {p.key: p.value for p in onnx.load(result.paths[0]).metadata_props}
    assert properties["isomorph.constraints"] == "batch > 3"
    assert result.verdict is not None
    assert min(result.verdict.dims["batch"]) > 3


def test_a_declared_range_that_it_contradicts_is_refused():
    with pytest.raises(TraceError, match=r"relies on batch > 3 .* declared in 1\.\.8"):
        iso.trace(larger, ["x: float32[batch in 1..8, 4]"])


def test_a_declared_range_may_settle_it():
    assert not [c for c in kept(larger, "x: float32[batch in 4..9, 4]").values() if "captured" in c]
    graph = iso.trace(larger, ["x: float32[batch in 1..3, 4]"])
    assert not graph.ops() or [op.type for op in graph.ops()] == ["Identity"]


def test_a_branch_on_one_is_kept():
    def one(x: Any) -> Any:
        return torch.mul(x, 2) if x.shape[0] == 1 else x

    assert list(kept(one)) == ["batch != 1"]


def test_equal_sizes_are_a_constraint_between_names():
    found = kept(lambda x, y: torch.add(x, y), X, "y: float32[other, 4]")  # noqa: PLW0108 - two parameters have to be seen
    assert len(found) == 1
    assert set(next(iter(found)).split(" == ")) == {"batch", "other"}


def test_one_name_in_two_inputs_needs_none():
    assert not kept(lambda x, y: torch.add(x, y), X, "y: float32[batch, 4]")  # noqa: PLW0108 - as above


def test_divisibility_is_a_constraint():
    def halves(x: Any) -> Any:
        if x.shape[0] % 2 == 0:
            return torch.neg(x)
        return x

    assert [c for c in iso.trace(halves, [X]).constraints if c.holds({"batch": 7})]


def test_torch_check_is_a_constraint():
    def checked(x: Any) -> Any:
        torch._check(x.shape[0] <= 32)
        return torch.neg(x)

    assert list(kept(checked)) == ["batch <= 32"]


def test_what_torch_assumes_of_memory_is_tried_and_dropped():
    module = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    graph = iso.trace(module, ["src: float32[batch, seq, 16]"])
    assert not graph.constraints
    assert any("batch = 1" in n and "no difference" in n for n in graph.extra["notes"])


def test_a_size_of_one_that_changes_the_result_becomes_a_constraint():
    found = kept(lambda x: torch.squeeze(x))  # noqa: PLW0108 - a built-in has no line
    assert list(found) == ["batch >= 2"]
    assert "[4]" in found["batch >= 2"]
    assert "[1, 4]" in found["batch >= 2"]


def test_no_lower_bound_is_invented():
    assert not kept(lambda x: torch.relu(x) @ torch.ones(4, 2))


def test_a_branch_that_no_constraint_says_is_refused():
    def either(x: Any, y: Any) -> Any:
        if x.shape[0] * y.shape[0] > 10 or x.shape[0] == y.shape[0]:
            return torch.sum(x)
        return torch.sum(y)

    found = kept(either, X, "y: float32[other, 4]")
    assert any("batch*other" in c for c in found)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (2 * S + 1, "2*a + 1"),
        (ts.FloorDiv(S, 2), "a // 2"),
        (ts.Mod(S, 3), "a % 3"),
        (ts.PythonMod(S - 7, 3), "(a - 7) % 3"),
        (ts.CleanDiv(S, 4), "a // 4"),
        (ts.ModularIndexing(S, 2, 3), "(a // 2) % 3"),
        (sympy.Max(S, 3), "max(a, 3)"),
        (ts.Min(S, T), "-max(-a, -b)"),
        (S * T - S, "a*b - a"),
        (S**2, "a*a"),
        (ts.CeilToInt(ts.IntTrueDiv(S, 2)), "-((0 - a) // 2)"),
    ],
)
def test_sizes_are_translated(expression: Any, text: str):
    symbols = Symbols()
    symbols.bind("s0", symbol("a"))
    symbols.bind("s1", symbol("b"))
    found, wanted = symbols.dim(expression), parse_dim(text)
    for a in (1, 2, 5, 12):
        for b in (1, 3, 7):
            sizes = {"a": a, "b": b}
            value = found if isinstance(found, int) else found.evaluate(sizes)
            assert value == (wanted if isinstance(wanted, int) else wanted.evaluate(sizes))


def test_what_is_no_dim_is_not_made_one():
    with pytest.raises(UntranslatableError):
        Symbols().dim(sympy.sqrt(S))
    assert Symbols().dim_or_none(sympy.sqrt(S)) is None
