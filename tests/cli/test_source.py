"""What SOURCE may be, and what user code that fails looks like."""

from __future__ import annotations

import pytest

FAILING = {
    "raises": ("def f(x):\n    raise ValueError('no\\nway')\n", 2, "ValueError: no way"),
    "divides": ("def f(x):\n    return 1 // 0\n", 2, "ZeroDivisionError"),
    "recurses": ("def f(x):\n    return f(x)\n", 2, "RecursionError"),
    "fails deeper": (
        "def g(x):\n    return {}[x.shape]\n\n\ndef f(x):\n    return g(x)\n",
        2,
        "Error",
    ),
    "does not parse": ("def f(x:\n", 1, "SyntaxError"),
}


@pytest.mark.parametrize("name", FAILING)
def test_user_code_that_fails_is_one_sentence_with_its_line(isomorph, tmp_path, name):
    text, line, words = FAILING[name]
    source = tmp_path / "user.py"
    source.write_text(text, "utf-8")
    done = isomorph("check", f"{source}:f", "--input", "x: float32[n]")
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert f"{source}:{line}" in done.err
    assert words in done.err


def test_what_user_code_prints_does_not_disturb_the_document(isomorph, tmp_path):
    source = tmp_path / "user.py"
    source.write_text(
        "print('importing')\n\n\ndef f(x):\n    print('hello')\n    return x + 1\n", "utf-8"
    )
    done = isomorph("check", f"{source}:f", "--input", "x: float32[n]", "--json")
    assert done.code == 0
    assert done.document["ok"]
    assert "hello" in done.err


def test_a_factory_is_called(isomorph, mlp, tmp_path):
    source = tmp_path / "user.py"
    source.write_text(
        f"import isomorph as iso\n\n\ndef make():\n    return iso.load({str(mlp)!r})\n",
        "utf-8",
    )
    assert isomorph("check", f"{source}:make").code == 0


EXITS = "import sys\n\n\ndef f(x):\n    sys.exit(0)\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (EXITS, "fails at"),
        ("raise SystemExit(0)\n", "fails at"),
        ("import sys\nsys.exit('bye')\n", "bye"),
    ],
    ids=["when it is called", "when it is imported", "with words"],
)
@pytest.mark.parametrize("command", ["check", "export", "verify"])
def test_a_model_that_ends_the_program_is_no_success(isomorph, mlp, tmp_path, command, text, words):
    source = tmp_path / "user.py"
    source.write_text(text, "utf-8")
    rest = {"check": [], "export": ["-o", tmp_path / "m.onnx"], "verify": [mlp]}[command]
    found = isomorph(command, f"{source}:f", *rest, "--input", "x: float32[n, 4]")
    assert found.code == 2, found
    assert words in found.err
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize(
    "body", ["rng.normal(size=(4,))", "next(count)"], ids=["random", "counting"]
)
def test_what_changes_from_call_to_call_is_not_exported(isomorph, tmp_path, body):
    source = tmp_path / "user.py"
    source.write_text(
        "import itertools\nimport numpy as np\n\nrng = np.random.default_rng()\n"
        f"count = itertools.count()\n\n\ndef f(x):\n    return x + {body}\n",
        "utf-8",
    )
    out = tmp_path / "m.onnx"
    found = isomorph("export", f"{source}:f", "-o", out, "--input", "x: float32[n, 4]")
    assert found.code == 3, found
    assert "gives different results on the same input" in found.err + found.out
    assert not out.exists()


def test_names_of_a_function_s_results_bind_nobody(isomorph, tmp_path):
    from tests.parity.models import model, node, save

    source = tmp_path / "user.py"
    source.write_text("def f(x):\n    return -x\n", "utf-8")
    made = model([node("Neg", "x", "z")], ["x: float32[n, 4]"], ["z: float32[n, 4]"])
    path = save(made, tmp_path / "m.onnx")
    assert isomorph("verify", f"{source}:f", path, "--input", "x: float32[n, 4]").code == 0


@pytest.mark.parametrize("command", ["check", "export", "verify"])
def test_what_a_model_prints_is_not_in_the_document(isomorph, tmp_path, command):
    from tests.parity.models import model, node, save

    source = tmp_path / "user.py"
    source.write_text(
        "print('imported')\n\n\ndef f(x):\n    print('hello')\n    return -x\n", "utf-8"
    )
    made = model([node("Neg", "x", "z")], ["x: float32[n, 4]"], ["z: float32[n, 4]"])
    path = save(made, tmp_path / "m.onnx")
    rest = {"check": [], "export": ["-o", tmp_path / "new.onnx"], "verify": [path]}[command]
    found = isomorph(command, f"{source}:f", *rest, "--input", "x: float32[n, 4]", "--json")
    assert found.code == 0, found
    assert found.document
    assert "hello" in found.err


DECIDES = """
import numpy as np

def net(x):
    y = np.linalg.svd(x)[1]
    if x.sum() > 0:
        y = y + 1
    return y, np.linalg.inv(x)

def wrong(x):
    return x + np.ones(5)
"""


@pytest.mark.parametrize("command", ["check", "export"])
def test_what_is_not_captured_are_obstacles_all_of_them(isomorph, tmp_path, command):
    path = tmp_path / "decides.py"
    path.write_text(DECIDES, encoding="utf-8")
    rest = ["-o", tmp_path / "m.onnx"] if command == "export" else []
    done = isomorph(command, f"{path}:net", "--input", "x: float32[4, 4]", *rest, "--json")
    assert done.code == 1
    findings = done.document["findings"]
    assert [f["where"][0].rpartition(":")[2] for f in findings] == ["5", "6", "8"]
    assert {f["severity"] for f in findings} == {"obstacle"}
    assert [f["op"] for f in findings] == ["linalg.svd", "", "linalg.inv"]
    assert "there may be more" in done.document["notes"][0]
    assert not (tmp_path / "m.onnx").exists()


def test_a_function_that_is_wrong_in_itself_has_no_obstacles(isomorph, tmp_path):
    path = tmp_path / "decides.py"
    path.write_text(DECIDES, encoding="utf-8")
    done = isomorph("check", f"{path}:wrong", "--input", "x: float32[4, 4]")
    assert done.code == 2
    assert "decides.py:11" in done.err
