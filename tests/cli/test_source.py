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
