"""Every operator knows the user's line and module; everything that is not lowered is one list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

from torch import nn  # noqa: E402 - after the skip

import isomorph as iso  # noqa: E402

HERE = Path(__file__)


def number(text: str) -> int:
    """The line of this file that has a text first."""
    lines = HERE.read_text(encoding="utf-8").splitlines()
    return next(i for i, s in enumerate(lines, 1) if text in s and "number(" not in s)


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.tanh(self.proj(x))  # inner


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Inner(), Inner()])

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x.softmax(-1)  # outer


class Odd(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.special.bessel_j0(x)  # first gap
        y = y + torch.linalg.svdvals(y)[0]  # second gap
        y = torch.relu(y)
        return torch.special.bessel_j0(y), torch.fft.fft(x).abs()  # third gap


def test_the_line_is_the_users_and_the_path_is_the_modules():
    graph = iso.trace(Outer().eval(), ["x: float32[n, 4]"])
    found = [(op.type, op.source) for op in graph.sorted_ops()]
    for kind, source in found:
        assert source is not None
        assert Path(source.file) == HERE, (kind, source)
    inner, outer = number("# inner"), number("# outer")
    assert [(k, s.line) for k, s in found if s] == [
        *[("MatMul", inner), ("Add", inner), ("Tanh", inner)] * 2,
        ("Softmax", outer),
    ]
    assert [s.module for _, s in found if s] == [
        *["blocks.0.proj"] * 2,
        "blocks.0",
        *["blocks.1.proj"] * 2,
        "blocks.1",
        "forward",
    ]


def test_where_no_line_is_the_users_the_modules_path_stands_for_it():
    graph = iso.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), ["input: float32[n, 4]"])
    assert [op.where for op in graph.sorted_ops()] == ["0", "0", "1"]


def test_lines_are_written_into_the_file(tmp_path: Path):
    import onnx

    iso.export(iso.trace(Outer().eval(), ["x: float32[n, 4]"]), tmp_path / "m.onnx", cases=4)
    model = onnx.load(tmp_path / "m.onnx")
    texts = [p.value for node in model.graph.node for p in node.metadata_props]
    assert any(f"{HERE.name}:{number('# inner')} blocks.1.proj" in t for t in texts)


def test_every_gap_is_one_list_with_lines():
    graph = iso.trace(Odd().eval(), ["x: float32[n, 4]"])
    report = iso.check(graph)
    assert not report.ok
    found = {f.op: f for f in report.findings}
    assert {"aten.special_bessel_j0.default", "aten.fft_fft.default"} <= set(found)
    bessel = found["aten.special_bessel_j0.default"]
    assert bessel.count == 2
    assert [Path(w).name for w in bessel.where] == [
        f"{HERE.name}:{number('# first gap')}",
        f"{HERE.name}:{number('# third gap')}",
    ]
    assert all(f.kind == "unsupported-op" for f in report.findings)
    assert any(
        f"{HERE.name}:{number('# second gap')}" in w for f in found.values() for w in f.where
    )


def test_a_use_that_a_rule_does_not_cover_says_why():
    def odd(x: Any) -> Any:
        return nn.functional.adaptive_max_pool2d(x, 3)

    report = iso.check(iso.trace(odd, ["x: float32[n, 1, 8, 8]"]))
    assert [f.reason for f in report.findings] == [
        "adaptive_max_pool to (3, 3), which does not divide its input"
    ]


def test_an_operator_without_a_row_goes_through_torchs_own_decomposition():
    def composed(x: Any) -> Any:
        return nn.functional.huber_loss(x, torch.zeros_like(x))

    graph = iso.trace(composed, ["x: float32[n, 4]"])
    assert not [op for op in graph.ops() if op.domain]
    lines = {op.source.line for op in graph.ops() if op.source}
    assert lines == {number("return nn.functional.huber_loss")}
