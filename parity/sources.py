"""What a candidate is compared with: a graph, a file, or a function on arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from isomorph.frontends.kind import is_torch
from isomorph.ir.dims import Constraint, Dim, Expr
from isomorph.ir.errors import IsomorphError, SpecError
from isomorph.ir.graph import Graph, copy_graph
from isomorph.ir.interpret import Program
from isomorph.ir.types import DType, TensorType
from isomorph.parity import constants, wide
from isomorph.parity.noise import Perturbation
from isomorph.parity.refusal import refusing
from isomorph.parity.structure import Port, ports

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
        self._wide = Program(graph, wide=True)
        self._narrow: Program | None = None

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        return self._outputs

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        return refusing(lambda: self._wide.run(inputs))

    def narrow(self, inputs: Sequence[Any]) -> list[Any]:
        if self._narrow is None:
            self._narrow = Program(self.graph)
        program = self._narrow
        return refusing(lambda: program.run(inputs))

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        return self._wide.run(inputs, change=Perturbation(seed).change)

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        return constants.numbers(constants.constants(self.graph)), constants.digests(self.graph)

    def model(self) -> Graph | Path | None:
        return self._path or self.graph


class FunctionReference:
    """A Python function on arrays; `graph` holds its inputs alone."""

    def __init__(self, function: Callable[..., Any], inputs: Graph) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.function = function
        self.graph = inputs
        self.inputs = ports(inputs.inputs)
        self.named = False
        self.weaker = ""
        self._constants: list[Any] = []
        self._seen: set[int] = set()

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        return None

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        found, trace = refusing(lambda: wide.evaluate(self.function, inputs))
        for constant in trace.constants:
            if isinstance(constant, float) or id(constant) not in self._seen:
                self._seen.add(id(constant))
                self._constants.append(constant)
        outputs = flat(found)
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
            return refusing(lambda: [np.asarray(v) for v in flat(self.function(*inputs))])

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        found, _ = wide.evaluate(self.function, inputs, Perturbation(seed))
        return [
            v.view(np.ndarray) if isinstance(v, wide.Wide) else np.asarray(v) for v in flat(found)
        ]

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        return constants.numbers(self._constants), frozenset()

    def model(self) -> Graph | Path | None:
        return None


def reference_of(source: Any, inputs: Sequence[Any], candidate: Graph) -> Reference:
    """The reference that a user named.

    Args:
        source: a graph, a path, a torch module or program, or a function.
        inputs: specifications: texts or `InputSpec`s; they add domains and constraints to a graph.
        candidate: gives the inputs of a function that has no specifications.

    Raises:
        SpecError: when specifications do not fit.
        InvalidModelError: when a file cannot be read.
    """
    specs = _specs(inputs)
    if isinstance(source, Graph) and "function" in source.extra:
        from isomorph.parity.pytorch import TorchReference

        return TorchReference(source.extra["function"], _with_specs(source, specs), traced=True)
    if isinstance(source, str | Path) and not is_torch(source):
        graph = read(source)
        return GraphReference(_with_specs(graph, specs), str(source), Path(source))
    if isinstance(source, Graph):
        return GraphReference(_with_specs(source, specs))
    if not callable(source) and not is_torch(source):
        raise IsomorphError(
            f"cannot compare with {type(source).__name__} {source!r}: expected a graph, the path "
            "of an .onnx or .pt2 file, a torch module, or a function on arrays"
        )
    shell = Graph(getattr(source, "__name__", "function"))
    if specs:
        for index, spec in enumerate(specs):
            value = shell.add_input(spec.name or f"input_{index}", spec.type)
            shell.constraints += spec.constraints
            if spec.domain is not None:
                shell.domains[value.name] = spec.domain
    else:
        for value in candidate.inputs:
            shell.add_input(value.name, value.type)
        shell.constraints = list(candidate.constraints)
        shell.domains = dict(candidate.domains)
    if is_torch(source):
        from isomorph.parity.pytorch import TorchReference, origin_of

        return TorchReference(origin_of(source, specs), shell, traced=False)
    function: Any = source
    return FunctionReference(function, shell)


def read(path: str | Path) -> Graph:
    """The graph of a file, as read."""
    from isomorph.frontends.onnx.reader import read as read_file

    return read_file(path)


def flat(found: Any) -> list[Any]:
    """What a function returned, as a list of outputs."""
    if isinstance(found, dict):
        return list(cast("dict[str, Any]", found).values())
    if isinstance(found, list | tuple):
        return list(cast("list[Any]", found))
    return [found]


def _specs(inputs: Sequence[Any]) -> list[Any]:
    from isomorph.frontends.spec import parse_specs

    texts = [i for i in inputs if isinstance(i, str)]
    parsed = iter(parse_specs(texts))
    return [next(parsed) if isinstance(i, str) else i for i in inputs]


def _with_specs(graph: Graph, specs: list[Any]) -> Graph:
    """The graph with domains and constraints that the user added, under its own dims' names."""
    if not specs:
        return graph
    known = {v.name: v for v in graph.inputs}
    unknown = [s.name for s in specs if s.name and s.name not in known]
    if unknown:
        raise SpecError(
            f"there is no input {', '.join(map(repr, unknown))}; there are {', '.join(known)}"
        )
    graph, _ = copy_graph(graph)
    known = {v.name: v for v in graph.inputs}
    for index, spec in enumerate(specs):
        value = known[spec.name] if spec.name else graph.inputs[index]
        if spec.domain is not None:
            graph.domains[value.name] = spec.domain
        graph.constraints += spec.constraints
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            value.type = spec.type
            continue
        if value.type.dtype is not spec.type.dtype or len(value.type.shape) != spec.type.rank:
            raise SpecError(f"input {value.name!r} is {value.type}, not {spec.type}")
        dims: list[Dim] = []
        for own, given in zip(value.type.shape, spec.type.shape, strict=True):
            if isinstance(own, Expr) and own is not given:
                graph.constraints.append(Constraint(own, "==", given, "the specification"))
            dims.append(given if own is None else own)
        value.type = TensorType(value.type.dtype, tuple(dims))
    return graph
