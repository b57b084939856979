"""A source evaluated in float64 is the same function: what depends on its element type stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'isomorph[torch]'")

from torch import nn  # noqa: E402 - after the skip
from torch.nn import functional as F  # noqa: E402, N812

import isomorph as iso  # noqa: E402
from isomorph.frontends.torch.origin import Origin  # noqa: E402
from isomorph.parity.noise import Perturbation  # noqa: E402
from isomorph.parity.verdict import Status  # noqa: E402


class Masked(nn.Module):
    """The least number of the element type in place of what is not positive."""

    def forward(self, x: Any) -> Any:
        return torch.where(x > 0, x, torch.finfo(x.dtype).min)


class Steps(nn.Module):
    """Without an epsilon, by the function."""

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, (6,)) + torch.rms_norm(x, [6])


SMALL = np.full((1, 6), 1e-4, np.float32)
SOURCES = {"module": nn.RMSNorm(6), "functions": Steps(), "least number": Masked()}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("exported", [False, True], ids=["as it is", "exported"])
def test_float64_is_the_same_function(name: str, exported: bool):
    source = SOURCES[name]
    if exported:
        source = torch.export.export(source, (torch.from_numpy(SMALL),))
    x = SMALL if name != "least number" else -SMALL
    (narrow,), (wide,) = Origin(source).run([x]), Origin(source).wide([x])
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, narrow, rtol=1e-6)


def test_figures_of_float64_are_its_own_where_that_is_what_the_source_is():
    x = np.full((1, 6), 1e-4)
    (wide,) = Origin(nn.RMSNorm(6).double()).wide([x])
    np.testing.assert_allclose(wide, 1.0, rtol=1e-7)
    before = torch.finfo
    Origin(Masked()).wide([SMALL])
    assert torch.finfo is before


def test_a_norm_without_an_epsilon_exports(tmp_path: Any):
    graph = iso.trace(nn.RMSNorm(6), inputs=["x: float32[batch, 6]"])
    iso.export(graph, tmp_path / "m.onnx", cases=12)
    verdict = iso.verify(
        nn.RMSNorm(6), tmp_path / "m.onnx", inputs=["x: float32[batch, 6]"], cases=12
    )
    assert verdict.status is Status.PASS, str(verdict)


@pytest.mark.parametrize("norm", [nn.LayerNorm(6), nn.GroupNorm(2, 6)], ids=["layer", "group"])
def test_what_cancels_inside_of_an_operator_is_noise(norm: nn.Module):
    """A mean is rounded, and the distance of equal numbers from it is what that left."""
    x = np.repeat(np.float32([[0.7], [0.5], [1 / 3]]), 6, axis=1)
    origin = Origin(norm)
    (wide,) = origin.wide([x])
    moved = [origin.wide([x], Perturbation(seed))[0] for seed in range(4)]
    largest = np.max([np.abs(m - wide) for m in moved], axis=0)
    assert (largest.max(axis=1) > 1e-15).all()
    assert (largest < 1e-11).all()
