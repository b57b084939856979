"""What a candidate is compared with: a graph, a file, or a function on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from isomorph.ir.budget import BudgetError
from isomorph.ir.errors import IsomorphError
from isomorph.ir.interpret import Program
from isomorph.ir.types import DType
from isomorph.parity import constants, wide
from isomorph.parity.arrays import is_float
from isomorph.parity.noise import Perturbation
from isomorph.parity.structure import Port, keeps, ports

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isomorph.ir.graph import Graph
    from isomorph.parity.finding import Finding


class RefusedError(IsomorphError):
    """The source cannot be evaluated on these inputs; carries its own words.

    Attributes:
        by_trace: only a trace refuses them: the function that was traced does not.
    """

    def __init__(self, message: str, *, by_trace: bool = False) -> None:
        super().__init__(message)
        self.by_trace = by_trace


class Reference(Protocol):
    """A source that can be evaluated.

    Attributes:
        name: for reports.
        graph: says what inputs there are, with domains and constraints; whole or only its inputs.
        inputs, outputs: as declared; `outputs` is `None` when nothing is.
        named: whether its names are binding.
        weaker: why it cannot be evaluated in float64; empty when it can.
    """

    name: str
    graph: Graph
    inputs: tuple[Port, ...]
    named: bool
    weaker: str

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        """Its outputs as declared."""
        ...

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in float64; raises RefusedError."""
        ...

    def narrow(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in its own precision; raises RefusedError."""
        ...

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        """Outputs in float64 with every rounding perturbed."""
        ...

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        """Its constants, as far as they are known: sorted, and content hashes of whole weights."""
        ...

    def model(self) -> Graph | Path | None:
        """What the run time could be given in its place, when that is possible."""
        ...

    def disputes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Finding]:
        """What it holds, by a second source of its own, of the outputs that `wide` gave.

        One finding per output, or none at all where there is no second source.

        Raises:
            RefusedError: when that source refuses the inputs.
        """
        ...

    def shown(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs to show in a replay; raises RefusedError."""
        ...


class GraphReference:
    """A graph, each op at its own version."""

    def __init__(self, graph: Graph, name: str = "", path: Path | None = None) -> None:
        self.name = name or graph.origin or graph.name
        self._path = path
        self.graph = graph
        self.inputs = ports(graph.inputs)
        self._outputs = ports(graph.outputs)
        self.named = True
        self.weaker = ""
        self.program = Program(graph, wide=True)
        self._narrow: Program | None = None

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        return self._outputs

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in float64; inputs that make it break what it states itself are refused."""
        found = refusing(lambda: self.program.run(inputs))
        for port, value in zip(self._outputs, found, strict=True):
            if not keeps(port.type, value):
                raise RefusedError(f"it states {port}, and gives a shape of {np.shape(value)}")
        return found

    def narrow(self, inputs: Sequence[Any]) -> list[Any]:
        if self._narrow is None:
            self._narrow = Program(self.graph)
        program = self._narrow
        return refusing(lambda: program.run(inputs))

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        return self.program.run(inputs, change=Perturbation(seed).change)

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        return constants.numbers(constants.constants(self.graph)), constants.digests(self.graph)

    def model(self) -> Graph | Path | None:
        return self._path or self.graph

    def disputes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Finding]:
        return []

    def shown(self, inputs: Sequence[Any]) -> list[Any]:
        return self.wide(inputs)


class FunctionReference:
    """A Python function on arrays.

    Attributes:
        graph: holds its inputs alone.
        met: constants that met its inputs when it was last evaluated in float64.
        lost: whether it then returned floats whose precision could not be followed.
    """

    def __init__(self, function: Callable[..., Any], inputs: Graph) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.function = function
        self.graph = inputs
        self.inputs = ports(inputs.inputs)
        self.named = False
        self.weaker = ""
        self.met: list[Any] = []
        self.lost = False
        self._constants: list[Any] = []
        self._seen: set[float] = set()

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        return None

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        found, trace = refusing(lambda: wide.evaluate(self.function, inputs))
        self.met = trace.constants
        for constant in trace.constants:
            key = constant if isinstance(constant, float) else id(constant)
            if key not in self._seen:
                self._seen.add(key)
                self._constants.append(constant)
        outputs = flat(found)
        self.lost = any(is_float(v) and not isinstance(v, wide.Wide) for v in outputs)
        for index, output in enumerate(outputs):
            dtype = np.asarray(output).dtype
            if dtype.kind not in "OUSTbiuc" and DType.of(dtype) is not DType.FLOAT64:
                self.weaker = (
                    f"{self.name} gives {dtype} as output {index} even for float64 inputs, so its "
                    "float64 values are not known: it is compared in its own precision"
                )
        return [v.view(np.ndarray) if isinstance(v, wide.Wide) else np.asarray(v) for v in outputs]

    def narrow(self, inputs: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            given = [np.array(v) for v in inputs]  # a function may write into what it is given
            return refusing(lambda: [np.asarray(v) for v in flat(self.function(*given))])

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        found, _ = wide.evaluate(self.function, inputs, Perturbation(seed))
        return [
            v.view(np.ndarray) if isinstance(v, wide.Wide) else np.asarray(v) for v in flat(found)
        ]

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        return constants.numbers(self._constants), frozenset()

    def model(self) -> Graph | Path | None:
        return None

    def disputes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Finding]:
        return []

    def shown(self, inputs: Sequence[Any]) -> list[Any]:
        return self.wide(inputs)


class BlackBox(FunctionReference):
    """A function that need not run in float64: a session of a run time, a service."""

    _closed = False

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in float64; in its own precision from then on, where it cannot run in that."""
        if self._closed:
            return self.narrow(inputs)
        try:
            return super().wide(inputs)
        except RefusedError as error:
            found = self.narrow(inputs)
            self._closed = True
            self.weaker = (
                f"{self.name} does not run in float64 ({error}): it is compared in its own "
                "precision"
            )
            return found


def read(path: str | Path) -> Graph:
    """The graph of a file, as read."""
    from isomorph.frontends.onnx.reader import read as read_file

    return read_file(path)


def flat(found: Any) -> list[Any]:
    """What a function returned, as a list of outputs: nested containers in their order."""
    if isinstance(found, dict):
        found = list(cast("dict[str, Any]", found).values())
    if not isinstance(found, list | tuple):
        return [found]
    return [leaf for item in cast("list[Any]", found) for leaf in flat(item)]


def refusing(call: Callable[[], Any]) -> Any:
    """The result, or RefusedError with the words of whatever went wrong."""
    try:
        return call()
    except (BudgetError, MemoryError, RecursionError):
        raise
    except (Exception, SystemExit) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
