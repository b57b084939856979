"""Whole architectures and trained models on the simulator, none of it left to another engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import isomorph as iso
from isomorph.codegen import nvrtc
from isomorph.parity.verdict import Status
from tests.kernels.models import NEEDS_TORCH
from tests.kernels.support import HAS_NVRTC, needs_compiler
from tests.realmodels import real_model

if TYPE_CHECKING:
    from isomorph.runtime.device import Run

pytestmark = needs_compiler
BUDGET = 240
"""Seconds, for a machine that does other things too."""


def passes(reference: object, run: Run, cases: int, inputs: list[str] | None = None) -> None:
    verdict = iso.verify(reference, run, inputs=inputs or [], cases=cases, budget=BUDGET)
    assert verdict.status is Status.PASS, str(verdict)
    assert verdict.judged == cases


def builds_without_a_spill(run: Run) -> None:
    """What it launched last, for every architecture."""
    pairs = [(spec, arch) for spec in run.plan.specs for arch in spec.archs]
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda pair: nvrtc.cubin(*pair).spills, pairs)
    assert {(s.name, arch): n for (s, arch), n in zip(pairs, made, strict=True) if n} == {}


@NEEDS_TORCH
@pytest.mark.parametrize("name", ["ViT", "BERT", "Llama"])
def test_an_architecture(name: str):
    import torch

    from tests.kernels.architectures import ARCHITECTURES

    make, inputs = ARCHITECTURES[name]
    torch.manual_seed(0)
    module = make().eval()
    run = iso.compile(iso.trace(module, inputs=inputs), device="sim:sm_90")
    passes(module, run, 4, inputs)
    if HAS_NVRTC:
        builds_without_a_spill(run)
    titles = [k.title for k in run.plan.kernels]
    assert titles.count("Attention") == 2
    assert not any("Softmax" in title for title in titles)


@pytest.mark.parametrize("name", ["silero_vad_op18_ifless", "magika", "ch_ppocr_cls", "ppocr_det"])
def test_a_trained_model(name: str):
    path = real_model(name)
    run = iso.compile(iso.load(path), device="sim:sm_90")
    passes(path, run, 2)
    if HAS_NVRTC:
        builds_without_a_spill(run)
