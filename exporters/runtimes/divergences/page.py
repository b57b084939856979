"""The known divergences as text: the page of the documentation, and the table of the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.runtimes.divergences.entry import KINDS, Dies, Gives, Off, Stale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.exporters.runtimes.divergences.entry import Divergence, Outcome, Probe

NAME = "divergences.md"
MOST = 12
"""Elements of an array that is shown whole."""
HEAD = """\
# Known divergences of onnxruntime

What onnxruntime's CPU provider is known to compute otherwise than ONNX defines: written by
`isomorph divergences --write` from `exporters/runtimes/divergences`. Each entry has probes, which
`isomorph divergences --probe` and the tests run against the installed release: one that gives what
is defined, or something else than is stated here, fails, so that nothing stays listed that is gone.

`verify` judges each as the column says (RUNTIME and UNSPECIFIED never turn a right export into a
failed one) and cites it by name. What an optimizer makes is blamed on that optimizer, by the name
that `disabled_optimizers` takes. `check` warns where a graph uses an operator in such a way, in one
line for each divergence; where any use of that sort is wrong it tells a risk (`limitations.py`).
"""


def render() -> str:
    """The page."""
    parts = [HEAD]
    for kind, words in KINDS.items():
        entries = [e for e in DIVERGENCES.values() if e.kind == kind]
        if not entries:
            continue
        rows = "".join(_row(entry) for entry in entries)
        parts.append(
            f"\n## {kind[0].upper()}{kind[1:]}\n\n{words[0].upper()}{words[1:]}.\n\n"
            f"| divergence | operators | verdict | `check` |\n|---|---|---|---|\n{rows}"
        )
        parts += map(_section, entries)
    return "".join(parts)


def operators(entry: Divergence) -> str:
    """Its operators, each with the versions at which it is shown."""
    return ", ".join(
        f"{'.'.join(filter(None, key))}-{'/'.join(map(str, versions))}"
        for key, versions in entry.versions.items()
    )


def told_by_check(entry: Divergence) -> str:
    """How `check` tells it."""
    return "risk" if entry.limited else "warning" if entry.when is not None else ""


def _row(entry: Divergence) -> str:
    verdicts = dict.fromkeys(probe.judged or entry.judged for probe in entry.probes)
    cells = (
        f"[{entry.name}](#{entry.name})",
        operators(entry),
        ", ".join(verdicts),
        told_by_check(entry),
    )
    return f"| {' | '.join(cells)} |\n"


def _section(entry: Divergence) -> str:
    probe = entry.probes[0]
    lines = [
        f"**onnxruntime {', '.join(entry.releases)}**: {entry.what}.",
        f"Defined: {entry.spec}.",
        f"Source: {entry.source}.",
    ]
    if entry.optimizer:
        lines.insert(1, f"Made by the optimizer `{entry.optimizer}`.")
    if entry.issue:
        lines.append(f"Reported: <{entry.issue}>.")
    if entry.remedy:
        lines.append(f"Remedy: {entry.remedy}.")
    example = f"```\n{probe.body}\n{_fed(probe)}\n{_shown(probe)}\n```"
    said = "\n".join(f"- {line}" for line in lines)
    return f"\n### {entry.name}\n\n{said}\n\n{example}\n"


def _fed(probe: Probe) -> str:
    names = [part.split()[-1] for part in probe.inputs.split(", ") if " " in part.strip()]
    names = [n for n in names if not n.endswith("]")][-len(probe.feeds) :] if probe.feeds else []
    return ", ".join(f"{n} = {text(v)}" for n, v in zip(names, probe.feeds, strict=False))


def _shown(probe: Probe) -> str:
    wanted = ", ".join(map(text, probe.wanted)) if probe.wanted else "left open"
    return f"gives   {outcome(probe.gives)}\ndefined {wanted}"


def outcome(gives: Outcome) -> str:
    """What the run time gives, in words."""
    match gives:
        case Gives(values):
            return ", ".join(map(text, values))
        case Off(low, high, of_largest):
            place = "the largest element" if of_largest else "each element"
            return f"an error of {low:g} to {high:g} units in the last place of {place}"
        case Dies(signal):
            return f"nothing: the process dies of {signal}"
        case Stale():
            return "whatever lies in memory"


def text(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(text, cast('list[Any]', value)))}]"
    return _array(cast("Any", value)) if isinstance(value, np.ndarray) else str(value)


def _array(value: np.ndarray) -> str:
    if not value.size:
        return f"{value.dtype}{list(value.shape)}"
    if value.size > MOST:
        return f"{value.dtype}{list(value.shape)} {_number(value.reshape(-1)[0])}, …"
    return " ".join(np.array2string(value, separator=", ", formatter={"all": _number}).split())


def _number(value: Any) -> str:
    if isinstance(value, float) or np.asarray(value).dtype.kind == "f":
        return f"{float(value):.9g}"
    return repr(value) if isinstance(value, str) else str(value)


def table(entries: Iterable[Divergence]) -> str:
    """One line each, for a terminal."""
    return "\n".join(
        f"{entry.name:28} {entry.kind:17} {operators(entry)}\n    {entry.what}" for entry in entries
    )


def whole(entry: Divergence) -> str:
    """Everything about one, for a terminal."""
    lines = [
        f"{entry.name}: {entry.kind}, {operators(entry)}",
        f"  onnxruntime {', '.join(entry.releases)}: {entry.what}",
        f"  defined: {entry.spec}",
        f"  source: {entry.source}",
        f"  verdict: {entry.judged}",
    ]
    optional = (
        ("optimizer", entry.optimizer),
        ("reported", entry.issue),
        ("check tells a", told_by_check(entry)),
        ("remedy", entry.remedy),
    )
    lines += [f"  {name}: {said}" for name, said in optional if said]
    for probe in entry.probes:
        shown = (probe.body, *filter(None, (_fed(probe),)), *_shown(probe).splitlines())
        lines += ["", *(f"  {line}" for line in shown)]
    return "\n".join(lines)


def document(entry: Divergence) -> dict[str, Any]:
    """Everything about one, as plain data."""
    return {
        "name": entry.name,
        "ops": [
            {"domain": key[0], "op": key[1], "versions": list(versions)}
            for key, versions in entry.versions.items()
        ],
        "kind": entry.kind,
        "what": entry.what,
        "spec": entry.spec,
        "source": entry.source,
        "issue": entry.issue,
        "verdict": entry.judged,
        "optimizer": entry.optimizer,
        "check": told_by_check(entry),
        "remedy": entry.remedy,
        "runtime": entry.runtime,
        "releases": list(entry.releases),
        "probes": [
            {
                "model": probe.text(opset),
                "inputs": [text(v) for v in probe.feeds],
                "gives": outcome(probe.gives),
                "defined": [text(v) for v in probe.wanted] or None,
            }
            for probe in entry.probes
            for opset in probe.opsets
        ],
    }
