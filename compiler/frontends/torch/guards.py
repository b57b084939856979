"""What a capture assumed of its sizes, as constraints that stay with the graph."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from isomorph.frontends.torch.errors import TraceError
from isomorph.frontends.torch.source import is_users, of_caller
from isomorph.frontends.torch.symbols import Symbols, UntranslatableError
from isomorph.ir.dims import Constraint
from isomorph.ir.source import Source

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

_HOOK = "_log_guard"
"""The method of torch's ShapeEnv that is told of every guard as it is made."""


class Guard(NamedTuple):
    """A condition that a capture took to be true, and the user's line that made it."""

    expr: Any
    source: Source
    internal: bool
    """Whether torch's own code asked, not the user's."""


class Log:
    """Guards in the order in which they were made."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}

    def note(self, expr: Any) -> None:
        """Remember where a condition was asked for, the first time."""
        self.sources.setdefault(str(expr), of_caller())


@contextmanager
def watched() -> Generator[Log, None, None]:
    """Note the user's line of every guard made meanwhile; without the hook, none are known."""
    log = Log()
    original = getattr(ShapeEnv, _HOOK, None)
    if original is None:
        yield log
        return

    def hook(self: Any, prefix: str, expr: Any, *args: Any, **kwargs: Any) -> Any:
        log.note(expr)
        return original(self, prefix, expr, *args, **kwargs)

    setattr(ShapeEnv, _HOOK, hook)
    try:
        yield log
    finally:
        setattr(ShapeEnv, _HOOK, original)


def guards_of(program: Any, log: Log) -> list[Guard]:
    """Every guard of a captured program: comparisons, run-time assertions, ranges aside."""
    env = shape_env(program)
    if env is None:
        return []
    found: dict[str, Guard] = {}
    for guard in env.guards:
        _collect(found, guard.expr, _place(guard, log), internal=_is_internal(guard))
    for asserts in env.deferred_runtime_asserts.values():
        for item in asserts:
            _collect(found, item.expr, log.sources.get(str(item.expr), Source()), internal=True)
    return list(found.values())


def shape_env(program: Any) -> Any:
    """The ShapeEnv that a program was captured in; `None` when nothing in it is symbolic."""
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            return value.node.shape_env
        mode = getattr(value, "fake_mode", None)
        if mode is not None and mode.shape_env is not None:
            return mode.shape_env
    return None


def constraints(
    guards: Sequence[Guard], symbols: Symbols, inputs: frozenset[str], sizes: Mapping[str, int]
) -> tuple[list[Constraint], list[str]]:
    """Guards as constraints on the inputs' dims, and as notes where they depend on data.

    Raises:
        TraceError: for a guard that no constraint says; it is never dropped.
    """
    kept: list[Constraint] = []
    notes: list[str] = []
    for guard in guards:
        where = f" at {guard.source}" if str(guard.source) else ""
        reason = f"captured{where}" if not guard.internal else f"assumed by torch{where}"
        try:
            found = symbols.relations(guard.expr, reason, sizes)
        except UntranslatableError as error:
            raise TraceError(
                f"the module relies on `{guard.expr}`, which cannot be kept as a constraint "
                f"({error})",
                "a comparison of sizes with ==, >= or %, or torch.where on the data",
                source=guard.source,
            ) from None
        for constraint in found:
            if constraint.symbols() <= inputs:
                kept.append(constraint)
            elif not _obvious(constraint):
                notes.append(f"holds only while {constraint} ({reason})")
    return list(dict.fromkeys(kept)), notes


def ranges(program: Any, symbols: Symbols, inputs: frozenset[str]) -> list[Constraint]:
    """Bounds of a program's symbols; a lower bound of 2 or less is capture's own habit."""
    kept: list[Constraint] = []
    for name, bounds in program.range_constraints.items():
        dim = symbols.dim_or_none(name)
        if dim is None or isinstance(dim, int) or not dim.symbols() <= inputs:
            continue
        low, high = bounds.lower, bounds.upper
        if isinstance(low, sympy.Integer) and int(low) > 2:
            kept.append(Constraint(dim, ">=", int(low), "a range of the captured program"))
        if isinstance(high, sympy.Integer) and int(high) < (1 << 62):
            kept.append(Constraint(dim, "<=", int(high), "a range of the captured program"))
    return kept


def carried(program: Any, known: Sequence[Guard]) -> list[Guard]:
    """Guards that a program carries as text, where its symbols' own record has been lost."""
    texts = [t for t in getattr(program, "_guards_code", None) or () if t not in {"True", ""}]
    if known or not texts:
        return []
    sizes: dict[tuple[str, int], Any] = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                plain = size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)
                sizes[node.name, axis] = plain
    return [Guard(expr, Source(), internal=False) for expr in parsed(texts, sizes)]


def parsed(texts: Sequence[str], symbols_of: dict[tuple[str, int], Any]) -> list[Any]:
    """Guards that a program carries as Python text, such as `L['x'].size()[0] > 3`."""
    import ast

    found: list[Any] = []
    for text in texts:
        try:
            found.append(_Sizes(symbols_of).read(ast.parse(text, mode="eval").body))
        except (SyntaxError, KeyError, ValueError) as error:
            raise TraceError(
                f"the program relies on `{text}`, which cannot be read ({error})",
                "torch.export.export of the module itself: isomorph.trace(module, inputs=[…])",
                source=Source(),
            ) from None
    return found


def _collect(found: dict[str, Guard], expr: Any, source: Source, *, internal: bool) -> None:
    if expr not in (True, sympy.true):
        found.setdefault(str(expr), Guard(expr, source, internal))


def _place(guard: Any, log: Log) -> Source:
    known = log.sources.get(str(guard.expr))
    if known is not None and known.line:
        return known
    frame = guard.sloc.framework_loc
    if frame is not None and not isinstance(frame, str) and is_users(frame.filename):
        return Source(frame.filename, frame.lineno or 0, frame.name)
    return Source()


def _is_internal(guard: Any) -> bool:
    frame = guard.sloc.framework_loc
    return frame is None or isinstance(frame, str) or not is_users(frame.filename)


def _obvious(constraint: Constraint) -> bool:
    return constraint.relation in {">=", ">"} and constraint.right in {0, -1}


class _Sizes:
    """Reads torch's guard texts; every other construct is a ValueError."""

    def __init__(self, symbols_of: dict[tuple[str, int], Any]) -> None:
        self.symbols_of = symbols_of

    def read(self, node: Any) -> Any:
        import ast
        import operator as py

        from torch.utils._sympy import functions as ts

        binary: dict[type, Any] = {
            ast.Add: py.add,
            ast.Sub: py.sub,
            ast.Mult: py.mul,
            ast.FloorDiv: ts.FloorDiv,
            ast.Mod: ts.Mod,
        }
        relation: dict[type, Any] = {
            ast.Eq: sympy.Eq,
            ast.NotEq: sympy.Ne,
            ast.Gt: sympy.Gt,
            ast.GtE: sympy.Ge,
            ast.Lt: sympy.Lt,
            ast.LtE: sympy.Le,
        }
        match node:
            case ast.Constant(value=int(number)):
                return sympy.Integer(number)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in binary:
                return binary[type(op)](self.read(left), self.read(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return sympy.Not(self.read(operand))
            case ast.BoolOp(op=ast.And(), values=values):
                return sympy.And(*(self.read(v) for v in values))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [self.read(left), *(self.read(c) for c in comparators)]
                parts = [
                    relation[type(op)](a, b)
                    for op, a, b in zip(ops, sides, sides[1:], strict=False)
                ]
                return parts[0] if len(parts) == 1 else sympy.And(*parts)
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=args):
                kind = ts.Max if name == "max" else ts.Min
                return kind(*(self.read(a) for a in args))
            case ast.Call(func=ast.Name(id="IntInfinity")):
                return sympy.oo
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Subscript(
                            value=ast.Name(id="L"), slice=ast.Constant(value=str(name))
                        ),
                        attr="size",
                    )
                ),
                slice=ast.Constant(value=int(axis)),
            ):
                return self.symbols_of[name, axis]
            case _:
                raise ValueError(f"{type(node).__name__} is no comparison of sizes")
