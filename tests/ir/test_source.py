"""Where an operator came from: the line of the user's own frame."""

from __future__ import annotations

import functools
import inspect
import sys
from pathlib import Path

import pytest

from isomorph.ir import source
from isomorph.ir.source import Source, caller


def line() -> int:
    return inspect.currentframe().f_back.f_lineno


def test_the_line_that_calls():
    found, wanted = caller(), line()
    assert (found.file, found.line) == (__file__, wanted)
    assert str(found) == f"{__file__}:{wanted}"
    assert found.module == "test_the_line_that_calls"


def test_the_innermost_of_the_users_frames():
    def inner() -> tuple[Source, int]:
        return caller(), line()

    for found, wanted in (
        inner(),
        (lambda: (caller(), line()))(),  # noqa: PLC3002 - a frame of its own
        *[(caller(), line()) for _ in "a"],
    ):
        assert (found.file, found.line) == (__file__, wanted)


def test_a_statement_over_many_lines():
    found, wanted = (
        caller(),
        line() - 1,
    )
    assert found.line == wanted


def test_through_the_standard_library_and_isomorph():
    @functools.singledispatch
    def dispatched(_: object) -> Source:
        return caller()

    assert dispatched(1).line == inspect.getsourcelines(dispatched.__wrapped__)[1] + 2
    names = {"caller": caller}
    code = compile("def ask(): return caller()", library_file(), "exec")
    exec(code, names)  # noqa: S102 - a frame of the standard library
    found, wanted = names["ask"](), line()
    assert (found.file, found.line) == (__file__, wanted)


def library_file() -> str:
    return str(Path(functools.__file__).with_name("made_up.py"))


ROOT = Path(source.__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("file", "foreign"),
    [
        (ROOT / "ir" / "graph.py", True),
        (Path(sys.modules["isomorph"].__file__).with_name("api.py"), True),
        (ROOT / "passes" / "canonical" / "clean.py", True),
        (Path(functools.__file__), True),
        (Path(pytest.__file__), True),
        (Path("/x/lib/python3/dist-packages/y.py"), True),
        (Path("<frozen importlib._bootstrap>"), True),
        (ROOT / "irregular" / "model.py", False),
        (ROOT / "compiler.py", False),
        (ROOT / "examples" / "digits" / "model.py", False),
        (Path("<stdin>"), False),
        (Path("<ipython-input-1>"), False),
    ],
)
def test_whose_code_it_is(file: Path, *, foreign: bool):
    assert source.is_foreign(str(file)) is foreign


def test_nothing_to_show():
    assert str(Source()) == ""
    assert str(Source("node 7")) == "node 7"
