"""Devices by name, and the object that `compile` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from isomorph.ir.dims import Expr
from isomorph.ir.interpret import Program
from isomorph.ir.printable import printable
from isomorph.ir.scratch import scratch
from isomorph.ir.types import DType, MapType, OptionalType, SequenceType, TensorType
from isomorph.runtime.errors import DeviceError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Value
    from isomorph.ir.types import Shape, Type
    from isomorph.runtime.plan import Plan, Plans

DEVICES = {
    "cpu": "onnxruntime on the CPU",
    "reference": "the interpreter, op by op in numpy",
    "cuda:0": "our own kernels on an NVIDIA GPU",
    "sim:sm_90": "the same kernels on the CPU, in a simulator that can check them",
}


class Engine(Protocol):
    """What a device makes of a graph."""

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The graph's outputs, in order, from its inputs, in order."""
        ...


class Run:
    """A compiled graph: call it with arrays.

    Args:
        graph: whose inputs and outputs it has.
        device: the name of where it runs.
        engine: computes the outputs.
    """

    def __init__(self, graph: Graph, device: str, engine: Engine) -> None:
        self.graph = graph
        self.device = device
        self.inputs = tuple(v.name for v in graph.inputs)
        self.outputs = tuple(v.name for v in graph.outputs)
        self.engine = engine

    def __call__(self, *arrays: Any, **named: Any) -> tuple[Any, ...]:
        """The outputs in graph order; inputs by position, by name, or mixed.

        A sequence is a list, a map a dict; an optional that is not given is absent.

        Raises:
            InputError: when inputs are missing, unknown, or of the wrong type or shape.
            RunError: when the device fails on them.
        """
        return tuple(self.engine(bind(self.graph, arrays, named)))

    @property
    def plan(self) -> Plan | Plans:
        """The kernels of the latest shapes and their memory; for `sim:…` and `cuda:N`.

        Raises:
            DeviceError: when the device has no kernels of ours, or no shapes are known yet.
        """
        found = getattr(self.engine, "plan", None)
        if found is None:
            raise DeviceError(
                f"device {self.device!r} has no plan"
                + (
                    "; run it once, then its shapes are known"
                    if hasattr(self.engine, "plan")
                    else ""
                )
            )
        return found

    def named(self, *arrays: Any, **named: Any) -> dict[str, Any]:
        """The outputs by name."""
        return dict(zip(self.outputs, self(*arrays, **named), strict=True))

    def __repr__(self) -> str:
        return f"Run({', '.join(self.inputs)} -> {', '.join(self.outputs)}, device={self.device!r})"


def compile_graph(
    graph: Graph, device: str = "cpu", *, checking: bool = False, seed: int = 0
) -> Run:
    """Make a graph callable on a device.

    Args:
        graph: any graph.
        device: see `DEVICES`.
        checking: for `sim:…`, check every access of every kernel; slow.
        seed: for `sim:…`, of the order in which threads and blocks run.

    Raises:
        DeviceError: for a name that is no device.
        NoGpuError: for `cuda:N` without a driver or a GPU; says what to install.
        NoCompilerError: for `sim:…` without a C++ compiler.
        NoKernelError: listing every op that has no kernel, for `sim:…` and `cuda:N`.
        RuntimeLoadError: when onnxruntime refuses the model.
    """
    kind, _, rest = device.partition(":")
    if (checking or seed) and kind != "sim":
        raise DeviceError(f"device {device!r} does not check kernels; 'sim:sm_90' does")
    if device == "cpu":
        return Run(graph, device, _OnnxRuntime(graph))
    if device == "reference":
        return Run(graph, device, Program(graph).run)
    if kind == "cuda":
        from isomorph.runtime.cuda import CudaMachine
        from isomorph.runtime.staged.engine import engine_of

        return Run(graph, device, engine_of(graph, CudaMachine(device)))
    if kind == "sim":
        return _simulated(graph, device, rest or "sm_90", checking=checking, seed=seed)
    known = "; ".join(f"{name!r}: {what}" for name, what in DEVICES.items())
    raise DeviceError(f"no device is called {device!r}. Devices: {known}")


def _simulated(graph: Graph, device: str, arch: str, *, checking: bool, seed: int) -> Run:
    from isomorph.codegen.spec import PORTABLE
    from isomorph.runtime.sim import SimMachine
    from isomorph.runtime.staged.engine import engine_of
    from isomorph.simulator.toolchain import compiler

    if arch not in PORTABLE:
        known = ", ".join(f"'sim:{a}'" for a in PORTABLE)
        raise DeviceError(f"device {device!r}: kernels exist for {known}")
    compiler()
    return Run(graph, device, engine_of(graph, SimMachine(arch, checking=checking, seed=seed)))


def bind(graph: Graph, arrays: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """One checked array per graph input; raises InputError that lists every problem."""
    values = graph.inputs
    problems: list[str] = []
    if len(arrays) > len(values):
        problems.append(f"{len(arrays)} arrays were given by position, it has {len(values)} inputs")
    given = {v.name: a for v, a in zip(values, arrays, strict=False)}
    names = {v.name for v in values}
    for name, array in named.items():
        if name not in names:
            problems.append(f"there is no input {name!r}")
        elif name in given:
            problems.append(f"input {name!r} was given by position and by name")
        else:
            given[name] = array
    absent: dict[str, Any] = {v.name: None for v in values if isinstance(v.type, OptionalType)}
    given = absent | given
    missing = [v.name for v in values if v.name not in given]
    if missing:
        problems.append("missing: " + ", ".join(missing))
    dims: dict[str, tuple[int, str]] = {}
    bound = [_fit(v, given[v.name], dims, problems) for v in values if v.name in given]
    sizes = {name: size for name, (size, _) in dims.items()}
    for value in values:
        if value.name in given and isinstance(value.type, TensorType):
            shape = np.shape(given[value.name])
            _check_expressions(value.name, value.type.shape or (), shape, sizes, problems)
    for constraint in graph.constraints:
        if constraint.holds(sizes) is False:
            shown = ", ".join(f"{n} = {sizes[n]}" for n in sorted(constraint.symbols()))
            why = f" ({constraint.reason})" if constraint.reason else ""
            problems.append(f"{constraint} does not hold for {shown}{why}")
    if problems:
        wanted = ", ".join(f"{v.name}: {v.type}" for v in values)
        found = f"these inputs do not fit {graph.name}: {'; '.join(problems)}. Wanted: {wanted}"
        raise InputError(printable(found))
    return bound


def _fit(value: Value, given: Any, dims: dict[str, tuple[int, str]], problems: list[str]) -> Any:
    if not isinstance(value.type, TensorType):
        return given if value.type is None else _held(value.name, value.type, given, problems)
    array = np.asarray(given)
    try:
        found = DType.of(array.dtype)
    except TypeError as error:
        problems.append(f"input {value.name!r}: {error}")
        return array
    if found is not value.type.dtype:
        problems.append(
            f"input {value.name!r} is {found}, {value.type.dtype} is wanted "
            f"(convert it: array.astype({str(value.type.dtype)!r}))"
        )
    shape = value.type.shape
    if shape is None:
        return array
    if len(shape) != array.ndim:
        problems.append(f"input {value.name!r} has shape {array.shape}, {value.type} is wanted")
        return array
    for axis, (dim, size) in enumerate(zip(shape, array.shape, strict=True)):
        if isinstance(dim, int) and dim != size:
            problems.append(f"input {value.name!r}, axis {axis}: size {size}, {dim} is wanted")
        elif isinstance(dim, Expr) and set(dim.symbols()) == {str(dim)}:
            known = dims.setdefault(str(dim), (size, f"{value.name!r}, axis {axis}"))
            if known[0] != size:
                problems.append(
                    f"input {value.name!r}, axis {axis}: size {size}, but {dim} = {known[0]} "
                    f"by input {known[1]}"
                )
    return array


def _held(name: str, kind: Type, given: Any, problems: list[str]) -> Any:
    """A sequence as a list, a map as a dict, an optional as `None` or what it holds."""
    match kind:
        case OptionalType():
            return None if given is None else _held(name, kind.element, given, problems)
        case SequenceType() if isinstance(given, list | tuple):
            items = list(cast("list[Any]", given))
            return [_held(f"{name}[{i}]", kind.element, v, problems) for i, v in enumerate(items)]
        case MapType() if isinstance(given, dict):
            return cast("dict[Any, Any]", given)
        case TensorType() if given is not None and not isinstance(given, dict):
            array = np.asarray(given)
            known = _dtype_of(array)
            if known is not kind.dtype:
                problems.append(f"input {name} is {known or array.dtype}, {kind.dtype} is wanted")
            return array
        case _:
            found = type(cast("Any", given)).__name__
            problems.append(f"input {name} is {found}, {kind} is wanted")
            return cast("Any", given)


def _dtype_of(array: np.ndarray) -> DType | None:
    try:
        return DType.of(array.dtype)
    except TypeError:
        return None


def _check_expressions(
    name: str,
    stated: Shape,
    shape: tuple[int, ...],
    sizes: dict[str, int],
    problems: list[str],
) -> None:
    for axis, (dim, size) in enumerate(zip(stated, shape, strict=False)):
        if isinstance(dim, Expr) and dim.symbols() <= sizes.keys() and dim.evaluate(sizes) != size:
            problems.append(
                f"input {name!r}, axis {axis}: size {size}, but {dim} = {dim.evaluate(sizes)}"
            )


class _OnnxRuntime:
    """A graph as a file, loaded; the file is gone once the session has it."""

    def __init__(self, graph: Graph) -> None:
        from isomorph.exporters.onnx.writer import stage
        from isomorph.exporters.target import make_target
        from isomorph.runtime.ort import Session

        self._names = tuple(v.name for v in graph.inputs)
        with scratch() as folder:
            newest = make_target()
            own = graph.opsets.get("")
            target = make_target(own) if own and own <= newest.opset else newest
            with stage(graph, folder / "model.onnx", target) as staged:
                self._session = Session(staged.path, optimize=True, threads=0)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        return self._session.run(dict(zip(self._names, inputs, strict=True)))
