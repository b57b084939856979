"""Who is at fault is said, and of onnxruntime's optimizer which pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest

from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.spec import InputSpec
from isomorph.ir.dims import symbol
from isomorph.ir.types import DType, TensorType
from isomorph.parity import Status, bisect, verify
from isomorph.parity.candidate import Candidate
from isomorph.parity.optimizers import PREPARING, RULE_BASED, RULES, passes, transformers
from isomorph.parity.worker import shared
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    import onnx


def quotient() -> onnx.ModelProto:
    """1 / x · y, which the optimizer makes y / x: of integers another number."""
    nodes = [
        node("Abs", "x", "a"),
        node("Div", "one a", "d"),
        node("Mul", "d y", "m"),
        node("Add", "m y", "z"),
    ]
    ports = ["x: int32[n]", "y: int32[n]"]
    return model(nodes, ports, ["z: int32[n]"], {"one": np.array(1, "i4")})


def quantized() -> onnx.ModelProto:
    """Two pairs of quantizers, which the optimizer makes one of another scale."""
    nodes = [
        node("QuantizeLinear", "x s1 z1", "a"),
        node("DequantizeLinear", "a s1 z1", "b"),
        node("QuantizeLinear", "b s2 z2", "c"),
        node("DequantizeLinear", "c s2 z2", "y"),
    ]
    weights = {
        "s1": np.array(0.1, "f4"), "z1": np.array(3, "u1"),
        "s2": np.array(0.07, "f4"), "z2": np.array(5, "u1"),
    }  # fmt: skip
    return model(nodes, ["x: float32[n, 4]"], ["y: float32[n, 4]"], weights)


def test_a_quotient_folded_by_the_optimizer_is_blamed_on_that_pass(tmp_path: Path):
    path = save(quotient(), tmp_path / "model.onnx")
    specs = ["x: int32[n] in 1..9", "y: int32[n] in 1..20"]
    verdict = verify(path, path, cases=20, inputs=specs, replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert verdict.blame is not None
    assert (verdict.blame.who, verdict.blame.passes) == ("optimizer", ("DivMulFusion",))
    assert verdict.blame.node == "Mul 'm'"
    assert "blame: optimizer (DivMulFusion), Mul 'm'" in str(verdict)


def test_quantizers_merged_by_the_optimizer_are_blamed_on_that_pass(tmp_path: Path):
    path = save(quantized(), tmp_path / "model.onnx")
    verdict = verify(path, path, cases=60)
    assert verdict.exit_code == 0, "it is known, and no fault of the file"
    assert verdict.blame is not None
    assert (verdict.blame.who, verdict.blame.passes) == ("optimizer", ("DoubleQDQPairsRemover",))


def test_what_the_optimizer_leaves_alone_is_nobodys_fault(tmp_path: Path):
    path = save(model([node("Relu", "x", "y")], ["x: float32[n]"], ["y: float32[n]"]),
                tmp_path / "model.onnx")  # fmt: skip
    verdict = verify(path, path, cases=20)
    assert verdict.blame is None
    with Candidate(path, shared()) as candidate:
        assert bisect.guilty(candidate, [np.ones(3, "f4")]) == []


def scaled(factor: float) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    nodes = [node("MatMul", "x w", "h"), node("Sigmoid", "h", "y")]
    nodes[0].name = "dense"
    weight = (rng.standard_normal((4, 3)) * factor).astype("f4")
    return model(nodes, ["x: float32[n, 4]"], ["y: float32[n, 3]"], {"w": weight})


def test_another_function_is_the_exporters(tmp_path: Path):
    good, bad = save(scaled(1), tmp_path / "good.onnx"), save(scaled(1.01), tmp_path / "bad.onnx")
    verdict = verify(good, bad, cases=10, replay_folder=tmp_path / "replay")
    assert verdict.blame is not None
    assert verdict.blame.who == "exporter"
    assert verdict.blame.node == "MatMul 'dense'"
    assert " instead of " in verdict.blame.reason
    values = {name: float(v) for name, v in verdict.blame.values.items()}
    assert values["float64"] == pytest.approx(1.01 * values["source"])
    assert values["onnxruntime"] == pytest.approx(values["float64"])
    assert values["reference interpreter"] == pytest.approx(values["float64"])


def test_the_line_of_the_source_is_named():
    def good(x: Any) -> Any:
        return np.exp(np.tanh(x) * 2)

    def bad(x: Any) -> Any:
        return np.exp(np.tanh(x) * 2.01)

    specs = [InputSpec("x", TensorType(DType.FLOAT32, (symbol("n"),)))]
    verdict = verify(trace_array(good, specs), trace_array(bad, specs), cases=5)
    line = bad.__code__.co_firstlineno + 1
    assert verdict.blame is not None
    assert verdict.blame.where.endswith(f"test_blame.py:{line}")
    assert verdict.first_divergence is not None
    assert verdict.first_divergence.where == verdict.blame.where


def ungiven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what is known of the run time."""

    def nothing(case: Any) -> tuple[np.ndarray, str]:
        return np.zeros(np.shape(case.truth), bool), ""

    monkeypatch.setattr("isomorph.parity.well.known.explain", nothing)


def test_a_node_that_is_badly_computed_is_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ungiven(monkeypatch)
    path = save(scaled(4), tmp_path / "model.onnx")
    verdict = verify(path, path, cases=40, replay_folder=tmp_path / "replay")
    assert verdict.status in (Status.FAIL, Status.SUSPECT), verdict
    assert verdict.blame is not None
    assert (verdict.blame.who, verdict.blame.node) == ("kernel", "Sigmoid 'y'")
    values = {name: float(v) for name, v in verdict.blame.values.items()}
    assert values["reference interpreter"] == pytest.approx(values["float64"], rel=1e-6)


def test_our_own_evaluation_is_blamed_where_two_others_agree_against_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from isomorph.parity import blame, well

    def wrong(op: Any, operands: Any, *, wide: bool = False, **more: Any) -> list[Any]:
        found = evaluate(op, operands, wide=wide, **more)
        return [found[0] * 1.01] if op.type == "Softsign" else found

    evaluate = well.evaluate
    for place in ("isomorph.parity.well.evaluate", "isomorph.ir.interpret.evaluate"):
        monkeypatch.setattr(place, wrong)
    made = model([node("Softsign", "x", "y")], ["x: float32[n]"], ["y: float32[n]"])
    path = save(made, tmp_path / "model.onnx")
    verdict = verify(path, path, cases=10, replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert verdict.blame is not None
    assert verdict.blame.who == blame.ORACLE


def test_a_dead_process_is_the_kernels(tmp_path: Path):
    nodes = [node("Neg", "a", "n"), node("Div", "n b", "y")]
    made = model(nodes, ["a: int32[n]", "b: int32[n]"], ["y: int32[n]"])
    path = save(made, tmp_path / "model.onnx")
    specs = ["a: int32[n] in -2147483648..-2147483648", "b: int32[n] in -1..-1"]
    verdict = verify(path, path, cases=10, inputs=specs, replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert verdict.blame is not None
    assert (verdict.blame.who, verdict.blame.node) == ("kernel", "Div 'y'")


def test_the_names_of_passes_are_those_of_the_installed_onnxruntime(tmp_path: Path):
    capi = Path(onnxruntime.__file__).parent / "capi"
    library = b"".join(p.read_bytes() for p in capi.glob("onnxruntime_pybind11_state*"))
    missing = [n for n in (*RULES, *PREPARING) if b"\0" + n.encode() + b"\0" not in library]
    assert not missing
    ran = transformers(save(quotient(), tmp_path / "model.onnx"))
    assert len(ran) > 20, "a session that logs in full names its transformers"
    assert set(PREPARING) <= set(ran)
    assert [n for n, changed in ran.items() if changed] == [f"Level1{RULE_BASED}"]
    assert passes(tmp_path / "model.onnx") == [*RULES, f"Level1{RULE_BASED}"]
