"""What SOURCE on the command line stands for."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import warnings
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.cli.console import aside
from isomorph.ir.errors import IsomorphError
from isomorph.ir.graph import Graph
from isomorph.ir.source import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class SourceError(IsomorphError):
    """A SOURCE that names nothing usable."""


def resolve(text: str) -> Any:
    """The path of a model file, or the Python object that `file.py:name` names.

    Raises:
        SourceError: when there is no such file, module or name, or its code fails.
    """
    place, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and place and not text.endswith((".onnx", ".pt2")):
        return _python_object(place, name)
    path = Path(text)
    if path.suffix == ".py" or (not path.suffix and not path.exists()):
        raise SourceError(
            f"{text!r} names no object: write {text}:NAME, NAME being a function in it"
        )
    return path


def graph_of(
    text: str,
    inputs: Sequence[str],
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Graph:
    """The graph of a SOURCE, captured or loaded."""
    import isomorph as iso
    from isomorph.frontends.kind import is_torch
    from isomorph.frontends.ports import rename

    found = resolve(text)
    if isinstance(found, Path) and not is_torch(found):
        graph = iso.load(found)
        _apply_specs(graph, inputs)
        rename(graph, input_names, output_names)
        return graph
    found = _made(found, text)
    if isinstance(found, Graph):
        return found
    if not inputs and not _knows_inputs(found):
        raise SourceError(
            f"{text}: its inputs are not known; add --input 'name: float32[batch, …]' for each"
        )
    return _guarded(
        lambda: iso.trace(found, inputs, input_names=input_names, output_names=output_names),
        text,
    )


def _made(found: Any, text: str) -> Any:
    """What a factory or a class of modules makes; anything else as it is."""
    from isomorph.frontends.kind import is_torch, is_torch_class

    if is_torch_class(found) and (needed := _parameters(found, needed=True)):
        raise SourceError(
            f"{text} is a class that takes {', '.join(needed)}: name a module that is made "
            "already, or a function without parameters that makes one"
        )
    if not is_torch_class(found) and not inspect.isroutine(found) and is_torch(found):
        return found
    if is_torch_class(found) or (callable(found) and not _parameters(found)):
        return _guarded(found, f"{text} was called as a factory, and")
    return found


def _knows_inputs(found: Any) -> bool:
    """Whether a source tells its inputs itself: exported programs do."""
    return isinstance(found, Path) or type(found).__name__ == "ExportedProgram"


def _apply_specs(graph: Graph, inputs: Sequence[str]) -> None:
    """Let `--input` narrow what a file says of its inputs: dims, constraints, value domains."""
    from isomorph.frontends.spec import parse_specs
    from isomorph.ir.infer import merge

    by_name = {v.name: v for v in graph.inputs}
    for spec in parse_specs(inputs):
        value = by_name.get(spec.name)
        if value is None:
            raise SourceError(
                f"--input {spec.name!r}: the model's inputs are {', '.join(sorted(by_name))}"
            )
        try:
            value.type = merge(value.type, spec.type)
        except ValueError as error:
            raise SourceError(f"--input {spec.name!r}: {error}") from None
        graph.constraints.extend(spec.constraints)
        if spec.domain is not None:
            graph.domains[spec.name] = spec.domain


def _parameters(function: Any, *, needed: bool = False) -> list[str]:
    """Names of the parameters of a callable; with `needed`, of those that a call has to give."""
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["?"]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        p.name
        for p in every
        if not needed or (p.default is inspect.Parameter.empty and p.kind not in variadic)
    ]


def _python_object(place: str, name: str) -> Any:
    module = _module_of_file(Path(place)) if place.endswith(".py") else _module(place)
    try:
        return getattr(module, name)
    except AttributeError:
        names: list[str] = [n for n in dir(module) if not n.startswith("_")]
        public = ", ".join(names) or "nothing"
        raise SourceError(f"{place} has no {name!r}; it defines {public}") from None


def _module_of_file(path: Path) -> Any:
    if not path.is_file():
        raise SourceError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SourceError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    loader = spec.loader
    _guarded(lambda: loader.exec_module(module), str(path))
    return module


def _module(name: str) -> Any:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return _guarded(lambda: importlib.import_module(name), name)


def _guarded(run: Callable[[], Any], what: str) -> Any:
    """Run user code; what it prints goes aside, what goes wrong is told with its line.

    Where it stands, what numpy and Python warn of: none of it changes for what comes after.
    """
    try:
        with aside(), chdir(Path.cwd()), np.errstate(), warnings.catch_warnings():
            return run()
    except IsomorphError:
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())[:200]
        raise SourceError(
            f"{what} fails at {place_of(error)}: {type(error).__name__}: {text}"
        ) from error
