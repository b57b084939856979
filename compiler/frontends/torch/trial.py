"""What capture assumed of small sizes, put to the test on the module itself.

torch assumes of a size that it is neither 0 nor 1 wherever that decides only how memory is laid
out. Each such guard, and every size at 1 and at 0, is tried: module and captured program run on the
same tensors. A guard that makes no difference is no constraint; a difference becomes one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from isomorph.frontends.torch.capture import arguments, called, capturing, evaluating
from isomorph.frontends.torch.sizes import declared
from isomorph.frontends.torch.source import of_node
from isomorph.ir.dims import Constraint, symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.spec import InputSpec
    from isomorph.frontends.torch.capture import Captured
    from isomorph.frontends.torch.symbols import Symbols

MOST_BYTES = 1 << 31
"""Weights above this size are not run at capture; parity still looks at sizes 0 and 1."""
HALF = 2.0**-11
"""Half of float32's digits: the same kernels on the same numbers differ by far less."""
_SMALL = (1, 0, 2, 3)


def proven(
    captured: Captured, constraints: Sequence[Constraint], names: frozenset[str]
) -> tuple[list[Constraint], list[str]]:
    """The constraints that hold up, those that come to light, and notes on what was dropped."""
    if not names or _bytes(captured.module) > MOST_BYTES:
        return list(constraints), []
    kept = list(constraints)
    notes: list[str] = []
    for constraint in constraints:
        if not constraint.reason.startswith("assumed by torch") or not _is_small(constraint):
            continue
        others = [c for c in kept if c is not constraint]
        sizes = _violating(captured, constraint, others)
        if sizes is not None and not difference(captured, sizes):
            kept = others
            notes.append(f"torch assumed {constraint}; at {_shown(sizes)} it makes no difference")
    for name in sorted(names):
        for size in (1, 0):
            sizes = {**captured.sizes, name: size}
            if not _allowed(captured, sizes, kept):
                continue
            found = difference(captured, sizes)
            if found:
                reason = f"tried at {name} = {size}: {found}"
                kept.append(Constraint(symbol(name), ">=", size + 1, reason))
                break
    return kept, notes


def difference(captured: Captured, sizes: dict[str, int]) -> str:
    """How the captured program differs from the module at these sizes; empty when it does not.

    Where the module itself fails there is nothing to compare: the sizes are none of its own.
    """
    generator = torch.Generator().manual_seed(0)

    def drawn(spec: InputSpec, shape: tuple[int, ...]) -> Any:
        return _random(spec, shape, generator)

    specs = [s for s in captured.specs if s is not None]
    with evaluating(captured.module), capturing():
        args, kwargs = arguments(captured.parameters, specs, sizes, drawn)
        copies = [a.clone() for a in (*args, *kwargs.values())]
        try:
            wanted = _leaves(called(captured.module, args, kwargs))
        except Exception:  # noqa: BLE001 - the user's module may refuse a size in any way
            return ""
        try:
            got = _leaves(_run(captured, copies, sizes))
        except _OtherShapeError as error:
            return str(error).split("\n")[0]
        except Exception as error:  # noqa: BLE001 - a captured program may fail in any way too
            return f"the captured program fails: {str(error).splitlines()[0][:120]}"
    if len(wanted) != len(got):
        return f"the module gives {len(wanted)} tensors, the captured program {len(got)}"
    for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            shown = [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in (a, b)]
            return f"output {index} is {shown[0]} of the module, {shown[1]} of the captured program"
        if not _close(a, b):
            return f"output {index} has other values in the module than in the captured program"
    return ""


class _OtherShapeError(Exception):
    """An operator whose result has another shape than the graph says."""


class _Checked(torch.fx.Interpreter):
    """Runs the captured operators; each result must have the shape that it has in the graph."""

    def __init__(self, module: Any, symbols: Symbols, sizes: dict[str, int]) -> None:
        super().__init__(module)
        self.symbols = symbols
        self.sizes = sizes

    def run_node(self, n: Any) -> Any:
        found = super().run_node(n)
        stated = n.meta.get("val")
        if isinstance(found, torch.Tensor) and isinstance(stated, torch.Tensor):
            shape = self.symbols.type(stated).bind(self.sizes).static_shape
            if shape is not None and shape != tuple(found.shape):
                where = of_node(n)
                place = f" at {where}" if str(where) else ""
                raise _OtherShapeError(
                    f"{n.target}{place} gives {list(found.shape)}, the graph has {list(shape)}"
                )
        return found


def _run(captured: Captured, inputs: list[Any], sizes: dict[str, int]) -> Any:
    """The captured operators on real tensors, without the checks of the program's own."""
    program = captured.program
    given = iter(inputs)
    flat: list[Any] = []
    for spec in program.graph_signature.input_specs:
        match spec.kind.name:
            case "USER_INPUT":
                flat.append(next(given))
            case "CONSTANT_TENSOR":
                flat.append(program.constants[spec.target])
            case _:
                held = program.state_dict.get(spec.target)
                tensor = program.constants[spec.target] if held is None else held
                flat.append(tensor.clone() if spec.kind.name == "BUFFER" else tensor)
    results = _Checked(program.graph_module, captured.symbols, sizes).run(*flat)
    kinds = program.graph_signature.output_specs
    return [r for r, s in zip(results, kinds, strict=True) if s.kind.name == "USER_OUTPUT"]


def _leaves(found: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(found)  # noqa: SLF001 - torch's only tree library
    return [torch.as_tensor(v) for v in leaves if v is not None]


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not a.is_floating_point():
        return bool(torch.equal(a, b))
    a, b = a.double(), b.double()
    if not bool(torch.equal(torch.isfinite(a), torch.isfinite(b))):
        return False
    finite = torch.isfinite(a)
    scale = float(a[finite].abs().max()) if bool(finite.any()) else 0.0
    gap = float((a[finite] - b[finite]).abs().max()) if bool(finite.any()) else 0.0
    return gap <= HALF * scale


def _random(spec: InputSpec, shape: tuple[int, ...], generator: torch.Generator) -> Any:
    from isomorph.frontends.torch.symbols import torch_dtype

    dtype = torch_dtype(spec.type.dtype)
    low, high = spec.domain or (0.0, 1.0)
    if dtype.is_floating_point:
        low, high = max(low, -4.0), min(high, 4.0)
        numbers = torch.rand(shape, generator=generator, dtype=torch.float32)
        return (numbers * (high - low) + low).to(dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    least, most = int(max(low, -1 << 20)), int(min(high, 1 << 20))
    return torch.randint(least, most + 1, shape, generator=generator).to(dtype)


def _is_small(constraint: Constraint) -> bool:
    """Whether a guard only says that something is neither 0 nor 1 nor negative."""
    if constraint.relation in {"!=", ">", ">="}:
        return isinstance(constraint.right, int) and constraint.right <= _largest_factor(constraint)
    return False


def _largest_factor(constraint: Constraint) -> int:
    """`8*n != 8` says n != 1."""
    left = constraint.left
    return max((abs(c) for _, c in left.terms), default=2) if not isinstance(left, int) else 2


def _violating(
    captured: Captured, constraint: Constraint, others: Sequence[Constraint]
) -> dict[str, int] | None:
    for name in sorted(constraint.symbols()):
        for size in _SMALL:
            sizes = {**captured.sizes, name: size}
            if constraint.holds(sizes) is False and _allowed(captured, sizes, others):
                return sizes
    return None


def _allowed(captured: Captured, sizes: dict[str, int], kept: Sequence[Constraint]) -> bool:
    ranges = declared([s for s in captured.specs if s is not None])
    for name, size in sizes.items():
        low, high = ranges.get(name, (0, math.inf))
        if not low <= size <= high:
            return False
    return all(c.holds(sizes) is not False for c in kept)


def _bytes(module: Any) -> int:
    tensors = [*module.parameters(), *module.buffers()]
    return sum(t.numel() * t.element_size() for t in tensors)


def _shown(sizes: dict[str, int]) -> str:
    return ", ".join(f"{n} = {s}" for n, s in sizes.items())
