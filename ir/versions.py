"""Rewriting ops between versions: rows of the upgrade and downgrade tables, and what drives them.

A row maps a version to the step that reaches it (upgrades) or leaves it (downgrades): `SAME` when
the meaning did not change for what both versions allow, or a function that makes the change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir import schema
from isomorph.ir.errors import OPERAND_ERRORS, TypeInferenceError
from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType, schema_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.types import Type

Rewrite = Callable[["Op", Patch], None]
"""Puts other ops in an op's place with `patch.replace_op` / `patch.replace`; the driver applies.

Ops it makes have the version that the step reaches (`version=`), or any other: the driver goes on
from whatever version they have.
"""


class Same:
    """The step changes nothing but the version."""


SAME = Same()
Steps = Mapping[int, "Rewrite | Same"]


class InexpressibleError(Exception):
    """Raised by a step for an op that the other version cannot express; the text is the reason."""

    def __init__(self, reason: str, remedy: str = "", lowest: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.lowest = lowest


@dataclass(frozen=True, slots=True)
class Inexpressible:
    """An op that could not be moved to the version wanted."""

    op: Op
    reason: str
    remedy: str
    lowest: int | None
    """The lowest opset known to express it, for downgrades."""


def move(
    graph: Graph,
    next_step: Callable[[Op], tuple[int, Rewrite | Same] | None],
    settled: Callable[[Op, Graph], object] | None = None,
) -> tuple[bool, list[Inexpressible]]:
    """Apply steps to every op, here and in subgraphs, until none is left.

    Args:
        graph: changed in place.
        next_step: the version that the next step reaches, and the step; `None` when the op is
            where it should be. It may raise InexpressibleError.
        settled: called with each op that is where it should be, and its graph.

    Returns:
        Whether anything changed, and the ops that are stuck (left as they are).
    """
    changed = False
    stuck: list[Inexpressible] = []
    roots: dict[Op, tuple[str, int]] = {}
    stack = [graph]
    while stack:
        current = stack.pop()
        waiting = deque(current.ops())
        while waiting:
            op = waiting.popleft()
            if op not in current.nx:
                continue  # a step for another op took it out
            patch = Patch(current, op)
            try:
                found = next_step(op)
                if found is None:
                    if settled is not None:
                        settled(op, current)
                    stack.extend(g for _, g in op.subgraphs())
                    continue
                version, step = found
                if isinstance(step, Same):
                    op.version = version
                    waiting.appendleft(op)
                else:
                    _step(step, op, patch)
                    root = roots.pop(op, (op.type, op.version))
                    roots.update(dict.fromkeys(patch.made, root))
                    waiting.extendleft(reversed(patch.made))
                changed = True
            except InexpressibleError as error:
                patch.discard()
                stuck.append(_stuck(op, error, roots.get(op)))
                stack.extend(g for _, g in op.subgraphs())
    return changed, stuck


def _step(step: Rewrite, op: Op, patch: Patch) -> None:
    try:
        step(op, patch)
    except OPERAND_ERRORS as error:
        raise TypeInferenceError(
            f"{op.where}: {op} cannot be brought to another version, its operands or attributes "
            f"make no sense: {type(error).__name__}: {error}"
        ) from error
    patch.apply()


def _stuck(op: Op, error: InexpressibleError, root: tuple[str, int] | None) -> Inexpressible:
    """What is reported of an op; one that stands for another says so, and where that still is."""
    if root is None or root[0] == op.type or error.lowest is None:
        return Inexpressible(op, error.reason, error.remedy, error.lowest)
    name, version = root
    lowest = min(version, error.lowest)
    return Inexpressible(
        op,
        f"{name}-{version} is written as simpler operators there, and {error.reason}",
        f"export at opset {lowest} or newer",
        lowest,
    )


def fits(op: Op, version: int) -> str:
    """Why an op cannot simply be given another version of its schema; empty when it can.

    Checked: element types, number of operands and results, what the other requires, and
    attributes that it lacks (allowed at their default).
    """
    other = schema.schema(op.domain, op.type, version)
    if other is None:
        return f"{op.type} does not exist at version {version}"
    if len(op.inputs) > other.max_inputs and any(v for v in op.inputs[other.max_inputs :]):
        return f"{op.type}-{version} takes at most {other.max_inputs} inputs, not {len(op.inputs)}"
    if len(op.outputs) > other.max_outputs:
        return f"{op.type}-{version} has at most {other.max_outputs} outputs"
    for index, formal in enumerate(other.inputs):
        if not formal.optional and not formal.variadic and op.input(index) is None:
            return f"{op.type}-{version} needs input {index} ({formal.name})"
    for attribute in other.attributes.values():
        if attribute.required and attribute.name not in op.attributes:
            return f"{op.type}-{version} needs the attribute {attribute.name!r}"
    for values, output in ((op.inputs, False), (op.outputs, True)):
        for index, value in enumerate(values):
            if value is not None and not other.allows(index, value.type, output=output):
                return f"{op.type}-{version} does not allow {_plain(value.type)}"
    for name, given in op.attributes.items():
        if name in other.attributes:
            continue
        own = op.schema
        default = own.attributes[name].default if own and name in own.attributes else None
        if given != default:
            return f"{op.type}-{version} has no attribute {name!r} (here {given!r})"
    return ""


def drop_unknown_attributes(op: Op, version: int) -> None:
    """Remove attributes that another version lacks; `fits` has said they are at their default."""
    other = schema.schema(op.domain, op.type, version)
    if other is not None:
        for name in [n for n in op.attributes if n not in other.attributes]:
            del op.attributes[name]


def require_types(op: Op, version: int, inputs: Sequence[Value | None]) -> None:
    """Raise InexpressibleError when another version of an op does not allow these types."""
    other = schema.schema(op.domain, op.type, version)
    if other is None:
        raise InexpressibleError(f"{op.type} does not exist at version {version}")
    for values, output in ((inputs, False), (op.outputs, True)):
        for index, value in enumerate(values):
            if value is not None and not other.allows(index, value.type, output=output):
                raise InexpressibleError(
                    f"{op.type}-{version} does not allow {_plain(value.type)}",
                    f"export at opset {op.version} or newer",
                    op.version if op.version > version else None,
                )


def _plain(kind: Type | None) -> str:
    """A type without its dims."""
    return str(kind.dtype) if isinstance(kind, TensorType) else str(schema_name(kind))
