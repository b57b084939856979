"""The committed record of what was measured, operator by operator."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.ir.schema import normal_domain

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

PATH = Path(__file__).with_name("ledger.json")


@dataclass(frozen=True, slots=True)
class Tally:
    """Parity cases behind one cell: how many there were, and how many passed."""

    passed: int = 0
    tried: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.passed + other.passed, self.tried + other.tried)

    def __bool__(self) -> bool:
        """Whether every case passed, and there was one."""
        return 0 < self.passed == self.tried


@dataclass(frozen=True, slots=True)
class Entry:
    """What was measured of one operator.

    Attributes:
        digest: of everything the measurements depend on.
        family: whose operator it is.
        imports: version → cases read at that version, upgraded, and equal in float64.
        exports: opset → cases written for it, and equal in float64.
        dtypes: element type → cases run by onnxruntime and judged by parity, over all opsets.
        refused: element type → opsets at which onnxruntime has no kernel for what is written.
        stuck: reason → opsets that cannot express some use.
        failures: what went wrong, in words.
        spellings: functions of the array front end that use it.
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
            data[name] = {str(k): f"{t.passed}/{t.tried}" for k, t in sorted(tallies.items())}
        for name in ("refused", "stuck"):
            data[name] = {k: spans(v) for k, v in sorted(getattr(self, name).items())}
        return data

    @staticmethod
    def of_json(data: dict[str, Any]) -> Entry:
        """The entry that `to_json` wrote."""
        return Entry(
            data["digest"],
            data["family"],
            {int(k): _tally(t) for k, t in data["imports"].items()},
            {int(k): _tally(t) for k, t in data["exports"].items()},
            {k: _tally(t) for k, t in data["dtypes"].items()},
            {k: numbers(v) for k, v in data["refused"].items()},
            {k: numbers(v) for k, v in data["stuck"].items()},
            tuple(data["failures"]),
            tuple(data["spellings"]),
        )


@dataclass
class Ledger:
    """Every operator's entry, and the releases they were measured with."""

    releases: dict[str, str] = field(default_factory=dict[str, str])
    entries: dict[Key, Entry] = field(default_factory=dict["Key", Entry])

    def dump(self) -> str:
        """The committed text: sorted, one operator a paragraph."""
        data: dict[str, dict[str, Any]] = {}
        for (domain, name), entry in sorted(self.entries.items()):
            data.setdefault(domain or "ai.onnx", {})[name] = entry.to_json()
        document = {"schema_version": 1, "releases": self.releases, "ops": data}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    @staticmethod
    def load(path: Path = PATH) -> Ledger:
        """The ledger of a file; an empty one when there is none."""
        if not path.is_file():
            return Ledger()
        data = json.loads(path.read_text(encoding="utf-8"))
        entries = {
            (normal_domain(domain), name): Entry.of_json(entry)
            for domain, names in data["ops"].items()
            for name, entry in names.items()
        }
        return Ledger(data["releases"], entries)


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


def _tally(text: str) -> Tally:
    passed, _, tried = text.partition("/")
    return Tally(int(passed), int(tried))
