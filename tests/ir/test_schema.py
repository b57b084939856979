"""The one reader of `onnx.defs`, operator by operator."""

from __future__ import annotations

import onnx.defs
import onnx.helper
import pytest

from isomorph.ir import schema
from isomorph.ir.types import DType

EVERY = sorted(
    {
        (s.domain, s.name, s.since_version)
        for s in onnx.defs.get_all_schemas_with_history()
        if s.since_version <= schema.CANONICAL.get(s.domain, s.since_version)
        and not (s.domain == schema.ML and s.deprecated)
    }
)
PLAIN = (int, float, str, type(None))


def test_every_definition_is_read():
    assert len(EVERY) > 600
    for domain, name, since in EVERY:
        found = schema.schema(domain, name, since)
        assert (found.domain, found.name, found.since) == (domain, name, since)
        assert found.min_inputs <= found.max_inputs
        assert found.min_outputs <= found.max_outputs
        for operand in (*found.inputs, *found.outputs):
            assert operand.dtypes, f"{name}-{since}: {operand}"
            assert operand.type_var in found.type_vars or operand.dtypes == {operand.type_var}
        for attribute in found.attributes.values():
            where = f"{name}-{since}: {attribute}"
            given = attribute.default
            items = given if isinstance(given, tuple) else (given,)
            assert all(isinstance(i, PLAIN) for i in items), where
            assert attribute.kind in onnx.AttributeProto.AttributeType.keys(), where  # noqa: SIM118
            assert not attribute.required or given is None, where
            assert isinstance(given, tuple) == (given is not None and attribute.kind[-1] == "S"), (
                where
            )


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml"])
def test_versions_are_what_onnx_resolves(domain: str):
    newest = schema.CANONICAL[domain]
    for name in sorted({n for d, n, _ in EVERY if d == domain}):
        known = [v for v in schema.versions(domain, name) if not schema.is_own(domain, name, v)]
        assert known == sorted(v for d, n, v in EVERY if (d, n) == (domain, name))
        for opset in range(1, newest + 1):
            found = schema.since_version(domain, name, opset)
            if found is not None and schema.is_own(domain, name, found):
                continue
            end = schema.ended(domain, name) if domain else None
            if end is not None and opset >= end:  # what it was before
                assert found == known[-1] < end
            elif onnx.defs.has(name, opset, domain):
                theirs = onnx.defs.get_schema(name, opset, domain)
                assert found == theirs.since_version, f"{name} at {opset}"
            else:
                assert found is None, f"{name} at {opset}"
        assert schema.canonical(domain, name) is schema.schema(domain, name, newest)


def test_onnxruntime_adds_versions_to_the_default_domain():
    """LayerNormalization-1 until opset 17 has one of its own; the simplified one for good."""
    assert schema.versions("", "LayerNormalization") == (1, 17)
    assert schema.since_version("", "LayerNormalization", 16) == 1
    assert schema.schema("", "LayerNormalization", 16).type_vars.keys() == {"T", "U", "V"}
    assert schema.schema("", "LayerNormalization", 17).type_vars.keys() == {"T", "U"}
    assert schema.versions("", "SimplifiedLayerNormalization") == (1,)
    assert not schema.has_body("", "LayerNormalization", 16)
    assert schema.body("", "SimplifiedLayerNormalization", 28, 28, b"", []) is None


def test_what_nobody_knows():
    assert schema.versions("", "Nothing") == ()
    assert schema.since_version("my", "Relu", 5) is None
    assert schema.schema("", "Gelu", 19) is None
    assert schema.canonical("my", "Op") is None
    assert schema.body("", "Relu", 13, 13, b"", []) is None
    assert schema.body("", "Nothing", 13, 13, b"", []) is None


def test_operators_are_those_in_force():
    found = schema.operators()
    assert list(found) == sorted(found)
    assert {"Relu", "If", "LSTM"} <= set(found)
    assert not {"Upsample", "Scatter"} & set(found)


def test_the_default_domain_has_two_names():
    assert [schema.normal_domain(d) for d in ("", "ai.onnx", "ai.onnx.ml", "my")] == [
        *("", "", "ai.onnx.ml", "my")
    ]


def test_operands_by_position():
    clip, concat = schema.canonical("", "Clip"), schema.canonical("", "Concat")
    assert [clip.input(i) and clip.input(i).name for i in range(4)] == ["input", "min", "max", None]
    assert [clip.input(i).optional for i in range(3)] == [False, True, True]
    assert concat.input(99) is concat.input(0)
    assert concat.input(0).variadic
    assert concat.max_inputs > 1_000
    assert clip.allows(0, DType.FLOAT16)
    assert not clip.allows(0, DType.BOOL)
    assert not clip.allows(3, DType.FLOAT16)
    assert schema.canonical("", "Shape").allows(0, DType.INT64, output=True)
    assert not schema.canonical("", "Shape").allows(0, DType.INT32, output=True)
    assert not schema.canonical("", "RandomNormal").deterministic
    assert schema.canonical("", "Relu").deterministic


@pytest.mark.parametrize("opset", range(7, schema.CANONICAL[""] + 1))
def test_the_ir_version_is_the_oldest_that_knows_the_opset(opset: int):
    found = schema.ir_version_for(opset)
    releases = [row for row in onnx.helper.VERSION_TABLE if row[2] == opset]
    assert found == min(row[1] for row in releases)
    made = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)])
    assert found == made


def test_an_opset_of_the_future_has_no_ir_version():
    with pytest.raises(ValueError, match="opset 99 is newer"):
        schema.ir_version_for(99)


def test_bodies_fixed_and_made_for_one_use():
    fixed = schema.body("", "Mish", 22, 22, b"", [])
    assert [n.op_type for n in fixed.node] == ["Softplus", "Tanh", "Mul"]
    node = onnx.helper.make_node("LayerNormalization", ["x", "s"], ["y"])
    kinds = [onnx.helper.make_tensor_type_proto(1, (2, 3)).SerializeToString()] * 2
    for opset, wanted in ((17, 17), (18, 18), (28, 18), (12, 17)):
        made = schema.body("", "LayerNormalization", 17, opset, node.SerializeToString(), kinds)
        assert made.opset_import[0].version == wanted
        assert made.node


def test_a_deprecated_operator_of_ml_is_what_it_was():
    key = (schema.ML, "TreeEnsembleRegressor")
    assert (schema.versions(*key), schema.ended(*key), schema.imported(*key)) == ((1, 3), 5, 4)
    assert schema.imported(schema.ML, "TreeEnsemble") == schema.CANONICAL[schema.ML]
    assert schema.ended("", "Upsample") == 10
    assert "TreeEnsembleClassifier" in schema.operators(schema.ML)
