"""A graph that was traced from a function: the function itself is asked on every case too.

The graph gives names, dims and float64 values; without the function, a fault of the trace (a wrong
axis, a branch baked in) would be in reference and candidate alike. See docs/parity.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.spec import InputSpec
from isomorph.ir.budget import BudgetError
from isomorph.ir.types import DType, TensorType
from isomorph.parity import constants, exact
from isomorph.parity.arrays import is_float, is_list
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import Leaves
from isomorph.parity.noise import Perturbation, Spread, probe
from isomorph.parity.same import Same
from isomorph.parity.sources import FunctionReference, GraphReference, RefusedError, flat
from isomorph.parity.tolerance.units import Unit
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.ir.graph import Graph

FACTOR = 64.0
"""Times the noise of one rounding per value, as in `weak`."""
OWN = 4.0
"""Times what the graph itself moves when it is computed in its stored dtypes."""
FIRST_PROBES, ALL_PROBES = 6, 40
COARSE = 16.0
"""An integer counts as undecided when so many roundings of each value turn it."""
DISPUTED = "the trace computes something else than the function itself"


class TracedReference(GraphReference):
    """A graph, and the function that it was traced from.

    Args:
        graph: the trace.
        function: takes one array per input of the graph, returns arrays in its outputs' order.
        named: whether the graph's names are binding.
    """

    def __init__(self, graph: Graph, function: Callable[..., Any], *, named: bool = True) -> None:
        super().__init__(graph)
        self.named = named
        self.witness = Witness(FunctionReference(function, graph), self)

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        try:
            return super().wide(inputs)
        except RefusedError as error:
            if all(np.size(v) for v in inputs) and self.witness.accepts(inputs):
                raise RefusedError(
                    f"the function itself accepts these inputs, its trace does not: {error}",
                    by_trace=True,
                ) from error
            raise

    def disputes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Finding]:
        return self.witness.compare(inputs, outputs)

    def shown(self, inputs: Sequence[Any]) -> list[Any]:
        """The function's own outputs where they contradict the trace, else the trace's."""
        outputs = self.wide(inputs)
        return self.witness.latest if _failed(self.witness.compare(inputs, outputs)) else outputs


class Witness:
    """Holds a trace against its function.

    Attributes:
        rounds: the function was seen to depend on its dtypes (it rounds inside, or asks for their
            limits), so the trace is its only float64.
        latest: what the function gave last.
    """

    def __init__(self, function: FunctionReference, traced: GraphReference) -> None:
        self.function, self.traced = function, traced
        self.rounds = False
        self.latest: list[Any] = []
        self._same = Same(function, traced)
        self._unit = _coarsest(traced.graph)
        self._dtypes: list[Finding] | None = None

    def accepts(self, inputs: Sequence[Any]) -> bool:
        """Whether the function takes these inputs."""
        try:
            self.function.narrow(inputs)
        except RefusedError:
            return False
        return True

    def compare(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Finding]:
        """One finding per output of the trace.

        Args:
            inputs: of the case, in stored dtypes.
            outputs: of the trace, in float64.

        Raises:
            RefusedError: when the function refuses the inputs.
        """
        own = self.latest = self._values(inputs)
        if len(own) != len(outputs):
            words = f"it returns {len(outputs)} arrays, the function {len(own)}"
            return [_disputed(words) for _ in outputs]
        found = self._declared(inputs)
        if _failed(found):
            return found
        if not self.rounds:
            found = self._same.compare(inputs, own, outputs)
            if not _failed(found):
                return found
        loose = self._in_stored_precision(inputs, own, outputs)
        if _failed(loose):
            loose = self._by_dtype(inputs, outputs, loose)
        elif not self.rounds and not self._may_round(inputs):
            return [_by_name(f) if f.status is Status.FAIL else f for f in found]
        self.rounds |= not _failed(loose)
        return loose

    def _by_dtype(
        self, inputs: Sequence[Any], outputs: Sequence[Any], found: list[Finding]
    ) -> list[Finding]:
        """What is left of a dispute in the function's own precision, which finfo may depend on."""
        try:
            own = self.function.narrow(inputs)
        except RefusedError:
            return found
        again = self._in_stored_precision(inputs, own, outputs)
        return found if _failed(again) else again

    def _values(self, inputs: Sequence[Any]) -> list[Any]:
        """In float64; in its own precision where it does not take such arrays."""
        try:
            return self.function.wide(inputs)
        except RefusedError as error:
            try:
                found = self.function.narrow(inputs)
            except RefusedError:
                raise RefusedError(
                    f"the function itself refuses inputs that its trace accepts: {error}"
                ) from error
            self.rounds = True
            return found

    def _declared(self, inputs: Sequence[Any]) -> list[Finding]:
        """Whether the function's own dtypes are those of the trace; asked once."""
        if self._dtypes is None:
            own = [np.asarray(v).dtype for v in self.function.narrow(inputs)]
            stated = [
                v.type.dtype if isinstance(v.type, TensorType) else None
                for v in self.traced.graph.outputs
            ]
            self._dtypes = [
                _disputed(f"its dtype is {s}, the function's {o}")
                if s is not None and o.kind not in "OUST" and s is not DType.of(o)
                else Finding()
                for s, o in zip(stated, own, strict=True)
            ]
        return self._dtypes

    def _may_round(self, inputs: Sequence[Any]) -> bool:
        """Whether the latest evaluation made floats in narrower dtypes, as far as can be told.

        It may where floats come from integers, where the precision of a result was lost sight of,
        and where a narrower array met the inputs that is none of the trace's weights.
        """
        if self.function.lost or self.rounds or not all(map(is_float, inputs)):
            return True
        weights = constants.numbers(constants.constants(self.traced.graph))
        narrower = [v for v in self.function.met if is_float(v) and v.dtype != np.float64]
        return any(not np.isin(np.asarray(v, np.float64), weights).all() for v in narrower)

    def _in_stored_precision(
        self, inputs: Sequence[Any], own: Sequence[Any], outputs: Sequence[Any]
    ) -> list[Finding]:
        spreads = [Spread.none(v) for v in outputs]
        program, unit = self.traced.program, self._unit.u
        try:
            narrow = self.traced.narrow(inputs)
        except RefusedError:
            narrow = list(outputs)
        found: list[Finding] = []
        done = 0
        for probes in (FIRST_PROBES, ALL_PROBES):
            probe(
                lambda s: program.run(inputs, change=Perturbation(s, unit).change),
                Leaves(outputs),
                spreads,
                range(done, probes),
            )
            done = probes
            found = [
                self._loosely(*each) for each in zip(own, outputs, narrow, spreads, strict=True)
            ]
            if not _failed(found):
                return found
        for seed in range(ALL_PROBES, 2 * ALL_PROBES):
            coarse = [Spread.none(v) for v in outputs]
            probe(
                lambda s: program.run(inputs, change=Perturbation(s, COARSE * unit).change),
                Leaves(outputs),
                coarse,
                range(seed, seed + 1),
            )
            for spread, other in zip(spreads, coarse, strict=True):
                spread.flipped |= other.flipped
        return [self._loosely(*each) for each in zip(own, outputs, narrow, spreads, strict=True)]

    def _loosely(self, own: Any, traced: Any, narrow: Any, spread: Spread) -> Finding:
        """One output, within what rounding to the stored dtypes may do."""
        if is_list(traced) or is_list(own):
            return _disputed("it is a sequence, which a function does not return")
        if np.shape(own) != np.shape(traced):
            return _disputed(f"its shape is {np.shape(traced)}, the function's {np.shape(own)}")
        if not is_float(traced) or not is_float(own):
            problem = exact.differs(traced, own)
            if not problem:
                return Finding()
            if (
                np.asarray(own).dtype.kind != np.asarray(traced).dtype.kind
                or (exact.different(np.asarray(traced), np.asarray(own)) & ~spread.flipped).any()
            ):
                return _disputed(problem)
            return Finding(Status.AMBIGUOUS, f"a discontinuity within rounding decides: {problem}")
        values, truth, rounded = (np.asarray(v, np.float64) for v in (own, traced, narrow))
        with np.errstate(all="ignore"):
            moved = np.abs(rounded - truth)
            allowed = FACTOR * spread.deviation + OWN * np.where(np.isfinite(moved), moved, 0.0)
            allowed += 8 * self._unit.ulp(truth) + self._unit.tiny
            good = np.abs(values - truth) <= allowed
            for same in (truth, rounded):
                good |= (values == same) | (np.isnan(values) & np.isnan(same))
        bad = ~good & ~spread.flipped
        if not bad.any():
            return Finding()
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        return _disputed(
            f"{int(bad.sum())} of {bad.size} elements differ; at {list(at)} the function gives "
            f"{values[at]:.9g}, the trace {truth[at]:.9g}, and rounding to the stored dtypes "
            f"explains ±{allowed[at]:.2g}"
        )


def through_trace(reference: FunctionReference) -> TracedReference | None:
    """The same function by its trace, `None` where it cannot be traced.

    It is called by position, as the function itself is.
    """
    function = reference.function

    def call(*arrays: Any) -> Any:
        return flat(function(*arrays))

    call.__name__ = reference.name
    specs = list(_specs(reference.graph))
    if len(specs) != len(reference.graph.inputs):
        return None
    try:
        graph = trace_array(call, specs)
    except BudgetError:
        raise
    except Exception:  # noqa: BLE001 - whatever the function does to what is no array
        return None
    graph.origin = reference.name
    graph.constraints += [c for c in reference.graph.constraints if c not in graph.constraints]
    return TracedReference(graph, function, named=False)


def _specs(shell: Graph) -> Iterator[InputSpec]:
    for value in shell.inputs:
        if isinstance(value.type, TensorType):
            yield InputSpec(value.name, value.type, domain=shell.domains.get(value.name))


def _coarsest(graph: Graph) -> Unit:
    """The coarsest float format of the graph's values."""
    values = [*graph.inputs, *(v for _, op in graph.walk() for v in op.results)]
    types = [v.type for v in values]
    floats = {t.dtype for t in types if isinstance(t, TensorType) and t.dtype.is_float}
    floats |= {w.dtype for w in constants.weights(graph) if w.dtype.is_float}
    units = [Unit.of(d) for d in floats or {DType.FLOAT32}]
    return max(units, key=lambda unit: unit.u)


def _disputed(words: str) -> Finding:
    return Finding(Status.FAIL, f"{DISPUTED}: {words}")


def _failed(found: Sequence[Finding]) -> bool:
    return any(f.status is Status.FAIL for f in found)


def _by_name(finding: Finding) -> Finding:
    """A finding of `Same` in the words of this comparison."""
    words = finding.reason.replace("the reference", "the function")
    return _disputed(words.replace("the candidate", "the trace"))
