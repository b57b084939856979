"""`isomorph verify`, `check`, `show`, `doctor`: exit codes and documents."""

from __future__ import annotations

from tests.cli.conftest import MLP


def test_a_model_equals_itself(isomorph, mlp):
    done = isomorph("verify", mlp, mlp, "--cases", 50, "--json")
    assert done.code == 0, done.out
    assert done.document["status"] == "PASS"
    assert done.document["cases"] > 0
    assert {"status", "outputs", "nodes", "first_divergence", "dims", "seed"} <= set(done.document)


def test_a_changed_weight_fails(isomorph, mlp, model):
    other = model(MLP.replace("0.5,", "0.5005,"), "other.onnx")
    done = isomorph("verify", mlp, other, "--cases", 50)
    assert done.code == 3
    assert "FAIL" in done.out


def test_check_writes_nothing(isomorph, mlp, tmp_path):
    before = sorted(tmp_path.iterdir())
    done = isomorph("check", mlp, "--json")
    assert done.code == 0
    assert done.document["ok"] is True
    assert done.document["schema_version"] == 1
    assert sorted(tmp_path.iterdir()) == before


def test_show_tells_what_is_in_a_model(isomorph, mlp):
    facts = isomorph("show", mlp, "--json").document
    assert facts["ops"] == {"Add-14": 1, "MatMul-13": 1, "Relu-14": 1}
    assert facts["opsets"] == {"": 21, "acme": 1}
    assert facts["weights"] == {
        "count": 2,
        "elements": 15,
        "bytes": 60,
        "elements_by_dtype": {"float32": 15},
    }
    assert facts["inputs"] == [{"name": "x", "type": "float32[batch, 4]"}]
    assert "MatMul-13" in isomorph("show", mlp).out


def test_doctor_finds_one_run_time(isomorph):
    done = isomorph("doctor", "--json")
    assert done.code == 0
    found = {f["name"]: f for f in done.document["findings"]}
    assert found["onnxruntime"]["ok"]
    assert found["run time"]["ok"]


def test_a_bad_call_exits_2(isomorph, mlp):
    assert isomorph("export", mlp).code == 2
    assert isomorph("verify", mlp).code == 2
    assert isomorph("show").code == 2
