"""The adaptor to onnxruntime: sessions, in this process or in one that may die."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.budget import MORE_MEMORY, MORE_TIME, BudgetError, size_text
from isomorph.ir.types import DType
from isomorph.ir.weights import Buffer, Weight
from isomorph.runtime.contain import is_exhausted
from isomorph.runtime.errors import RunError, RuntimeLoadError
from isomorph.runtime.found import module
from isomorph.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isomorph.ir.budget import Limits

PROVIDERS = ("CPUExecutionProvider",)
LOAD_SECONDS = 600.0
START_SECONDS = 60.0
"""What starting a process and importing onnxruntime may take, before it loads anything."""

_LOADER = (
    "import sys; from isomorph.runtime.contain import limit_memory; "
    "from isomorph.runtime.ort import Session, module; module(); "
    "limit_memory(int(sys.argv[2]) or None); print('ready', flush=True); "
    "Session(sys.argv[1], optimize=True)"
)


class Session:
    """A loaded model on the CPU provider, one thread, silent.

    Args:
        model: the path of an .onnx file (external data is found beside it), or its bytes.
        optimize: let onnxruntime rewrite the graph, as it does by default; off for judging nodes.
        threads: intra-op threads.
        settings: of the user's own, which come on top.
        disabled: names of its optimizers that shall not.

    Raises:
        RuntimeLoadError: when onnxruntime does not take the model; carries its own words.
        SettingsError: when it does not take the settings.
    """

    def __init__(
        self,
        model: str | Path | bytes,
        *,
        optimize: bool,
        threads: int = 1,
        settings: Settings | None = None,
        disabled: Sequence[str] = (),
    ) -> None:
        ort = module()
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        level = ort.GraphOptimizationLevel
        options.graph_optimization_level = (
            level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
        )
        if not optimize:
            options.enable_mem_pattern = False
        source = model if isinstance(model, bytes) else str(model)
        own = [] if settings is None else settings.apply(ort, options, optimize=optimize)
        providers = own or list(PROVIDERS)
        try:
            self._session: Any = ort.InferenceSession(
                source, options, providers=providers, disabled_optimizers=list(disabled)
            )
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            name = "the model" if isinstance(model, bytes) else str(model)
            raise RuntimeLoadError(f"onnxruntime does not load {name}: {clean(error)}") from None
        _check_providers(settings, self._session.get_providers())
        self.inputs: tuple[str, ...] = tuple(v.name for v in self._session.get_inputs())
        self.outputs: tuple[str, ...] = tuple(v.name for v in self._session.get_outputs())
        self._foreign = {v.name for v in self._session.get_outputs() if v.type in _FOREIGN_NAMES}
        self._maps = {
            v.name: np.dtype(_MAP_VALUES[found[1]])
            for v in self._session.get_outputs()
            if (found := _MAP.search(v.type)) is not None
        }

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str] | None = None) -> list[Any]:
        """The outputs, in the model's order or as named.

        Raises:
            RunError: when a kernel refuses its operands; carries onnxruntime's own words.
        """
        ort = module()
        given = {name: _feed(array, ort) for name, array in feeds.items() if name in self.inputs}
        wanted: tuple[str, ...] = self.outputs if outputs is None else tuple(outputs)
        try:
            if self._foreign.isdisjoint(wanted):
                found = self._session.run(wanted, given)
                maps = [self._maps.get(name) for name in wanted]
                return [v if m is None else _typed(v, m) for v, m in zip(found, maps, strict=True)]
            values = {
                name: ort.OrtValue.ortvalue_from_numpy(v) if isinstance(v, np.ndarray) else v
                for name, v in given.items()
            }
            return [_fetch(v) for v in self._session.run_with_ort_values(wanted, values)]
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise RunError(f"onnxruntime fails: {clean(error)}") from None


def _check_providers(settings: Settings | None, have: Sequence[str]) -> None:
    """Onnxruntime goes on without a provider that does not start, and says so in its log alone."""
    for name, _ in settings.providers if settings is not None else ():
        if name not in have:
            raise SettingsError(
                f"provider {name!r} does not start on this machine: onnxruntime went on with "
                f"{', '.join(have)}"
            )


def load_in_subprocess(path: str | Path, limits: Limits | None = None) -> None:
    """Load a model as its user will, in a process that may die.

    Args:
        path: of the model.
        limits: of its time and memory; ten minutes and any memory by default.

    Raises:
        RuntimeLoadError: when it is refused, or kills the process.
        BudgetError: when it takes more than its limits.
    """
    seconds = LOAD_SECONDS if limits is None else limits.seconds
    memory = None if limits is None else limits.memory
    command = [sys.executable, "-c", _LOADER, str(path), str(memory or 0)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own code
            command, stdout=subprocess.PIPE, stderr=said, encoding="utf-8"
        )
        with process:
            try:
                code = _ended(process, path, seconds)
            finally:
                process.kill()  # does nothing where it is over
        said.seek(0)
        lines = [line for line in said.read().splitlines() if line.strip()]
    if code < 0:
        raise RuntimeLoadError(f"onnxruntime died with {signal_name(-code)} while it loaded {path}")
    if code:
        text = lines[-1] if lines else f"exit code {code}"
        if memory is not None and (is_exhausted(text) or "MemoryError" in text):
            raise BudgetError(
                f"onnxruntime needs more than {size_text(memory)} to load {path}; {MORE_MEMORY}",
                "memory",
            )
        raise RuntimeLoadError(text.partition("RuntimeLoadError: ")[2] or text)


def _ended(process: subprocess.Popen[str], path: str | Path, seconds: float | None) -> int:
    """The exit code of a process that says when it begins, and then has so much time."""
    started = threading.Event()

    def read() -> None:
        if process.stdout is not None:
            process.stdout.readline()
        started.set()

    threading.Thread(target=read, daemon=True).start()
    if not started.wait(START_SECONDS):
        raise RuntimeLoadError(f"onnxruntime did not start within {START_SECONDS:.0f} seconds")
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise BudgetError(
            f"onnxruntime did not load {path} within {seconds:.3g} seconds; {MORE_TIME}", "time"
        ) from None


def signal_name(number: int) -> str:
    """`SIGFPE` and the like."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def clean(error: BaseException) -> str:
    """The words of an onnxruntime error on one line, without its code and address prefix."""
    text = " ".join(str(error).split())
    return text.partition("] : ")[2].partition(" : ")[2].partition(" : ")[2] or text


def _feed(array: Any, ort: Any) -> Any:
    """What the binding takes: element types that numpy lacks go in as packed bits."""
    if isinstance(array, list):
        return [_feed(item, ort) for item in cast("list[Any]", array)]
    if isinstance(array, dict):
        entries = cast("dict[Any, Any]", array).items()
        return {_scalar(k): _scalar(v) for k, v in entries}
    if array is None:
        return None
    array = np.asarray(array)
    if array.dtype.kind in "OUST" or DType.of(array.dtype) not in FOREIGN:
        return array
    dtype = DType.of(array.dtype)
    packed = np.frombuffer(Weight.of(array, dtype).view(), np.uint8)
    room = np.zeros(array.nbytes, np.uint8)
    room[: packed.size] = packed
    bits = cast("Any", room).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, dtype.value)


def _scalar(value: Any) -> Any:
    """The plain number or text that the binding wants in a map."""
    return cast("Any", value).item() if isinstance(value, np.ndarray | np.generic) else value


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    """A map, or a sequence of them, with values of its own dtype: the binding makes them plain."""
    if isinstance(value, list):
        return [_typed(item, dtype) for item in cast("list[Any]", value)]
    if dtype.kind == "O":
        return value
    return {k: dtype.type(v) for k, v in cast("dict[Any, Any]", value).items()}


def _fetch(value: Any) -> Any:
    """An output as numpy; element types that numpy lacks come as ml_dtypes arrays."""
    if not value.is_tensor():
        return value.numpy()
    dtype = DType(value.element_type())
    if dtype not in FOREIGN:
        return value.numpy()
    shape = tuple(value.shape())
    size = value.tensor_size_in_bytes()
    data = ctypes.string_at(value.data_ptr(), size) if size else b""
    return Weight(dtype, shape, Buffer(data)).numpy()


FOREIGN = frozenset(d for d in DType if d.numpy.kind == "V" or d.name.startswith("FLOAT8"))
"""Element types that the binding moves as bits only."""

_FOREIGN_NAMES = frozenset(d.schema_name for d in FOREIGN)

_MAP = re.compile(r"map\(\w+,tensor\((\w+)\)\)")
_MAP_VALUES = {"float": "float32", "double": "float64", "int64": "int64", "string": "object"}
"""How onnxruntime writes the type of a map, and the dtypes of the values that maps have."""
