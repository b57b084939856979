"""Operators of onnxruntime's own domain: right models pass, faults are found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, Instance, build, dtypes_of
from isomorph.ir.ops.microsoft import OPS
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.parity import Status, verify
from isomorph.parity.strategies.scales import kind_of
from isomorph.parity.well import judge
from tests.ops import harness

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph
    from isomorph.ir.types import DType

NAMES = sorted(name for _, name in OPS)
PLAIN = ("BiasGelu", "FastGelu", "FusedMatMul", "Gelu", "QuickGelu")
QUANTIZED = [name for name in NAMES if name not in PLAIN]


def first(name: str) -> tuple[Instance, DType]:
    use = INSTANCES.rows()[DOMAIN, name][0]
    return use, next(d for d in dtypes_of((DOMAIN, name), use) if d.bits == 8 or d.is_float)


def made(name: str, seed: int = 0) -> tuple[Graph, list[Any]]:
    use, dtype = first(name)
    graph, feeds = build((DOMAIN, name), use, dtype, seed=seed)
    infer(graph)
    return graph, feeds


def saved(graph: Graph, path: Path) -> Path:
    path.write_bytes(harness.encode(graph, 21).SerializeToString())
    return path


@pytest.mark.parametrize("name", NAMES)
def test_right_models_pass(tmp_path: Path, name: str):
    path = saved(made(name)[0], tmp_path / "model.onnx")
    for seed in range(2):
        verdict = verify(path, path, cases=24, seed=seed)
        assert verdict.status is Status.PASS, f"seed {seed}: {verdict}"


@pytest.mark.parametrize("name", QUANTIZED)
def test_a_scale_that_is_off_is_found(tmp_path: Path, name: str):
    """A constant in the place of an input; the candidate's is 2 % larger."""
    use, dtype = first(name)
    graph, feeds = made(name)
    (op,) = graph.ops()
    at = next(i for i in range(len(op.inputs)) if kind_of(op, i) == "scale")
    arg = use.inputs[at]
    assert arg is not None
    given = arg.values
    if given is None:
        given = feeds[sum(a is not None for a in use.inputs[:at])]
    paths: list[Path] = []
    for factor in (1.0, 1.02):
        values = np.asarray(given, np.float32) * np.float32(factor)
        inputs = [*use.inputs]
        inputs[at] = replace(arg, const=True, values=values)
        candidate, _ = build((DOMAIN, name), replace(use, inputs=tuple(inputs)), dtype)
        paths.append(saved(candidate, tmp_path / f"{factor}.onnx"))
    verdict = verify(*paths, cases=48, seed=0)
    assert verdict.status is Status.FAIL, str(verdict)


OTHERS = (
    (("FusedMatMul", {"alpha": 0.5}), ("FusedMatMul", {"alpha": 0.505})),
    (("QuickGelu", {}), ("QuickGelu", {"alpha": 1.69})),
    (("Gelu", {}), ("FastGelu", {})),
    (("Gelu", {}), ("QuickGelu", {})),
)


@pytest.mark.parametrize("pair", OTHERS)
def test_another_function_is_found(tmp_path: Path, pair: tuple[tuple[str, dict[str, Any]], ...]):
    paths: list[Path] = []
    for name, attributes in pair:
        use, dtype = first(name)
        graph, _ = build((DOMAIN, name), replace(use, attributes=attributes), dtype)
        paths.append(saved(graph, tmp_path / f"{len(paths)}.onnx"))
    verdict = verify(*paths, cases=48, seed=0)
    assert verdict.status is Status.FAIL, str(verdict)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_that_is_off_is_found(name: str):
    """Two steps beyond what is right, or a hundredth of the largest number."""
    graph, feeds = made(name)
    (op,) = graph.ops()
    given = iter(feeds)
    operands = [
        None if v is None else next(given) if v.weight is None else v.weight.numpy()
        for v in op.inputs
    ]
    results = [np.array(r) for r in evaluate(op, operands)]
    assert [f.status for f in judge(op, operands, results)] == [Status.PASS] * len(results)
    right = results[0]
    if right.dtype.kind in "iu":
        results[0] = right ^ right.dtype.type(4)
    else:
        results[0] = right + np.float32(0.01 * np.abs(right).max())
    assert judge(op, operands, results)[0].status is Status.FAIL
