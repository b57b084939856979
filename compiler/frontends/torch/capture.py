"""From a module, a function, an exported program or a .pt2 file to a program of ATen operators."""

from __future__ import annotations

import inspect
import io
import warnings
from contextlib import (
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.experimental import _config as symbolic

from isomorph.frontends import signature
from isomorph.frontends.torch import failures, sizes
from isomorph.frontends.torch.guards import Log, watched
from isomorph.frontends.torch.quiet import quiet
from isomorph.frontends.torch.source import whole_stacks
from isomorph.frontends.torch.symbols import Symbols, torch_dtype
from isomorph.frontends.torch.whole import kept
from isomorph.ir.dims import Expr
from isomorph.ir.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

    from isomorph.frontends.signature import Parameter
    from isomorph.frontends.spec import InputSpec


@dataclass(frozen=True)
class Mode:
    """One way to capture.

    Attributes:
        name: for notes.
        strict: whether torch reads the Python code instead of running it.
        oblivious: whether sizes may turn out 0 or 1; otherwise torch takes it that they do not.
    """

    name: str
    strict: bool
    oblivious: bool


_MODES = (
    Mode("plainly", strict=False, oblivious=True),
    Mode("as if no size were 0 or 1", strict=False, oblivious=False),
    Mode("in torch's strict mode", strict=True, oblivious=True),
)


@dataclass
class Captured:
    """A program, and what is known of how it came about.

    Attributes:
        program: as `torch.export` made it, operators undecomposed.
        names: of the program's flat inputs.
        specs: one for each of them, `None` where the user gave none.
        module: what it was captured from; `None` for a program that came as one.
        parameters: where each input goes when the module is called.
        sizes: of the symbols, at capture.
        notes: what a reader of the graph should know.
        log: the user's lines behind the guards.
        symbols: what torch's symbols are called.
    """

    program: Any
    names: list[str]
    specs: list[InputSpec | None]
    module: Any = None
    parameters: list[Parameter] = field(default_factory=list[Any])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[Any])
    log: Log = field(default_factory=Log)
    symbols: Symbols = field(default_factory=Symbols)


class Function(torch.nn.Module):
    """A plain function as the module that `torch.export` asks for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function if _has_signature(function) else _plain(function)


def _has_signature(function: Any) -> bool:
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return True


def _plain(function: Any) -> Any:
    """A Python function in place of a built-in one, which does not tell its parameters."""

    def forward(*args: Any) -> Any:
        return function(*args)

    return forward


def capture(
    source: Any, specs: Sequence[InputSpec], answers: AbstractContextManager[Any] | None = None
) -> Captured:
    """The program of a torch object.

    Args:
        source: an nn.Module, an ExportedProgram, a function on tensors, or the path of a .pt2 file.
        specs: one per input; optional for programs, whose inputs are known.
        answers: entered while a module runs, where obstacles are listed and no graph is wanted.

    Raises:
        SpecError: when specifications and parameters do not match.
        TraceError: when torch cannot capture it; names the user's line and what to write instead.
        InvalidModelError: for a .pt2 file that cannot be read, or not without running its code.
    """
    if isinstance(source, str | Path):
        from isomorph.frontends.torch.pt2 import load_program

        source = load_program(Path(source))
    if isinstance(source, torch.export.ExportedProgram):
        return _of_program(source, specs)
    module = source if isinstance(source, torch.nn.Module) else Function(source)
    if not specs:
        raise SpecError(
            f"{name_of(source)}: its inputs are not known; give one specification for each, such "
            "as 'x: float32[batch, 3, 224, 224]'"
        )
    with evaluating(module) as training, answers or nullcontext():
        found = _of_module(source, module, specs)
    if training:
        found.notes.append(
            f"{training} was in training mode: it was captured as it evaluates, as after .eval()"
        )
    return found


def name_of(source: Any) -> str:
    """What to call a source in messages."""
    if isinstance(source, torch.nn.Module):
        return type(source).__name__
    return getattr(source, "__name__", type(source).__name__)


def _of_program(program: Any, specs: Sequence[InputSpec]) -> Captured:
    names = list(program.graph_signature.user_inputs)
    if not specs:
        return Captured(program, names, [None] * len(names))
    if len(specs) != len(names):
        raise SpecError(
            f"the program has {len(names)} inputs ({', '.join(names)}), "
            f"{len(specs)} specifications were given"
        )
    by_name = {s.name: s for s in specs}
    ordered = [by_name[n] for n in names] if set(by_name) == set(names) else list(specs)
    return Captured(program, [s.name or n for n, s in zip(names, ordered, strict=True)], [*ordered])


def _of_module(source: Any, module: Any, specs: Sequence[InputSpec]) -> Captured:
    called = name_of(source)
    pairs = signature.matched(module.forward, specs, called)
    parameters = [p for p, _ in pairs]
    ordered = [s for _, s in pairs]
    shapes = _dynamic(module, parameters, ordered)
    first: BaseException | None = None
    with watched() as log:
        for mode in _MODES:
            for chosen in sizes.attempts(ordered):
                args, kwargs = arguments(parameters, ordered, chosen)
                try:
                    program = _export(module, args, kwargs, shapes, mode)
                except Exception as error:  # noqa: BLE001 - anything may come out of the user's code; it is told below
                    first = first or error
                    if failures.may_depend_on_sizes(error):
                        continue
                    break
                found = _captured(program, parameters, ordered, module, chosen, log)
                if first is not None and mode is not _MODES[0]:
                    why = str(first).strip().split("\n")[0]
                    found.notes.append(f"captured {mode.name}, the usual way having failed: {why}")
                return found
    raise failures.translated(first, called, parameters, ordered, log) from first


def _captured(
    program: Any,
    parameters: list[Parameter],
    specs: list[InputSpec],
    module: Any,
    chosen: dict[str, int],
    log: Log,
) -> Captured:
    names = [s.name or p.name for p, s in zip(parameters, specs, strict=True)]
    return Captured(program, names, [*specs], module, parameters, chosen, log=log)


def arguments(
    parameters: Sequence[Parameter],
    specs: Sequence[InputSpec],
    chosen: dict[str, int],
    make: Callable[[InputSpec, tuple[int, ...]], Any] | None = None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Tensors to call a module with, at these sizes; zeros unless `make` says otherwise."""
    made = make or _zeros
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter, spec in zip(parameters, specs, strict=True):
        tensor = made(spec, sizes.evaluated(spec.type.shape or (), chosen))
        if parameter.keyword:
            kwargs[parameter.name] = tensor
        else:
            args.append(tensor)
    return tuple(args), kwargs


def called(module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a module returns; its own buffers stay as they are."""
    buffers = {name: b.clone() for name, b in module.named_buffers()}
    return torch.func.functional_call(module, buffers, tuple(args), kwargs)


def _zeros(spec: InputSpec, shape: tuple[int, ...]) -> Any:
    try:
        return torch.zeros(shape, dtype=torch_dtype(spec.type.dtype))
    except TypeError as error:
        raise SpecError(f"{spec.name}: {spec.type}: {error}") from None


def _dynamic(
    module: Any, parameters: Sequence[Parameter], specs: Sequence[InputSpec]
) -> dict[str, Any]:
    """Which axes may vary, in the form that `torch.export` takes."""
    ranges = sizes.declared(specs)
    per_input = [
        {i: _hint(d, ranges) for i, d in enumerate(s.type.shape or ()) if isinstance(d, Expr)}
        for s in specs
    ]
    rest = next(
        (
            p.name
            for p in inspect.signature(module.forward).parameters.values()
            if p.kind is inspect.Parameter.VAR_POSITIONAL
        ),
        None,
    )
    named = set(inspect.signature(module.forward).parameters)
    shapes: dict[str, Any] = {}
    extra: list[Any] = []
    for parameter, axes in zip(parameters, per_input, strict=True):
        if parameter.name in named:
            shapes[parameter.name] = axes
        else:
            extra.append(axes)
    if extra and rest is not None:
        shapes[rest] = tuple(extra)
    return shapes


def _hint(dim: Expr, ranges: dict[str, tuple[float, float]]) -> Any:
    dynamic = torch.export.Dim.DYNAMIC
    low, high = ranges.get(str(dim), (0, float("inf")))
    bounds: dict[str, int] = {}
    if low >= 2:
        bounds["min"] = int(low)
    if high < float("inf"):
        bounds["max"] = int(high)
    return dynamic(**bounds) if bounds else dynamic


def _export(module: Any, args: Any, kwargs: Any, shapes: dict[str, Any], mode: Mode) -> Any:
    said = io.StringIO()  # torch prints what it then raises too
    with (
        capturing(),
        kept(),
        whole_stacks(),
        symbolic.patch(backed_size_oblivious=mode.oblivious),
        redirect_stdout(said),
        redirect_stderr(said),
        quiet("torch"),
    ):
        return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=mode.strict)


@contextmanager
def capturing() -> Generator[None, None, None]:
    """No gradients, no fused fast paths, no warnings to the terminal."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(torch.no_grad())
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        yield


@contextmanager
def evaluating(module: Any) -> Generator[str, None, None]:
    """The module in evaluation mode; gives the name of what was in training mode, if anything."""
    training = [(path, m) for path, m in module.named_modules() if m.training]
    plain = isinstance(module, Function)
    for _, part in training:
        part.training = False
    try:
        yield "" if plain or not training else training[0][0] or type(module).__name__
    finally:
        for _, part in training:
            part.training = True
