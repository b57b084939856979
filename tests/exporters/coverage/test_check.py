"""`check`: every obstacle at once, where it is, and no obstacle that is not one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from isomorph.exporters.coverage.check import PLACEHOLDER, check
from isomorph.exporters.coverage.runnable import ranges
from isomorph.exporters.target import make_target
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.source import Source
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.exporters.coverage.report import Finding, Report
    from isomorph.ir.graph import Value

RELEASE = "onnxruntime==1.31.1"


class Model:
    """A graph under construction; line n of `model.py` is the n-th op."""

    def __init__(self, dtype: DType = DType.FLOAT32) -> None:
        self.graph = Graph("model")
        self.x = self.graph.add_input("x", TensorType(dtype, (symbol("n"), 4)))
        self.line = 0

    def op(self, kind: str, *inputs: Value, **more: object) -> Value:
        self.line += 1
        made = self.graph.add_op(
            kind,
            inputs,
            source=Source("model.py", self.line),
            **more,  # type: ignore[arg-type]
        )
        return made.output

    def check(self, *outputs: Value, opset: int | None = None) -> Report:
        self.graph.outputs = list(outputs)
        upgrade(self.graph)
        infer(self.graph)
        return check(self.graph, make_target(opset, RELEASE))


def by_op(report: Report) -> dict[str, Finding]:
    return {f.op: f for f in report.findings}


def test_an_exportable_model_has_no_findings():
    model = Model()
    y = model.op("MatMul", model.x, model.op("Transpose", model.x))
    report = model.check(y)
    assert report.ok
    assert not report.findings


def test_everything_is_listed_at_once_with_its_line():
    model = Model(DType.BFLOAT16)
    a = model.op("MatMul", model.x, model.op("Transpose", model.x))
    b = model.op("Svd", model.x, domain=PLACEHOLDER, version=1, attributes={"reason": "no SVD"})
    c = model.op("Foo", model.x, domain="my.domain", version=1)
    d = model.op("Bar", model.x, domain="com.microsoft", version=1)
    report = model.check(a, b, c, d)
    found = by_op(report)
    assert not report.ok
    assert set(found) == {"MatMul", "Svd", "Foo", "Bar"}
    assert {f.op: f.where for f in report.findings} == {
        "MatMul": ("model.py:2",),
        "Svd": ("model.py:3",),
        "Foo": ("model.py:4",),
        "Bar": ("model.py:5",),
    }
    assert found["MatMul"].kind == "dtype"
    assert found["MatMul"].reason.endswith("has no kernel for MatMul-13 at bfloat16")
    assert "float32" in found["MatMul"].remedy
    assert found["Svd"].reason == "no SVD"
    assert {f.kind for n, f in found.items() if n != "MatMul"} == {"unsupported-op"}


def test_equal_findings_are_one_with_all_places():
    model = Model(DType.BFLOAT16)
    first = model.op("MatMul", model.x, model.op("Transpose", model.x))
    second = model.op("MatMul", first, first)
    (finding,) = model.check(second).findings
    assert finding.count == 2
    assert finding.where == ("model.py:2", "model.py:3")


def test_what_an_older_opset_cannot_say_names_the_lowest_that_can():
    model = Model(DType.INT32)
    y = model.op("BitwiseAnd", model.x, model.x)
    report = model.check(y, opset=13)
    finding = by_op(report)["BitwiseAnd"]
    assert finding.kind == "opset"
    assert finding.remedy == "export at opset 18 or newer"
    assert model.check(y, opset=18).ok


def test_random_and_data_dependent_ops_are_risks_and_no_obstacles():
    model = Model()
    a = model.op("NonZero", model.x)
    b = model.op("RandomNormalLike", model.x, version=1)
    report = model.check(a, b, opset=21)
    assert report.ok
    assert {f.op: (f.kind, f.severity) for f in report.findings} == {
        "NonZero": ("risk", "risk"),
        "RandomNormalLike": ("risk", "risk"),
    }


def test_what_a_release_is_known_to_get_wrong_is_a_risk():
    model = Model(DType.STRING)
    index = model.graph.add_input("i", TensorType(DType.INT64, (2,)))
    (finding,) = model.check(model.op("Gather", model.x, index)).findings
    assert finding.severity == "risk"
    assert "empty strings" in finding.reason


def test_going_down_from_the_opset_that_was_read_is_said():
    model = Model()
    model.graph.opsets = {"": 21}
    y = model.op("Identity", model.x)
    assert not model.check(y, opset=21).notes
    assert "read at opset 21" in model.check(y, opset=18).notes[0]


def test_contrib_operators_that_the_run_time_has_are_let_through():
    model = Model()
    report = model.check(model.op("Inverse", model.x, domain="com.microsoft", version=1))
    assert report.ok
    assert any("asked directly" in n for n in report.notes)


def test_unknown_types_are_no_obstacle():
    model = Model(DType.BFLOAT16)
    model.graph.inputs[0].type = None
    y = model.op("MatMul", model.x, model.x)
    (finding,) = model.check(y).findings
    assert finding.kind == "dtype"
    assert "type of input 'x' is not known" in finding.reason


def test_subgraphs_are_checked():
    inner = Graph("then")
    captured = inner.add_capture("x")
    inner.outputs = [inner.add_op("MatMul", [captured, captured]).output]
    other = Graph("else")
    same = other.add_capture("x")
    other.outputs = [other.add_op("Identity", [same]).output]
    model = Model(DType.BFLOAT16)
    model.graph.inputs[0].type = TensorType(DType.BFLOAT16, (4, 4))
    condition = model.graph.add_input("condition", TensorType(DType.BOOL, ()))
    branches = {"then_branch": inner, "else_branch": other}
    y = model.op("If", condition, attributes=branches, captures=[model.x])
    report = model.check(y, opset=21)
    assert "MatMul" in by_op(report)


def test_opsets_below_the_lowest_written_are_refused():
    model = Model()
    (finding,) = model.check(model.op("Identity", model.x), opset=9).findings
    assert finding.kind == "opset"
    assert "rewritten to opset 11" in finding.reason


def test_a_report_is_one_json_document():
    model = Model(DType.BFLOAT16)
    report = model.check(model.op("Foo", model.x, domain="my.domain", version=1))
    document = json.loads(json.dumps(report.to_json()))
    assert document["ok"] is False
    assert document["findings"][0]["where"] == ["model.py:1"]
    assert "my.domain.Foo-1 (bfloat16) [unsupported-op] at model.py:1" in str(report)


def test_check_does_not_change_its_graph():
    model = Model()
    y = model.op("CenterCropPad", model.x, model.op("Shape", model.x))
    model.check(y)
    before = [(str(op), dict(op.metadata)) for op in model.graph.ops()]
    check(model.graph, make_target(13, RELEASE))
    assert [(str(op), dict(op.metadata)) for op in model.graph.ops()] == before


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([11], "11"), ([11, 12, 13, 15, 17, 18], "11 to 13, 15, 17 to 18")],
)
def test_ranges(numbers: list[int], text: str):
    assert ranges(numbers) == text
