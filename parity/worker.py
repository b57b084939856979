"""onnxruntime in a process of its own, which may die or hang without taking us along."""

from __future__ import annotations

import atexit
import pickle
import queue
import struct
import subprocess
import sys
import threading
from math import inf
from typing import TYPE_CHECKING, Any, cast

from isomorph.ir.budget import MORE_MEMORY, MORE_TIME, BudgetError, current, size_text
from isomorph.ir.errors import IsomorphError
from isomorph.runtime.contain import is_exhausted, limit_memory
from isomorph.runtime.errors import RunError, RuntimeLoadError
from isomorph.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import BinaryIO

RUN_SECONDS = 120.0
"""For one answer, where no budget says how long one may take."""
FAIR = 0.25
"""Share of a budget's time that an answer gets, however late it is asked for."""
EXHAUSTED = 77
"""Exit code of a process for which its inputs were too large."""
_LENGTH = struct.Struct("<Q")
_ERRORS = {
    "limit": RuntimeLoadError,
    "load": RuntimeLoadError,
    "run": RunError,
    "settings": SettingsError,
}
Message = list[bytearray]
"""A pickle, and the arrays that it refers to, so that those are not copied into it and out."""


class WorkerDiedError(IsomorphError):
    """The run time killed its process."""


class WorkerHungError(WorkerDiedError):
    """The run time did not answer in time; its process was killed."""


class Worker:
    """A child process with loaded sessions; started when first asked, and again after it died.

    It may take what the budget around a request allows: an answer in that time, and that much
    memory beyond what it had when it started.
    """

    def __init__(self, seconds: float = RUN_SECONDS) -> None:
        self.seconds = seconds
        self._memory: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[Message | None] = queue.Queue()
        self._loaded: dict[int, tuple[str, bool, Settings | None, tuple[str, ...]]] = {}
        self._count = 0

    def load(
        self,
        path: str | Path,
        *,
        optimize: bool,
        settings: Settings | None = None,
        disabled: tuple[str, ...] = (),
    ) -> int:
        """Load a model, without the optimizers of these names; the number is for `run`.

        Raises:
            RuntimeLoadError: when it is refused.
            SettingsError: when the settings are.
            WorkerDiedError: when loading kills the process.
            BudgetError: when it takes more than what is left of the budget, if there is one.
        """
        self._count += 1
        given = (str(path), optimize, settings, disabled)
        self._ask("load", self._count, *given)
        self._loaded[self._count] = given
        return self._count

    def check(self, settings: Settings) -> None:
        """Let onnxruntime make a session with the settings.

        Raises:
            SettingsError: when it does not, or dies of it.
        """
        try:
            self._ask("check", 0, settings)
        except WorkerDiedError as error:
            raise SettingsError(f"{error} while it took the session options") from error

    def run(self, session: int, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs of a loaded model.

        Raises:
            RunError: when a kernel refuses its operands.
            WorkerDiedError: when it kills the process; the session is loaded again when next used.
            BudgetError: as for `load`.
        """
        return self._ask("run", session, dict(feeds))

    def unload(self, session: int) -> None:
        """Forget a session."""
        if self._loaded.pop(session, None) is not None and self._process is not None:
            self._ask("unload", session)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def _ask(self, *message: Any) -> Any:
        budget = current()
        memory = None if budget is None or budget.room == inf else int(budget.room)
        if self._process is None:
            self._start()
            self._limit(memory)
            for number, given in self._loaded.items():
                self._exchange("load", number, *given)
        elif memory != self._memory:
            self._limit(memory)
        return self._exchange(*message)

    def _limit(self, memory: int | None) -> None:
        self._exchange("limit", 0, memory)
        self._memory = memory

    def _exchange(self, *message: Any) -> Any:
        process = self._process
        if process is None or process.stdin is None:
            raise WorkerDiedError("the worker is not running")
        seconds, late = self._patience()
        try:
            _write(cast("BinaryIO", process.stdin), message)
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            words = f"onnxruntime did not answer within {seconds:.2g} seconds"
            if late:
                raise BudgetError(f"{words}; {MORE_TIME}", "time") from None
            raise WorkerHungError(words) from None
        except OSError:
            answer = None
        except BaseException:  # an interruption: the answer that is still to come is nobody's
            self.close()
            raise
        if answer is None:
            code = process.wait()
            self.close()
            if code == EXHAUSTED and self._memory is not None:
                raise _exhausted(self._memory)
            from isomorph.runtime.ort import signal_name

            how = signal_name(-code) if code < 0 else f"exit code {code}"
            raise WorkerDiedError(f"onnxruntime killed its process ({how})")
        kind, value = _loaded(answer)
        if kind == "result":
            return value
        if self._memory is not None and is_exhausted(value):
            raise _exhausted(self._memory, f" ({value})")
        raise _ERRORS.get(kind, IsomorphError)(value)

    def _patience(self) -> tuple[float, bool]:
        """Seconds to wait, and whether most of the budget was gone before onnxruntime was asked."""
        budget = current()
        if budget is None or budget.limits.seconds is None:
            return self.seconds, False
        whole = budget.limits.seconds
        seconds = max(budget.left, FAIR * whole)
        return seconds, seconds < whole / 2

    def _start(self) -> None:
        command = [sys.executable, "-m", "isomorph.parity.worker"]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own code
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._answers = queue.Queue()
        given = self._process.stdout, self._answers
        threading.Thread(target=_pump, args=given, daemon=True).start()


def _exhausted(memory: int, words: str = "") -> BudgetError:
    return BudgetError(
        f"onnxruntime needs more than the {size_text(memory)} that may be taken at once{words}; "
        f"{MORE_MEMORY}",
        "memory",
    )


def shared() -> Worker:
    """The worker that verifications of this process have in common."""
    global _shared  # noqa: PLW0603 - one process, kept warm
    if _shared is None:
        _shared = Worker()
        atexit.register(_shared.close)
    return _shared


_shared: Worker | None = None


def _write(stream: BinaryIO, value: Any) -> None:
    arrays: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(data), *(a.raw() for a in arrays)]
    stream.write(_LENGTH.pack(len(parts)))
    for part in parts:
        stream.write(_LENGTH.pack(part.nbytes))
        stream.write(part)
    stream.flush()


def _read(stream: BinaryIO) -> Message | None:
    count = _length(stream)
    message: Message = []
    for _ in range(count or 0):
        length = _length(stream)
        if length is None:
            return None
        part = bytearray(length)
        if stream.readinto(part) < length:  # type: ignore[attr-defined] - of buffered streams
            return None
        message.append(part)
    return message or None


def _length(stream: BinaryIO) -> int | None:
    head = stream.read(_LENGTH.size)
    return _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else None


def _loaded(message: Message) -> Any:
    data, *arrays = message
    return pickle.loads(data, buffers=arrays)  # noqa: S301 - between us and our own child


def _pump(stream: BinaryIO | None, answers: queue.Queue[Message | None]) -> None:
    try:
        while stream is not None and (data := _read(stream)) is not None:
            answers.put(data)
    except (OSError, ValueError):
        pass  # the stream was closed with its process
    answers.put(None)


def _request(requests: BinaryIO) -> Message | None:
    try:
        return _read(requests)
    except MemoryError:
        sys.exit(EXHAUSTED)


def _serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the parent is gone."""
    from isomorph.runtime.ort import Session, module

    sessions: dict[int, Session] = {}
    while (data := _request(requests)) is not None:
        action, number, *rest = _loaded(data)
        try:
            if action == "limit":
                module()  # what onnxruntime itself takes is none of the model's
                limit_memory(rest[0])
                answer: tuple[str, Any] = ("result", None)
            elif action == "load":
                sessions[number] = Session(
                    rest[0], optimize=rest[1], settings=rest[2], disabled=rest[3]
                )
                answer = ("result", None)
            elif action == "check":
                Session(_identity(), optimize=True, settings=rest[0])
                answer = ("result", None)
            elif action == "run":
                answer = ("result", sessions[number].run(rest[0]))
            else:
                sessions.pop(number, None)
                answer = ("result", None)
        except (RuntimeLoadError, RunError) as error:
            answer = ("settings" if action == "check" else action, str(error))
        except SettingsError as error:
            answer = ("settings", str(error))
        except MemoryError:
            answer = (action, "bad allocation")
        except Exception as error:  # noqa: BLE001 - the parent must hear of it, whatever it is
            answer = ("error", f"{type(error).__name__}: {error}")
        try:
            _write(replies, answer)
        except MemoryError:  # nothing was written: the arrays go out as they are
            _write(replies, (action, "bad allocation"))


def _identity() -> bytes:
    """A model that every release loads."""
    from onnx import TensorProto, helper

    given, result = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy")
    node = helper.make_node("Identity", ["x"], ["y"])
    graph = helper.make_graph([node], "identity", [given], [result])
    opsets = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=7).SerializeToString()


def main() -> None:
    """The child's main: replies go to the original standard output, prints to standard error."""
    import os

    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
