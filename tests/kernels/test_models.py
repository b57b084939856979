"""Whole models on the simulator: parity, checking mode, and the memory that was promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isomorph as iso
from isomorph.ir.text import parse
from isomorph.parity.compiled import Compiled
from isomorph.parity.verdict import Status
from isomorph.runtime.device import compile_graph
from tests.kernels.models import CASES, MODELS, SHAPES, TORCH, named, plan, sample, source
from tests.kernels.support import needs_compiler, uses_its_arena

EXPECTED = {
    "mlp": ["MatMul+Add+Relu", "Gemm+Add", "Softmax"],
    "digits": ["Conv+Relu", "MaxPool", "Conv+Relu", "MatMul+Add+Relu", "MatMul+Add"],
    "encoder": [
        *(["MatMul+Add"] * 3),
        "Attention",
        "MatMul+Add+Add",
        "LayerNormalization",
        *("MatMul+Add+Gelu", "MatMul+Add+Add", "LayerNormalization"),
    ],
    "resnet": [
        *("Conv+Relu", "MaxPool", "Conv+Relu", "Conv", "Conv+Add+Relu"),
        *("GlobalAveragePool", "MatMul+Add"),
    ],
}


@needs_compiler
@pytest.mark.parametrize(("model", "dtype"), CASES)
def test_parity(model: str, dtype: str):
    graph = MODELS[model](dtype)
    run = iso.compile(graph, device="sim:sm_90")
    reference, inputs = source(model, dtype)
    verdict = iso.verify(reference or graph, run, inputs=inputs, cases=16, seed=1)
    assert verdict.status is Status.PASS, str(verdict)
    assert verdict.judged
    assert len(verdict.dims["batch"]) > 2


@needs_compiler
@pytest.mark.parametrize(("model", "dtype"), CASES)
def test_checking_mode_is_clean(model: str, dtype: str):
    graph = MODELS[model](dtype)
    for seed in (0, 3):
        run = compile_graph(graph, "sim:sm_90", checking=True, seed=seed)
        for shape in SHAPES[model]:
            candidate = Compiled(run)
            values = candidate.observe([sample(model, dtype, shape)])
            wrong = []
            candidate.judge(values, lambda op, f: wrong.append((op.type, f)) if f.reason else None)  # noqa: B023
            assert not wrong


@needs_compiler
@pytest.mark.parametrize("model", named(["encoder", "digits", *TORCH]))
def test_the_arena_is_what_the_plan_promised_and_is_asked_for_once(model: str):
    run = compile_graph(MODELS[model]("float32"), "sim:sm_90")
    x = sample(model, "float32", SHAPES[model][0])
    uses_its_arena(run, x)
    (first,), (smaller,) = run(x), run(x[:1])
    assert run.engine.arena.allocations == 1
    np.testing.assert_allclose(smaller, first[:1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", EXPECTED)
def test_kernels_are_as_few_as_by_hand(model: str):
    titles = [k.title for k in plan(model, "float32", SHAPES[model][0]).kernels]
    assert sorted(titles) == sorted(EXPECTED[model])


def test_half_precision_products_run_on_tensor_cores():
    kinds = {k.title: k.spec.kernel for k in plan("encoder", "float16", (2, 16, 32)).kernels}
    assert {k for t, k in kinds.items() if t.startswith("MatMul")} == {"gemm_mma"}
    assert kinds["Attention"] == "attention_mma"
    kinds = {k.title: k.spec.kernel for k in plan("resnet", "float16", (2, 3, 32, 32)).kernels}
    assert kinds["MatMul+Add"] == "gemm_simt"  # ten columns are no multiple of 16 bytes


@needs_compiler
def test_products_of_bfloat16_run_on_tensor_cores():
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (bfloat16[40, 64] x, bfloat16[64, 72] w, bfloat16[72] b) => (bfloat16[40, 72] z) {
        y = MatMul(x, w)
        z = Add(y, b)
    }"""
    run = compile_graph(parse(text), "sim:sm_90", checking=True, seed=2)
    assert [k.spec.kernel for k in run.plan.kernels] == ["gemm_mma"]
    verdict = iso.verify(run.graph, run, cases=12)
    assert verdict.status is Status.PASS, str(verdict)


@pytest.mark.parametrize(("model", "dtype"), CASES)
def test_tensors_that_live_together_lie_apart(model: str, dtype: str):
    made = plan(model, dtype, SHAPES[model][0])
    assert all(offset % 256 == 0 for offset in made.offsets.values())
    assert made.peak_bytes % 256 == 0
    assert made.peak_bytes < sum(k.bytes for k in made.kernels)


@needs_compiler
def test_a_kernel_that_computes_something_else_fails_by_name(monkeypatch: pytest.MonkeyPatch):
    from isomorph.lowering.expressions import EXPRESSIONS

    def slightly_off(_: object, a: list[str]) -> str:
        return f"(max_nan({a[0]}, 0.0f) * 1.0001f)"

    monkeypatch.setitem(EXPRESSIONS, "Relu", slightly_off)
    graph = MODELS["mlp"]("float32")
    verdict = iso.verify(graph, iso.compile(graph, device="sim:sm_90"), cases=12)
    assert verdict.status is Status.FAIL
    assert verdict.first_divergence is not None
    assert verdict.first_divergence.op == "MatMul+Add+Relu"


@needs_compiler
def test_the_digits_are_read_as_well_as_by_the_interpreter():
    with np.load(Path(__file__).parents[2] / "examples" / "digits" / "heldout.npz") as file:
        images, labels = file["images"], file["labels"]
    (logits,) = compile_graph(MODELS["digits"]("float32"), "sim:sm_90")(images)
    assert (logits.argmax(axis=1) == labels).mean() >= 0.98


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize("model", named(TORCH))
def test_a_module_that_kernels_run_exports_too(model: str, opset: int, tmp_path: Path):
    graph = MODELS[model]("float32")
    result = iso.export(graph, tmp_path / "model.onnx", opset=opset, cases=12)
    assert result.opset == opset
    assert result.verdict is not None
    assert result.verdict.status is Status.PASS, result.verdict
    assert not result.verdict.weaker
