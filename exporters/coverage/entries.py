"""What was measured of one operator, and of one use of torch's operators."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Tally:
    """Cases behind one cell: how many there were, and how many passed."""

    passed: int = 0
    tried: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.passed + other.passed, self.tried + other.tried)

    def __bool__(self) -> bool:
        """Whether every case passed, and there was one."""
        return 0 < self.passed == self.tried

    def __str__(self) -> str:
        return f"{self.passed}/{self.tried}"

    @staticmethod
    def of(text: str) -> Tally:
        """The tally that was written as `3/4`."""
        passed, _, tried = text.partition("/")
        return Tally(int(passed), int(tried))


@dataclass(frozen=True, slots=True)
class Kernels:
    """What our own kernels make of an operator, on the simulator.

    Attributes:
        digest: of the kernels, their launches, their operands, and how results are judged.
        dtypes: element type → uses that have kernels, run, and are judged by parity.
        lacking: element type → how many uses have no kernel, and why the first of them has none.
        failures: what went wrong, in words.
    """

    digest: str = ""
    dtypes: dict[str, Tally] = field(default_factory=dict[str, Tally])
    lacking: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    failures: tuple[str, ...] = ()

    @property
    def cases(self) -> Tally:
        """Every use that was run."""
        return sum(self.dtypes.values(), Tally())

    def to_json(self) -> dict[str, Any]:
        """As plain data; `of_json` reads it."""
        tallies = {k: str(t) for k, t in sorted(self.dtypes.items())}
        lacking = {k: f"{n}: {why}" for k, (n, why) in sorted(self.lacking.items())}
        return {**asdict(self), "dtypes": tallies, "lacking": lacking}

    @staticmethod
    def of_json(data: dict[str, Any]) -> Kernels:
        """What `to_json` wrote."""
        told = {k: text.split(": ", 1) for k, text in data["lacking"].items()}
        return Kernels(
            data["digest"],
            {k: Tally.of(t) for k, t in data["dtypes"].items()},
            {k: (int(count), why) for k, (count, why) in told.items()},
            tuple(data["failures"]),
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """What was measured of one operator.

    Attributes:
        digest: of everything the measurements depend on, kernels aside.
        family: whose operator it is.
        imports: version → cases read at that version, upgraded, and equal in float64.
        exports: opset → cases written for it, and equal in float64.
        dtypes: element type → cases run by onnxruntime and judged by parity, over all opsets.
        refused: element type → opsets at which onnxruntime has no kernel for what is written.
        stuck: reason → opsets that cannot express some use.
        failures: what went wrong, in words.
        spellings: functions of the array front end that use it.
        kernels: what our own kernels make of it.
    """

    digest: str
    family: str
    imports: dict[int, Tally] = field(default_factory=dict[int, Tally])
    exports: dict[int, Tally] = field(default_factory=dict[int, Tally])
    dtypes: dict[str, Tally] = field(default_factory=dict[str, Tally])
    refused: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    stuck: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    failures: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    kernels: Kernels = field(default_factory=Kernels)

    @property
    def cases(self) -> Tally:
        """Every case that onnxruntime ran."""
        return sum(self.dtypes.values(), Tally())

    @property
    def opsets(self) -> tuple[int, ...]:
        """Opsets at which every use can be written, with the same meaning."""
        return tuple(o for o, t in sorted(self.exports.items()) if t)

    def to_json(self) -> dict[str, Any]:
        """As plain data; `of_json` reads it."""
        data = asdict(self)
        for name in ("imports", "exports", "dtypes"):
            tallies: dict[Any, Tally] = getattr(self, name)
            data[name] = {str(k): str(t) for k, t in sorted(tallies.items())}
        for name in ("refused", "stuck"):
            data[name] = {k: spans(v) for k, v in sorted(getattr(self, name).items())}
        return {**data, "kernels": self.kernels.to_json()}

    @staticmethod
    def of_json(data: dict[str, Any]) -> Entry:
        """The entry that `to_json` wrote."""
        return Entry(
            data["digest"],
            data["family"],
            {int(k): Tally.of(t) for k, t in data["imports"].items()},
            {int(k): Tally.of(t) for k, t in data["exports"].items()},
            {k: Tally.of(t) for k, t in data["dtypes"].items()},
            {k: numbers(v) for k, v in data["refused"].items()},
            {k: numbers(v) for k, v in data["stuck"].items()},
            tuple(data["failures"]),
            tuple(data["spellings"]),
            Kernels.of_json(data["kernels"]) if "kernels" in data else Kernels(),
        )


@dataclass(frozen=True, slots=True)
class TorchUse:
    """What was measured of one small function on torch tensors.

    Attributes:
        digest: of everything the measurement depends on.
        reached: torch operator, as the captured program names it → what it became.
        cases: sets of inputs on which the exported model was compared with torch itself.
        failure: why it was not accepted; empty when it was.
    """

    digest: str
    reached: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    cases: int = 0
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data; `of_json` reads it."""
        reached = {name: list(ops) for name, ops in sorted(self.reached.items())}
        return {**asdict(self), "reached": reached}

    @staticmethod
    def of_json(data: dict[str, Any]) -> TorchUse:
        """The use that `to_json` wrote."""
        reached = {name: tuple(ops) for name, ops in data["reached"].items()}
        return TorchUse(data["digest"], reached, data["cases"], data["failure"])


def spans(values: tuple[int, ...] | list[int]) -> str:
    """`11–16, 20` for those numbers, ascending."""
    runs: list[list[int]] = []
    for n in values:
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


def numbers(text: str) -> tuple[int, ...]:
    """The numbers that `spans` wrote."""
    found: list[int] = []
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("–")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)
