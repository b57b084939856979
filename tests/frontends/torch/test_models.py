"""Whole models: exported with parity at two opsets, dims open; and three spellings of one net."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

import isomorph as iso  # noqa: E402 - after the skip
from isomorph.frontends.canonical import canonical  # noqa: E402
from tests.frontends.torch.models import MODELS, seeded  # noqa: E402

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
SPEC = ["images: float32[batch, 1, 8, 8] in 0..1"]


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_exports_with_parity(name: str, opset: int, tmp_path: Path):
    make, specs = MODELS[name]
    graph = iso.trace(seeded(make), specs)
    assert any(graph.symbols())
    result = iso.export(graph, tmp_path / "model.onnx", opset=opset, cases=12)
    assert result.opset == opset
    assert result.verdict is not None
    assert result.verdict.status.name == "PASS", result.verdict
    assert not result.verdict.weaker
    assert result.verdict.cases > 0


def test_a_fault_in_the_weights_is_found_against_the_module(tmp_path: Path):
    make, specs = MODELS["mlp"]
    module = seeded(make)
    iso.export(iso.trace(module, specs), tmp_path / "right.onnx", cases=4)
    with torch.no_grad():
        module[0].weight[3, 3] *= 1.001
    verdict = iso.verify(module, tmp_path / "right.onnx", inputs=specs, cases=8)
    assert verdict.exit_code == 3, verdict


def test_the_digits_net_is_one_graph_however_it_is_written(digits: Any):
    array, module = digits
    first = canonical(iso.trace(array.digits, SPEC))
    second = canonical(iso.trace(module.digits(), SPEC))
    assert len(first) == len(second) == 11
    for a, b in zip(first.sorted_ops(), second.sorted_ops(), strict=True):
        assert (a.type, a.version, a.attributes) == (b.type, b.version, b.attributes)
        assert [str(v.type) for v in a.results] == [str(v.type) for v in b.results]
        for x, y in zip(a.operands, b.operands, strict=True):
            assert (x.weight is None) == (y.weight is None)
            assert x.weight is None or (y.weight is not None and x.weight.same(y.weight))


def test_the_digits_module_exports_to_the_same_operators(digits: Any, tmp_path: Path):
    import onnx

    array, module = digits
    kinds = []
    for name, source in (("array", array.digits), ("torch", module.digits())):
        graph = iso.trace(source, SPEC)
        iso.export(graph, tmp_path / f"{name}.onnx", opset=17, cases=6)
        kinds.append([n.op_type for n in onnx.load(tmp_path / f"{name}.onnx").graph.node])
    assert kinds[0] == kinds[1]


@pytest.fixture(scope="module")
def digits() -> Any:
    """The example's two modules, imported as its own folder's."""
    sys.path.insert(0, str(DIGITS))
    try:
        import model  # pyright: ignore[reportMissingImports]
        import torch_model  # pyright: ignore[reportMissingImports]

        yield model, torch_model
    finally:
        sys.path.remove(str(DIGITS))
        for name in ("model", "torch_model"):
            sys.modules.pop(name, None)
