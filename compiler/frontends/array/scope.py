"""A trace in progress: the graph it builds, what it knows about dims, and the weights it met."""

from __future__ import annotations

import re
import threading
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.decide import Facts
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.fallback import infer_by_onnx
from isomorph.ir import schema
from isomorph.ir.dims import Constraint, Expr, symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import Content, infer_op
from isomorph.ir.source import Source, caller
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from isomorph.frontends.array.errors import Obstacle
    from isomorph.frontends.array.listing import Listing
    from isomorph.frontends.array.protocol import Rules
    from isomorph.ir.graph import Attribute, Graph, Op, Value

SMALL = 64
"""Constants of up to this many elements are kept by content, in the scope that uses them."""


class Trace:
    """What all scopes of one trace share."""

    def __init__(self, rules: Rules, names: Mapping[int, str] | None = None) -> None:
        self.rules = rules
        self.names = dict(names or {})
        self.constraints: list[Constraint] = []
        self.symbols: dict[str, tuple[Scope, Value, int]] = {}
        self.arrays: dict[int, tuple[np.ndarray, Value, int]] = {}
        self.facts = Facts(())
        self.passed: list[Obstacle] = []
        """Everything that is not captured and that the trace went past."""
        self.listing: Listing | None = None
        """Answers what cannot be told, where obstacles are listed and no graph is wanted."""

    def add_constraint(self, constraint: Constraint) -> None:
        """Record a relation that holds from here on."""
        if constraint not in self.constraints:
            self.constraints.append(constraint)
            self.facts = Facts(self.constraints)

    def past(self, error: TraceError, stand_in: Any = None) -> Any:
        """A stand-in for what cannot be told, where obstacles are listed; else raises the error.

        Args:
            error: why it cannot be told.
            stand_in: what to go on with; `None` for a condition, which turns out both ways.
        """
        error.passable = True
        if self.listing is None:
            raise error
        self.passed.append(error.obstacle)
        return self.listing.answer(error, stand_in)

    def check_arrays(self) -> None:
        """Raise TraceError if an array was written to after its numbers had become a weight."""
        for array, value, checksum in self.arrays.values():
            if _checksum(array) != checksum:
                raise TraceError(
                    f"the array that became weight %{value.name} was modified in place afterwards",
                    "a modified copy: w = w.copy(); w[…] = …",
                )


class Scope:
    """One graph under construction: the function's own, or a branch of `xp.cond`."""

    def __init__(self, trace: Trace, graph: Graph, parent: Scope | None = None) -> None:
        self.trace = trace
        self.graph = graph
        self.parent = parent
        self.alive = True
        self.contents: dict[Value, Content] = {}
        self.captured: dict[Value, Value] = {}
        self._dims: dict[Expr, Value] = {}
        self._small: dict[tuple[DType, tuple[int, ...], bytes], Value] = {}

    @property
    def root(self) -> Scope:
        """The scope of the function itself."""
        return self if self.parent is None else self.parent.root

    # -- operators --------------------------------------------------------------------------

    def emit(
        self,
        type: str,  # noqa: A002 - the field's own word
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        outputs: int | Sequence[str | None] = 1,
        domain: str = "",
        version: int | None = None,
        captures: Sequence[Value] = (),
        types: Sequence[TensorType | None] = (),
        shape: Sequence[int | Expr | None] | None = None,
        source: Source | None = None,
    ) -> Op:
        """Append an op and type its results at once.

        `types` states what is known of the results, `shape` what is known of the first one's dims.

        Raises:
            TraceError: when the operator does not take operands of these types.
        """
        place = caller() if source is None else source
        self._check(type, domain, inputs, place)
        op = self.graph.add_op(
            type,
            inputs,
            attributes,
            outputs=outputs,
            domain=domain,
            version=version,
            captures=captures,
            source=place,
        )
        for value, stated in zip(op.outputs, types, strict=False):
            if value is not None:
                value.type = stated
        try:
            infer_op(op, self.graph, self.contents)
            infer_by_onnx(op, self.contents)
        except TypeInferenceError as error:
            raise TraceError(str(error).removeprefix(f"{place}: "), source=place) from None
        if shape is not None:
            _refine(op.output, shape)
        for value in op.results:
            self._name_dims(op, value)
        return op

    def _check(
        self,
        type: str,  # noqa: A002
        domain: str,
        inputs: Sequence[Value | None],
        place: Source,
    ) -> None:
        known = schema.canonical(domain, type)
        if known is None:
            return
        for index, value in enumerate(inputs):
            if value is None or not isinstance(value.type, TensorType):
                continue
            if not known.allows(index, value.type.dtype):
                formal = known.input(index)
                allowed = sorted(formal.dtypes) if formal else ()
                raise TraceError(
                    f"{type} does not take {value.type} as operand {index}; "
                    f"allowed: {', '.join(n.removeprefix('tensor(').rstrip(')') for n in allowed)}",
                    "xp.astype(x, …) before it",
                    source=place,
                )

    def _name_dims(self, op: Op, value: Value) -> None:
        """Give a name to every dim that only the data determines: it can be computed with."""
        found = value.type
        if not isinstance(found, TensorType) or found.shape is None:
            return
        if None not in found.shape:
            return
        dims = list(found.shape)
        for axis, dim in enumerate(dims):
            if dim is None:
                dims[axis] = self.fresh(op.type.lower(), value, axis)
        value.type = TensorType(found.dtype, tuple(dims))

    def fresh(self, prefix: str, value: Value, axis: int) -> Expr:
        """A new symbol: the size of that axis of a value."""
        count = 0
        while f"{prefix}_{count}" in self.trace.symbols:
            count += 1
        name = f"{prefix}_{count}"
        self.trace.symbols[name] = (self, value, axis)
        return symbol(name)

    # -- values of other scopes ---------------------------------------------------------------

    def local(self, scope: Scope, value: Value) -> Value:
        """A value of this or an enclosing scope, as it is known here."""
        if scope is self:
            return value
        if self.parent is None or not scope.alive:
            raise TraceError(
                f"%{value.name}: {value.type} belongs to a branch of xp.cond that has ended",
                "return it from the branch: y = xp.cond(p, true_fn, false_fn, x)",
            )
        outer = self.parent.local(scope, value)
        found = self.captured.get(outer)
        if found is None:
            found = self.graph.add_capture(outer.name, outer.type)
            self.captured[outer] = found
            known = self.parent.contents.get(outer)
            if known is not None:
                self.contents[found] = known
        return found

    # -- constants ------------------------------------------------------------------------------

    def constant(self, array: np.ndarray, name: str = "") -> Value:
        """A weight: small ones by content, large ones once per array object, in the root scope."""
        if array.size <= SMALL and array.dtype.kind != "O":
            dtype = DType.of(array.dtype)
            key = (dtype, array.shape, array.tobytes())
            found = self._small.get(key)
            if found is None:
                label = self.trace.names.get(id(array)) or name or "constant"
                owner = array if not array.flags.writeable else array.copy()
                found = self._small[key] = self.graph.add_weight(Weight.of(owner, dtype), label)
            return found
        root = self.root
        known = self.trace.arrays.get(id(array))
        if known is not None and known[2] != _checksum(array):
            known = None
            array = array.copy()
        if known is None:
            label = self.trace.names.get(id(array)) or name or "weight"
            made = root.graph.add_weight(Weight.of(array), label)
            known = (array, made, _checksum(array))
            self.trace.arrays[id(array)] = known
        return self.local(root, known[1])

    # -- dims as data -------------------------------------------------------------------------

    def dim(self, size: int | Expr) -> Value:
        """A dim as an int64 scalar, computed from the shapes of the values it names."""
        if isinstance(size, int):
            return self.constant(np.array(size, np.int64), "size")
        found = self._dims.get(size)
        if found is None:
            name = _lone_symbol(size)
            found = self._sum(size) if name is None else self._symbol(name)
            self._dims[size] = found
            self.contents[found] = Content((size,), scalar=True)
        return found

    def dims(self, shape: Sequence[int | Expr]) -> Value:
        """Dims as an int64 vector."""
        if all(isinstance(d, int) for d in shape):
            return self.constant(np.array(shape, np.int64), "shape")
        zero = self.constant(np.array([0], np.int64), "axes")
        parts = [
            self.constant(np.array([d], np.int64), "size")
            if isinstance(d, int)
            else self.emit("Unsqueeze", [self.dim(d), zero]).output
            for d in shape
        ]
        made = parts[0]
        if len(parts) > 1:
            made = self.emit("Concat", parts, {"axis": 0}).output
        self.contents[made] = Content(tuple(shape))
        return made

    def _sum(self, size: Expr) -> Value:
        total: Value | None = None
        for monomial, factor in size.terms:
            product = self._product(monomial, factor if total is None else abs(factor))
            if total is None:
                total = product
            else:
                total = self.emit("Add" if factor > 0 else "Sub", [total, product]).output
        assert total is not None  # noqa: S101 - an Expr has terms
        return total

    def _product(self, monomial: tuple[Any, ...], factor: int) -> Value:
        made = None if factor == 1 and monomial else self.dim(factor)
        for atom in monomial:
            part = self._atom(atom)
            made = part if made is None else self.emit("Mul", [made, part]).output
        assert made is not None  # noqa: S101 - a factor or an atom is there
        return made

    def _atom(self, atom: tuple[Any, ...]) -> Value:
        if atom[0] == "sym":
            return self.dim(symbol(atom[1]))
        a, b = self.dim(atom[1]), self.dim(atom[2])
        if atom[0] == "max":
            return self.emit("Max", [a, b]).output
        # ONNX divides integers towards zero; Mod takes the divisor's sign.
        rest = self.emit("Mod", [a, b]).output
        return self.emit("Div", [self.emit("Sub", [a, rest]).output, b]).output

    def _symbol(self, name: str) -> Value:
        """The axis that a symbol is the size of, as a scalar, computed in that axis's scope."""
        scope, value, axis = self.trace.symbols[name]
        if scope is not self:
            return self.local(scope, scope.dim(symbol(name)))
        shape = self.emit("Shape", [value], {"start": axis, "end": axis + 1}).output
        zero = self.constant(np.array([0], np.int64), "axes")
        return self.emit("Squeeze", [shape, zero]).output

    # -- relations ------------------------------------------------------------------------------

    def same(self, left: int | Expr, right: int | Expr) -> bool:
        """Whether two dims are known to be equal."""
        return left == right or self.trace.facts.decide(left, "==", right) is True

    def require(
        self, left: int | Expr, relation: str, right: int | Expr, why: str, instead: str = ""
    ) -> None:
        """Make sure that a relation holds: known, or recorded as a constraint of the graph.

        Raises:
            TraceError: when it never holds, or when it would pin a named dim to one number.
        """
        decided = self.trace.facts.decide(left, relation, right)
        if decided:
            return
        text = f"{left} {relation} {right}"
        if decided is False:
            raise TraceError(f"{why} needs {text}, which does not hold", instead)
        difference = left - right
        if relation == "==" and isinstance(difference, Expr) and _pins(difference):
            raise TraceError(
                f"{why} needs {text}: a dim that is declared open would be fixed to one number",
                instead or f"the number in the input's specification, or xp.assume({text})",
            )
        self.trace.add_constraint(Constraint(left, relation, right, f"{why} at {caller()}"))


def _lone_symbol(size: Expr) -> str | None:
    ((monomial, factor), *more) = size.terms
    if more or factor != 1 or len(monomial) != 1 or monomial[0][0] != "sym":
        return None
    return monomial[0][1]


def _refine(value: Value, shape: Sequence[int | Expr | None]) -> None:
    """Prefer these dims to symbolic or unknown ones of a value's type."""
    found = value.type
    if not isinstance(found, TensorType):
        return
    inferred = found.shape if found.shape is not None else (None,) * len(shape)
    if len(inferred) != len(shape):
        raise TraceError(f"%{value.name} is {found}, rank {len(shape)} was expected")
    pairs = zip(inferred, shape, strict=True)
    dims = tuple(i if isinstance(i, int) or s is None else s for i, s in pairs)
    value.type = TensorType(found.dtype, dims)


def _pins(difference: Expr) -> bool:
    return len(difference.symbols()) == 1 and not re.search(r"//|max", str(difference))


def _checksum(array: np.ndarray) -> int:
    """0 for what cannot be written to."""
    if not array.flags.writeable or array.dtype.kind == "O":
        return 0
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) or 1


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = []


_STACK = _Stack()


def active() -> Scope | None:
    """The innermost scope that is being traced in this thread."""
    return _STACK.scopes[-1] if _STACK.scopes else None


def current() -> Scope:
    """The same where there has to be one; raises TraceError for arrays used after their trace."""
    found = active()
    if found is None:
        raise TraceError("a traced array is used after its trace has ended")
    return found


@contextmanager
def entered(scope: Scope) -> Generator[Scope]:
    """Make a scope the current one; it dies at the end."""
    _STACK.scopes.append(scope)
    try:
        yield scope
    finally:
        _STACK.scopes.pop()
        scope.alive = False
