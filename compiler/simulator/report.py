"""What the simulator found, at lines of the kernel's source."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

INTERNAL = ("sim.hpp", "dialect/core.cuh", "dialect/memory.cuh", "dialect/mma.cuh")
"""Where wrappers live: a finding stands at whoever called them."""


class SimulationError(RunError):
    """A kernel that broke a rule of the machine; carries the findings.

    Attributes:
        findings: each with file:line.
    """

    def __init__(self, kernel: str, findings: Sequence[Finding]) -> None:
        shown = "\n  ".join(map(str, findings))
        super().__init__(f"{kernel}: the simulator found\n  {shown}")
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule broken at one place.

    Attributes:
        kind: what happened.
        where: file:line of the access, or of where threads wait.
        other: file:line of the access that it conflicts with, if there is one.
        count: how often.
        block, thread: of the first time.
    """

    kind: str
    where: str
    other: str = ""
    count: int = 1
    block: str = ""
    thread: str = ""

    def __str__(self) -> str:
        other = f" (the other access: {self.other})" if self.other else ""
        times = f", {self.count} times" if self.count > 1 else ""
        return f"{self.where}: {self.kind}{other}; block {self.block}, thread {self.thread}{times}"


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests of one line: one per warp that executes it.

    Attributes:
        where: file:line.
        space: `shared` or `global`.
        kind: `read`, `write` or `atomic`.
        size: bytes a lane.
        requests: how many.
        units: sectors of 32 bytes for global memory, wavefronts for shared memory.
        bytes: that lanes asked for.
    """

    where: str
    space: str
    kind: str
    size: int
    requests: int
    units: int
    bytes: int

    @property
    def units_per_request(self) -> float:
        """Sectors, or wavefronts, per request."""
        return self.units / self.requests


def failures(text: str, library: Path) -> list[Finding]:
    """The findings of a launch that did not end, from the scheduler's report."""
    rows = [line.split("\t") for line in text.splitlines() if line.strip()]
    places = locate(library, (int(r[2], 16) for r in rows))
    return [Finding(r[1], places[int(r[2], 16)], "", int(r[5] or 1), r[3], r[4]) for r in rows]


def findings(text: str, library: Path) -> tuple[list[Finding], list[Traffic]]:
    """Findings and traffic from the checker's report."""
    rows = [line.split("\t") for line in text.splitlines()]
    pcs = [int(p, 16) for r in rows for p in (r[2:4] if r[0] == "F" else r[1:2])]
    places = locate(library, pcs)
    found: dict[tuple[str, str, str], Finding] = {}
    traffic: dict[tuple[str, str, str, int], list[int]] = {}
    for r in rows:
        if r[0] == "F":
            where, other = places[int(r[2], 16)], places[int(r[3], 16)]
            known = found.get((r[1], where, other))
            count = int(r[4]) + (known.count if known else 0)
            found[r[1], where, other] = Finding(r[1], where, other, count, r[5], r[6])
        else:
            space = "shared" if r[2] == "1" else "global"
            kind = ("read", "write", "atomic")[int(r[3])]
            key = places[int(r[1], 16)], space, kind, int(r[4])
            totals = traffic.setdefault(key, [0, 0, 0])
            for n, column in enumerate(r[5:8]):
                totals[n] += int(column)
    return list(found.values()), [Traffic(*k, *v) for k, v in sorted(traffic.items())]


def locate(library: Path, pcs: Iterable[int]) -> dict[int, str]:
    """file:line of code addresses, through inlined wrappers; an address of 0 has none."""
    wanted = sorted({pc for pc in pcs if pc})
    places = {0: ""}
    tool = shutil.which("addr2line")
    if not wanted:
        return places
    if tool is None:
        return places | {pc: f"address {pc:#x} (install binutils for lines)" for pc in wanted}
    command = [tool, "-a", "-i", "-e", str(library), *(hex(pc - 1) for pc in wanted)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    frames: dict[int, list[str]] = {}
    current: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            current = frames.setdefault(int(line, 16) + 1, [])
        else:
            current.append(_short(line.partition(" (")[0]))
    for pc in wanted:
        chain = frames.get(pc) or [f"address {pc:#x}"]
        own = [f for f in chain if not f.startswith(INTERNAL) and "?" not in f]
        places[pc] = (own or chain)[0]
    return places


def _short(place: str) -> str:
    """The path below the kernels' folder; addr2line joins a folder to the names of `#line`."""
    for mark in ("/dialect/", "dialect/"):
        if mark in place:
            return "dialect/" + place.rpartition("dialect/")[2]
    return place.rpartition("/")[2]
