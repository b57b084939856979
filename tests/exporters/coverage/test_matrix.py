"""The matrix: what is committed is what the ledger says, and the ledger is what is measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isomorph.exporters.coverage.columns import kernel, short, torch
from isomorph.exporters.coverage.entries import Entry, Kernels, Tally, TorchUse, numbers, spans
from isomorph.exporters.coverage.ledger import PATH, Ledger
from isomorph.exporters.coverage.matrix import NAME, render
from isomorph.exporters.coverage.measure import (
    Stale,
    dropped,
    kernels,
    measure,
    pytorch,
    run,
    stale,
)
from isomorph.exporters.coverage.measure.digests import kernel_sources, sources
from isomorph.exporters.coverage.measure.releases import releases
from isomorph.exporters.coverage.story import story
from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import FAMILIES
from tests.kernels.support import needs_compiler
from tests.project.tree import ROOT

SAMPLE = 3
"""Operators that are measured anew, another choice each time."""
REMEDY = "run: isomorph coverage --measure --write"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger.load()


def test_the_page_is_what_the_ledger_says(ledger: Ledger):
    assert Path(ROOT / NAME).read_text(encoding="utf-8") == render(ledger), REMEDY


def test_the_ledger_is_written_as_it_reads(ledger: Ledger):
    assert ledger.dump() == PATH.read_text(encoding="utf-8")


def test_nothing_has_changed_since_it_was_measured(ledger: Ledger):
    assert not dropped(ledger), REMEDY
    assert not stale(ledger), REMEDY


def test_every_operator_is_in_it_once(ledger: Ledger):
    assert set(ledger.entries) == set(INSTANCES.rows())
    assert {e.family for e in ledger.entries.values()} == set(FAMILIES)


def chosen(names: list[Any], count: int) -> list[Any]:
    return [names[n] for n in np.random.default_rng().choice(len(names), count, replace=False)]


def test_a_sample_is_measured_again(ledger: Ledger):
    if any(ledger.releases.get(name) != release for name, release in releases().items()):
        pytest.skip(f"measured with {ledger.releases}")
    small = [k for k, e in sorted(ledger.entries.items()) if e.cases.tried <= 150]
    for (_, key), entry in run([("operator", key) for key in chosen(small, SAMPLE)]):
        assert entry == replace(ledger.entries[key], kernels=Kernels()), f"{key}: {REMEDY}"


@needs_compiler
def test_a_sample_of_kernels_is_measured_again(ledger: Ledger):
    some = [k for k, e in sorted(ledger.entries.items()) if 0 < e.kernels.cases.tried <= 20]
    for (_, key), found in run([("kernels", key) for key in chosen(some, SAMPLE)]):
        assert found == ledger.entries[key].kernels, f"{key}: {REMEDY}"


def test_a_sample_of_torch_uses_is_measured_again(ledger: Ledger):
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    if ledger.releases.get("torch") != releases()["torch"]:
        pytest.skip(f"measured with {ledger.releases}")
    for (_, name), use in run([("torch", name) for name in chosen(list(ledger.torch), SAMPLE)]):
        assert use == ledger.torch[name], f"{name}: {REMEDY}"


UNREACHED = {"aten.lift_fresh.default": "export writes lift_fresh_copy; other programs may hold it"}


def test_every_row_of_torch_is_used(ledger: Ledger):
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    from isomorph.frontends.torch.aten import rules

    reached = {name for use in ledger.torch.values() for name in use.reached}
    assert set(rules()) - reached == set(UNREACHED), "add uses to frontends/torch/uses"


def test_every_operator_is_read_written_and_run(ledger: Ledger):
    for key, entry in ledger.entries.items():
        assert entry.exports, key
        assert any(entry.imports.values()), key
        assert entry.cases.tried or entry.refused, key


def test_a_change_of_a_family_makes_its_operators_stale_and_no_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    from isomorph.exporters.coverage.measure import digests

    changed = sources("pooling") + "\nx = 1"
    monkeypatch.setattr(
        digests, "sources", lambda family: changed if family == "pooling" else sources(family)
    )
    found = stale(ledger)
    assert {ledger.entries[k].family for k in found.operators} == {"pooling"}
    assert not found.torch


def test_a_change_of_a_kernel_makes_those_stale_that_it_computes_and_no_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    from isomorph.codegen.flatten import source

    def changed(spec: Any) -> str:
        return source(spec) + "\n// another" * (spec.kernel == "pooling")

    monkeypatch.setattr(kernels, "source", changed)
    old = replace(ledger, kernels="of other sources")
    found = {key[1] for key in stale(old).kernels}
    assert {"MaxPool", "AveragePool"} <= found
    assert not found & {"Abs", "Conv", "MatMul", "ReduceSum", "Softmax"}


def test_without_a_compiler_kernels_keep_what_was_measured_and_are_stale_when_they_change(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    from isomorph.exporters.coverage import measure as measuring
    from isomorph.simulator.toolchain import NoCompilerError

    def none() -> None:
        raise NoCompilerError("none")

    monkeypatch.setattr(measuring, "compiler", none)
    assert stale(ledger) == Stale()
    entry = ledger.entries["", "Softmax"]
    old = replace(entry, kernels=replace(entry.kernels, digest="of other kernels"))
    changed = replace(ledger, kernels="", entries={**ledger.entries, ("", "Softmax"): old})
    found = stale(changed)
    assert found.kernels == (("", "Softmax"),)
    assert "takes g++ or clang++" in next(found.words())
    (note,) = [n for n in measure(changed) if "kernels" in n]
    assert note.startswith("the kernels of 1 operators were not measured")
    assert changed.entries["", "Softmax"] == old
    assert changed.kernels != kernel_sources()


def test_without_torch_its_uses_are_kept_and_not_asked_about(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pytorch, "is_here", lambda: False)
    changed = replace(ledger, torch={"gone": TorchUse("of another torch")})
    assert stale(changed) == Stale()
    assert not dropped(changed)
    assert measure(changed) == ["uses of torch were not measured: torch is not installed"]
    assert set(changed.torch) == {"gone"}


def test_an_entry_survives_a_round():
    entry = Entry(
        "abc",
        "linear",
        {6: Tally(1, 2)},
        {11: Tally(3, 3), 12: Tally(0, 3)},
        {"float32": Tally(4, 4), "int8": Tally(0, 1)},
        {"bfloat16": (11, 12, 13, 20)},
        {"too old": (11,)},
        ("something",),
        ("matmul",),
        Kernels("def", {"float32": Tally(2, 2)}, {"int8": (3, "no: kernel")}, ("wrong",)),
    )
    assert Entry.of_json(json.loads(json.dumps(entry.to_json()))) == entry
    assert entry.opsets == (11,)
    assert entry.cases == Tally(4, 5)
    used = TorchUse("ghi", {"aten.matmul.default": ("MatMul",)}, 12, "")
    assert TorchUse.of_json(json.loads(json.dumps(used.to_json()))) == used
    ledger = Ledger({"onnxruntime": "0.0.0"}, "", {("", "MatMul"): entry}, {"mm": used})
    told = story(("", "MatMul"), ledger)
    assert "not at 11: too old" in told
    assert "differs: something" in told
    assert "int8: 3 uses have none: no: kernel" in told
    assert "alone: matmul" in told


def test_a_cell_of_kernels_says_what_runs_lacks_and_differs():
    passed, failed = Tally(2, 2), Tally(1, 2)
    found = Kernels(
        "d", {"float32": passed, "float16": passed, "bool": failed}, {"float16": (1, "")}
    )
    assert kernel(Entry("d", "linear", kernels=found)) == "f32 f16* (differs: bool)"
    assert kernel(Entry("d", "linear")) == "–"


def test_a_cell_of_torch_shows_those_that_are_nearest_and_marks_what_fails():
    uses = {
        "add": TorchUse("d", {"aten.add.Tensor": ("Add",)}, 12),
        "rare": TorchUse(
            "d", {"aten.rare.default": ("Add",), "aten.add.Tensor": ("Add",)}, 12, "no"
        ),
        "half": TorchUse("d", {"aten.half.out": ("Add",)}, 12),
        "half wrong": TorchUse("d", {"aten.half.out": ("Add",)}, 12, "no"),
        "far": TorchUse("d", {"aten.far.default": ("Add", "Mul")}, 12),
    }
    assert torch(("", "Add"), uses) == "`add`, `half`*, `rare`✗"
    assert torch(("", "Mul"), uses) == "`far`"
    assert torch(("", "Sub"), uses) == ""


@pytest.mark.parametrize("values", [(), (11,), (11, 12, 13), (6, 9, 10, 28)], ids=str)
def test_spans_read_back(values: tuple[int, ...]):
    assert numbers(spans(values)) == values


def test_element_types_are_abbreviated_by_group():
    floats = ["float16", "float32", "float64"]
    assert short([*floats, "bool"]) == "floats bool"
    assert short(floats, starred={"float64"}) == "f32 f16 f64*"
    assert short(["float8e4m3fn", "string"]) == "string float8e4m3fn"
