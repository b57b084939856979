"""Exported programs in .pt2 files, looked through before torch reads them.

`torch.export.load` unpickles with `weights_only=False`, passes texts of the file to
`sympy.sympify` (which evaluates them) and loads native code that the archive may hold. So a file is
refused unless every pickle in it is plain tensors by torch's own strict unpickler, every size
expression is arithmetic, every operator is one of torch's, and no native code is in it.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import warnings
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from isomorph.frontends.array.structure import is_dict, is_many
from isomorph.frontends.torch.quiet import quiet
from isomorph.ir.errors import InvalidModelError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

_MOST_JSON = 1 << 30
_CODE = re.compile(r"aotinductor|\.(?:so|dll|dylib|pyd|py)$")
_OBJECT = re.compile(r"custom_obj|opaque_obj")
_STRICT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
_LOOSE = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_SYMBOL = re.compile(r"(?:[suz]|zf|zuf)\d+")
_FUNCTIONS = frozenset({
    "Abs", "Add", "And", "CeilToInt", "CleanDiv", "Eq", "Equality", "Float", "FloatPow",
    "FloatTrueDiv", "FloorDiv", "FloorToInt", "GreaterThan", "Identity", "IntTrueDiv", "Integer",
    "LShift", "LessThan", "Max", "Min", "Mod", "ModularIndexing", "Mul", "Ne", "Not", "Or", "Pow",
    "PowByNatural", "PythonMod", "RShift", "Rational", "RoundDecimal", "RoundToInt",
    "StrictGreaterThan", "StrictLessThan", "Symbol", "ToFloat", "TruncToFloat", "TruncToInt",
    "Unequality", "Where",
})  # fmt: skip
_CONSTANTS = frozenset({"true", "false", "oo", "int_oo", "int_infinity"})
_SHAPES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.operator, ast.unaryop,
    ast.cmpop, ast.boolop, ast.expr_context, ast.keyword,
)  # fmt: skip
_TARGET = re.compile(
    r"torch\.ops\.[A-Za-z]\w*\.[A-Za-z_]\w*(?:\.\w+)?|_operator\.[a-z_]+|math\.[a-z]\w*|"
    r"torch\.sym_\w+|torch\._higher_order_ops\.[\w.]+|torch\._sym_sqrt"
)


def load_program(path: Path) -> Any:
    """The ExportedProgram of a file.

    Raises:
        InvalidModelError: when it is no such file, is broken, or would run code of its own.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            screened = _screened(path, archive)
    except OSError as error:
        raise InvalidModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise InvalidModelError(f"{path}: is not a whole .pt2 file ({error})") from None
    try:
        with warnings.catch_warnings(), quiet("torch"), _strict_unpickling():
            warnings.simplefilter("ignore")
            return torch.export.load(screened)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        raise InvalidModelError(
            f"{path}: torch {torch.__version__} cannot read it: {type(error).__name__}: {first}"
        ) from error


@contextmanager
def _strict_unpickling() -> Generator[None, None, None]:
    """Let `torch.load` unpickle tensors alone, even where torch itself asks it for more."""
    before = {name: os.environ.get(name) for name in (_STRICT, _LOOSE)}
    os.environ.pop(_LOOSE, None)
    os.environ[_STRICT] = "1"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _screened(path: Path, archive: zipfile.ZipFile) -> io.BytesIO:
    """An archive of exactly the members that were looked at: torch's reader may see no others.

    Names are compared in lower case, since torch's reader finds a member whatever its case.
    """
    names = [i.filename for i in archive.infolist() if not i.is_dir()]
    if len({n.lower() for n in names}) != len(names):
        raise InvalidModelError(f"{path}: holds two files of one name")
    unpickled: set[str] = set()
    for name in names:
        lower = name.lower()
        if _CODE.search(lower):
            _refuse(path, name, "native or Python code, which loading would run")
        if _OBJECT.search(lower):
            _refuse(path, name, "a pickled object that is no tensor")
        if lower.endswith(".json"):
            unpickled |= _screen_json(path, name, archive)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as other:
        for name in names:
            data = archive.read(name)
            lower = name.lower()
            base = lower.rsplit("/", 1)[-1]
            if "sample_inputs" in lower or base.endswith(".pt") or base in unpickled:
                _screen_pickle(path, name, data)
            other.writestr(zipfile.ZipInfo(name), data)
    made.seek(0)
    return made


def _screen_json(path: Path, name: str, archive: zipfile.ZipFile) -> set[str]:
    """The names of the members that a description wants to be unpickled."""
    if archive.getinfo(name).file_size > _MOST_JSON:
        _refuse(path, name, "a description of more than 1 GiB")
    try:
        document = json.loads(archive.read(name))
    except (ValueError, RecursionError):
        raise InvalidModelError(f"{path}: {name} is not JSON") from None
    unpickled: set[str] = set()
    for key, value in _pairs(document):
        if key == "expr_str" and not (isinstance(value, str) and _is_size(value)):
            _refuse(path, name, f"the size {str(value)[:80]!r}, which is no arithmetic")
        if key == "target" and isinstance(value, str) and _is_foreign(value):
            _refuse(path, name, f"the operator {value[:80]!r}, which is none of torch's")
        if key == "range_constraints" and is_dict(value):
            for symbol in value:
                if not _is_size(symbol):
                    _refuse(path, name, f"the symbol {symbol[:80]!r}, which is no arithmetic")
        if key == "path_name" and _OBJECT.search(str(value).lower()):
            _refuse(path, name, f"{str(value)[:80]!r}, a pickled object that is no tensor")
        if is_dict(value) and value.get("use_pickle"):
            unpickled.add(str(value.get("path_name", "")).lower().rsplit("/", 1)[-1])
    return unpickled


def _is_foreign(target: str) -> bool:
    """Whether loading would look a name up somewhere else than among torch's operators."""
    return target.startswith(("torch", "_operator", "math", "#")) and not _TARGET.fullmatch(target)


def _is_size(text: str) -> bool:
    """Whether a text is arithmetic on sizes: nothing that evaluating it could call or reach."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in _FUNCTIONS | _CONSTANTS or _SYMBOL.fullmatch(name):
                pass
            case ast.Constant(value=bool() | int() | float()):
                pass
            case ast.Constant(value=str(word)) if id(node) in names and _SYMBOL.fullmatch(word):
                pass
            case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
                names.update(map(id, args) if name == "Symbol" else ())
            case _ if isinstance(node, _SHAPES):
                pass
            case _:
                return False
    return True


def _screen_pickle(path: Path, name: str, data: bytes) -> None:
    """A member that torch would unpickle: plain tensors by its own strict unpickler, or refused."""
    if not data:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:  # noqa: BLE001 - whatever the strict unpickler objects to
        first = str(error).strip().split("\n")[0][:160]
        _refuse(path, name, f"a pickle that is more than tensors ({first})")


def _refuse(path: Path, name: str, what: str) -> None:
    raise InvalidModelError(
        f"{path}: {name} holds {what}; such files can run code when torch loads them. If you trust "
        "it, load it yourself (torch.export.load) and give isomorph the program"
    )


def _pairs(document: Any) -> Iterator[tuple[str, Any]]:
    stack = [document]
    while stack:
        current = stack.pop()
        if is_dict(current):
            for key, value in current.items():
                yield key, value
                stack.append(value)
        elif is_many(current):
            stack.extend(current)
