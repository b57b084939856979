"""One way in which a run time is known to compute something else than ONNX defines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isomorph.ir import schema
from isomorph.ir.schema import ML
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.opdef import Key

    Use = Callable[[Op, Graph], bool]

Kind = Literal[
    "crash",
    "wrong value",
    "wrong shape",
    "stale memory",
    "NaN handling",
    "sign of zero",
    "integer overflow",
    "lost accuracy",
    "optimizer-made",
]
KINDS: dict[Kind, str] = {
    "crash": "the process is killed, and with it whatever else it does",
    "wrong value": "another value than the definition's, of ordinary operands",
    "wrong shape": "another shape than the definition's",
    "stale memory": "whatever lies in memory",
    "NaN handling": "NaN, or infinities that should make it, are dropped or spread",
    "sign of zero": "−0 becomes +0",
    "integer overflow": "integers that are exact, or wrap elsewhere, are rounded or saturate",
    "lost accuracy": "many times the rounding error that the operator has to have",
    "optimizer-made": "right as the graph is written; its optimizer makes it another function",
}
"""What sort of divergence, the gravest first."""

Judged = Literal["RUNTIME", "UNSPECIFIED", "FAIL", "SUSPECT", "PASS"]


@dataclass(frozen=True, slots=True)
class Gives:
    """These outputs: bit by bit, NaN alike, or where `digits` says so, floats to that many."""

    values: tuple[Any, ...]
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Off:
    """An output whose worst element is off by `low` to `high` units in its last place.

    Or in that of the largest element, where so much is what an operator owes.
    """

    low: float
    high: float
    of_largest: bool = False


@dataclass(frozen=True, slots=True)
class Dies:
    """No output: the process dies of this signal."""

    signal: str


@dataclass(frozen=True, slots=True)
class Stale:
    """An output that has never been written: anything may be there.

    Attributes:
        surely: it is never what is defined; else it may be, by chance.
    """

    surely: bool = True


Outcome = Gives | Off | Dies | Stale


@dataclass(frozen=True, slots=True)
class Probe:
    """A small model and inputs that show a divergence.

    Attributes:
        body, inputs, outputs: in ONNX's text form.
        feeds: of the inputs, in order.
        gives: what the run time gives.
        wanted: the outputs that are defined; empty where the definition leaves them open.
        opsets: at which it is shown.
        ml: the version of ai.onnx.ml, where it takes part.
        judged: what `verify` makes of it; the same as of the others by default.
    """

    body: str
    inputs: str
    outputs: str
    feeds: tuple[Any, ...]
    gives: Outcome
    wanted: tuple[Any, ...] = ()
    opsets: tuple[int, ...] = (23,)
    ml: int = 5
    judged: Judged | None = None

    def uses(self, key: Key) -> bool:
        """Whether an operator is in it."""
        name = f"{key[0]}.{key[1]}".lstrip(".")
        return re.search(rf"= {re.escape(name)}\s*[<(]", self.body) is not None

    def text(self, opset: int) -> str:
        """The model at an opset."""
        others = {ML: self.ml, DOMAIN: 1}
        imports = [f'"": {opset}']
        imports += [f'"{d}": {v}' for d, v in others.items() if f"{d}." in self.body]
        head = f"<ir_version: 10, opset_import: [{', '.join(imports)}]>"
        return f"{head} probe ({self.inputs}) => ({self.outputs}) {{ {self.body} }}"


@dataclass(frozen=True, slots=True)
class Divergence:
    """One entry of the database.

    Attributes:
        name: what it is called everywhere.
        ops: the operators that it is about; each is in a probe.
        kind: what sort it is.
        what: what the run time does, after its name.
        spec: what the definition says, and where.
        source: where the run time's reason is to be read, or how it is known.
        probes: what shows it.
        judged: what `verify` makes of the probes.
        issue: of the project it is in, where somebody has reported it.
        optimizer: the run time's own name for the pass that makes it.
        when: the uses that `check` warns of; none by default, because values alone decide.
        remedy: what to do about it.
        limited: `check` tells it as a `Limitation`, because any use of that kind is wrong.
        runtime, releases: which run time it was observed of.
    """

    name: str
    ops: tuple[Key, ...]
    kind: Kind
    what: str
    spec: str
    source: str
    probes: tuple[Probe, ...]
    judged: Judged = "RUNTIME"
    issue: str = ""
    optimizer: str = ""
    when: Use | None = None
    remedy: str = ""
    limited: bool = False
    runtime: str = "onnxruntime"
    releases: tuple[str, ...] = ("1.31.1",)

    @property
    def words(self) -> str:
        """What a verdict says of it."""
        by = f" ({self.optimizer})" if self.optimizer else ""
        return f"{self.what}{by} [{self.name}: {self.source}]"

    @property
    def versions(self) -> dict[Key, tuple[int, ...]]:
        """The versions of its operators at which it is shown."""
        found: dict[Key, set[int]] = {key: set() for key in self.ops}
        for probe in self.probes:
            for key in self.ops:
                opsets = {"": probe.opsets, ML: (probe.ml,)}.get(key[0], (1,))
                if probe.uses(key):
                    found[key].update(schema.since_version(*key, opset) or 0 for opset in opsets)
        return {key: tuple(sorted(versions)) for key, versions in found.items()}

    def concerns(self, op: Op, graph: Graph, runtime: str, release: str) -> bool:
        """Whether `check` warns of a use at a release."""
        if runtime != self.runtime or release not in self.releases:
            return False
        return op.key in self.ops and self.when is not None and self.when(op, graph)


def ai(*names: str) -> tuple[Key, ...]:
    """Operators of the default domain."""
    return tuple(("", name) for name in names)
