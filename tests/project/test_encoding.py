"""Text is decoded as UTF-8 wherever it comes from, whatever the locale of the machine says."""

from __future__ import annotations

import ast

import pytest

from tests.project.tree import ROOT, files

SOURCES = [file for file in files() if file.suffix == ".py"]
STARTS = {"run", "Popen", "check_output", "check_call"}
# Where the encoding stands among the positional arguments.
POSITIONS = {"read_text": 0, "write_text": 1}


def undecided(tree: ast.AST) -> list[int]:
    """The lines that leave the encoding to the locale: text files, and what a process says."""
    return [call.lineno for call in ast.walk(tree) if isinstance(call, ast.Call) and _leaves(call)]


def _leaves(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in given:
        return False
    if name in STARTS:
        return "text" in given or "universal_newlines" in given
    if name in POSITIONS:
        return len(call.args) <= POSITIONS[name]
    if name == "open":
        method = isinstance(call.func, ast.Attribute)
        if method and not call.args and not given:
            return True
        mode = given.get("mode") or next(iter(call.args[0 if method else 1 :]), None)
        if mode is None:
            return not method
        return (
            isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "b" not in mode.value
        )
    return False


def test_no_text_is_read_in_the_encoding_of_the_locale():
    found = {str(file): undecided(ast.parse((ROOT / file).read_bytes())) for file in SOURCES}
    assert not {file: lines for file, lines in found.items() if lines}, "say encoding='utf-8'"


@pytest.mark.parametrize(
    "call",
    [
        "p.read_text()",
        "p.write_text('x')",
        "open(p)",
        "open(p, 'w')",
        "p.open('w')",
        "p.open()",
        "subprocess.run(c, text=True)",
        "Popen(c, universal_newlines=True)",
    ],
)
def test_each_spelling_is_seen(call: str):
    assert undecided(ast.parse(call)) == [1]


@pytest.mark.parametrize(
    "call",
    [
        "p.read_text('utf-8')",
        "p.write_text('x', 'utf-8')",
        "p.write_text('x', encoding='utf-8')",
        "open(p, 'rb')",
        "p.open('rb')",
        "p.open('w', encoding='utf-8')",
        "subprocess.run(c, encoding='utf-8')",
        "subprocess.run(c, capture_output=True)",
    ],
)
def test_what_is_decided_is_left_alone(call: str):
    assert undecided(ast.parse(call)) == []
