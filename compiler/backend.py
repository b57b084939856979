"""The standard `onnx.backend.base.Backend` interface, so that others' suites can drive isomorph.

A model goes the whole way, load → upgrade → passes → check → downgrade → encode, and then runs on
a device: `CPU` is onnxruntime, `REFERENCE` the reference interpreter. It is encoded at its own
opset; for onnxruntime at the newest that the installed release loads, where its own is newer still
or has operators without a kernel, and for the interpreter at the canonical one where its own is
older than what is rewritten, which the interpreter gets wrong in places. `SIM` and `CUDA` run our
own kernels, on the CPU and on a GPU, without writing a model first. What is refused is refused in
`prepare`, with a typed error. A StringNormalizer without a locale leaves its choice to the
implementation; onnxruntime's, en_US.UTF-8, may not be installed, and C.UTF-8 takes its place then.

`onnx.backend.test` knows only the devices CPU and CUDA, and drives one Backend class per device of
ours: `onnx.backend.test.BackendTest(isomorph.backend.CPU, __name__)`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from onnx.backend.base import Backend, BackendRep

from isomorph.exporters.coverage.check import check
from isomorph.exporters.coverage.report import ExportError
from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN
from isomorph.exporters.onnx.writer import to_proto
from isomorph.exporters.target import Target, make_target
from isomorph.frontends.canonical import canonical
from isomorph.frontends.onnx.reader import read
from isomorph.ir import schema
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.types import OptionalType, SequenceType, TensorType
from isomorph.runtime.device import Run, compile_graph
from isomorph.runtime.errors import (
    DeviceError,
    InputError,
    NoGpuError,
    RunError,
    RuntimeLoadError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnx import ModelProto, NodeProto

    from isomorph.ir.graph import Graph, Value
    from isomorph.ir.types import Type

    Engine = Callable[[dict[str, Any]], list[Any]]


class Prepared(BackendRep):
    """A model made ready for a device; `model` is the message that runs there."""

    def __init__(
        self, graph: Graph, model: ModelProto, engine: Engine, compiled: Run | None = None
    ) -> None:
        self.graph = graph
        self.model = model
        self._engine = engine
        self._compiled = compiled

    @property
    def hosted(self) -> tuple[str, ...]:
        """Operators that the host did between kernels in the latest run, for `SIM` and `CUDA`."""
        if self._compiled is None:
            return ()
        return tuple(dict.fromkeys(h.op for h in self._compiled.plan.hosted))

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """The outputs in graph order.

        Args:
            inputs: one value per graph input, in order (or a mapping by name, or a lone array):
                arrays, numpy scalars, plain numbers, lists for sequences, `None` for an absent
                optional. Trailing ones may be left out if they are optional.

        Raises:
            InputError: when inputs are missing or cannot be what they should.
            RunError: when the device fails on them.
        """
        return tuple(self._engine(_bind(self.graph, inputs)))


class CPU(Backend):
    """onnxruntime on the CPU, behind the whole pipeline."""

    name: ClassVar[str] = "CPU"
    """Device of ours that this class serves, whatever the suite calls it."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Whether `prepare` would take the model."""
        try:
            cls.prepare(model, device)
        except (ExportError, UnsupportedError, DeviceError):
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **_: Any) -> Prepared:
        """Make a model ready to run.

        Raises:
            ExportError: obstacles were found; carries the report.
            InvalidModelError: it is no valid model.
            UnsupportedError: something is not supported yet, its opset among others.
            DeviceError: no such device here.
        """
        if not cls.supports_device(device):
            raise DeviceError(f"{cls.__name__} does not serve device {device!r}")
        return _prepare(model, cls.name)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,  # noqa: ARG003
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node on arrays; `opset_version` among `kwargs`, or the newest that runs there."""
        import onnx.helper

        opset = kwargs.get("opset_version") or make_target().opset
        given = [n for n in node.input if n]
        pairs = list(zip(given, inputs, strict=True))
        arrays = {n: np.asarray(a) for n, a in pairs}
        kinds = {n: onnx.helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in arrays.items()}
        graph = onnx.helper.make_graph(
            [node],
            node.op_type or "node",
            [onnx.helper.make_tensor_value_info(n, kinds[n], a.shape) for n, a in arrays.items()],
            [onnx.ValueInfoProto(name=n) for n in node.output if n],
        )
        imports = [onnx.helper.make_opsetid("", opset)]
        if node.domain:
            imports.append(onnx.helper.make_opsetid(node.domain, schema.CANONICAL[node.domain]))
        ir_version = schema.ir_version_for(opset)
        model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
        return cls.prepare(model, device).run(list(arrays.values()))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this class serves a device, by the suite's name or by ours."""
        return device.partition(":")[0] in {"CPU", cls.name}


class REFERENCE(CPU):
    """The reference interpreter, behind the whole pipeline."""

    name = "REFERENCE"


class SIM(CPU):
    """Our own kernels on the CPU, strict: what has no kernel is refused in `prepare`."""

    name = "SIM"

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "SIM", **_: Any) -> Prepared:
        """Make a model ready; every shape that it can be run at is lowered when it comes.

        Raises:
            NoKernelError: listing every op that has no kernel.
            DeviceError: when the device does not exist here; says what to install.
        """
        graph = read(model)
        made = compile_graph(graph, cls._device(device))
        return Prepared(graph, model, lambda feeds: [*made(**feeds)], made)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is a C++ compiler for the simulator."""
        from isomorph.simulator.toolchain import NoCompilerError, compiler

        try:
            compiler()
        except NoCompilerError:
            return False
        return super().supports_device(device)

    @classmethod
    def _device(cls, device: str) -> str:
        return f"sim:{device.partition(':')[2] or 'sm_90'}"


class CUDA(SIM):
    """Our own kernels on an NVIDIA GPU, strict."""

    name = "CUDA"

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is a driver and a GPU."""
        from isomorph.runtime.cuda import probe

        if device.partition(":")[0] not in {"CPU", cls.name}:
            return False
        try:
            probe(cls._device(device))
        except NoGpuError:
            return False
        return True

    @classmethod
    def _device(cls, device: str) -> str:
        return f"cuda:{device.partition(':')[2] or '0'}"


CLASSES: dict[str, type[CPU]] = {c.name: c for c in (CPU, REFERENCE, SIM, CUDA)}


def prepare(model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
    """Make a model ready for `CPU`, `REFERENCE`, `SIM` or `CUDA`; errors as in `CPU.prepare`."""
    found = CLASSES.get(device.partition(":")[0])
    if found is None:
        raise DeviceError(f"no device is called {device!r}; devices: {', '.join(CLASSES)}")
    return found.prepare(model, device, **kwargs)


def run_model(
    model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
) -> tuple[Any, ...]:
    """Prepare a model, and run it once."""
    return prepare(model, device, **kwargs).run(inputs)


def supports_device(device: str) -> bool:
    """Whether models can run on a device here."""
    found = CLASSES.get(device.partition(":")[0])
    return found is not None and found.supports_device(device)


# -- the way there ----------------------------------------------------------------------------


def _prepare(model: ModelProto, device: str) -> Prepared:
    graph = read(model)
    opset = graph.opsets.get("", 0)
    if device == "REFERENCE":
        newest = schema.CANONICAL[""]
        written = opset if opset >= LOWEST_WRITTEN else newest
        target = Target(written, schema.ir_version_for(newest), "reference")
        proto = to_proto(canonical(graph), target)
        return Prepared(graph, proto, _reference(proto))
    newest = make_target().opset
    wanted = min(opset, newest) or newest
    ready = graph if wanted < LOWEST_WRITTEN else canonical(graph)
    try:
        return _on_cpu(graph, ready, wanted)
    except (ExportError, RuntimeLoadError):
        if wanted == newest:
            raise
        if ready is graph:
            ready = canonical(graph)
        with suppress(ExportError, RuntimeLoadError):  # what is told is what its own opset lacks
            return _on_cpu(graph, ready, newest)
        raise


def _on_cpu(graph: Graph, ready: Graph, opset: int) -> Prepared:
    try:
        return _loaded(graph, ready, opset)
    except (ExportError, RuntimeLoadError):
        if not _localise(ready):
            raise
        return _loaded(graph, ready, opset)


def _loaded(graph: Graph, ready: Graph, opset: int) -> Prepared:
    target = make_target(opset)
    report = check(ready, target)
    if not report.ok:
        raise ExportError(report)
    proto = to_proto(ready, target)
    return Prepared(graph, proto, _onnxruntime(proto))


def _onnxruntime(model: ModelProto) -> Engine:
    from isomorph.runtime.ort import Session

    return Session(model.SerializeToString(), optimize=True).run


def _localise(graph: Graph) -> bool:
    """Name a locale that every glibc has wherever none is named; whether there was such a place."""
    silent = [
        op for _, op in graph.walk() if op.type == "StringNormalizer" and not op.attr("locale")
    ]
    for op in silent:
        op.attributes = {**op.attributes, "locale": "C.UTF-8"}
    return bool(silent)


def _reference(model: ModelProto) -> Engine:
    from onnx.reference import ReferenceEvaluator

    try:
        evaluator = ReferenceEvaluator(model)
    except Exception as error:
        raise UnsupportedError(
            f"the reference interpreter does not take the model: {type(error).__name__}: {error}"
        ) from error

    def run(feeds: dict[str, Any]) -> list[Any]:
        try:
            with np.errstate(all="ignore"):
                return [*cast("Any", evaluator).run(None, feeds)]
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise RunError(f"the reference interpreter fails: {text}") from error

    return run


# -- inputs -----------------------------------------------------------------------------------


def _bind(graph: Graph, inputs: Any) -> dict[str, Any]:
    """Values by name, each of its input's kind."""
    values = graph.inputs
    given: dict[str, Any]
    if isinstance(inputs, dict):
        given = cast("dict[str, Any]", inputs)
        unknown = sorted(set(given) - {v.name for v in values})
        if unknown:
            raise InputError(f"{graph.name} has no inputs {', '.join(unknown)}")
    else:
        listed: list[Any] = [*inputs] if isinstance(inputs, list | tuple) else [inputs]
        if len(listed) > len(values):
            raise InputError(f"{len(listed)} inputs were given, {graph.name} has {len(values)}")
        given = {v.name: a for v, a in zip(values, listed, strict=False)}
    missing = [v.name for v in values if v.name not in given and not _optional(v)]
    if missing:
        raise InputError(f"inputs of {graph.name} are missing: {', '.join(missing)}")
    return {v.name: _fit(v.name, given.get(v.name), v.type) for v in values}


def _optional(value: Value) -> bool:
    return isinstance(value.type, OptionalType)


def _fit(name: str, given: Any, kind: Type | None) -> Any:
    match kind:
        case OptionalType():
            return None if given is None else _fit(name, given, kind.element)
        case SequenceType():
            if given is None:
                raise InputError(f"input {name!r} is None, {kind} is wanted")
            return [_fit(name, item, kind.element) for item in given]
        case TensorType():
            if given is None:
                raise InputError(f"input {name!r} is None, {kind} is wanted")
            if isinstance(given, np.ndarray | np.generic):
                return np.asarray(cast("Any", given))
            return np.asarray(given).astype(kind.dtype.numpy)
        case _:
            return given


__all__ = ["CPU", "CUDA", "REFERENCE", "SIM", "prepare", "run_model", "supports_device"]
