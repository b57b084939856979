"""The pytest plugin: how parity is tested in this run, and every verdict at its end.

pytest loads it in every project where isomorph is installed: what is heavy is imported when a
parity test runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from isomorph.parity.journal import Choice, Journal, close_journal, open_journal

if TYPE_CHECKING:
    from collections.abc import Generator

    from isomorph.parity.verdict import Verdict

PROFILES = ("ordinary", "hostile", "all")
PROPERTY = "isomorph_parity"
"""A verdict in a test's report, as JSON text: it reaches the terminal from other processes too."""
OPTIONS = (
    ("cases", "how many inputs each parity test tries"),
    ("seed", "of the inputs of parity tests"),
    ("profile", f"values that parity tests draw: {', '.join(PROFILES)}"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--parity-cases`, `--parity-seed`, `--parity-profile`, and the same in the configuration."""
    group = parser.getgroup("isomorph", "parity of models (isomorph)")
    for name, text in OPTIONS:
        outranks = f"{text}; outranks what a test says"
        group.addoption(f"--parity-{name}", metavar=name.upper(), default=None, help=outranks)
        parser.addini(f"parity_{name}", f"{text}, where a test says nothing", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Open the journal of this run."""
    forced = _choice("--parity-", {n: config.getoption(f"parity_{n}") for n, _ in OPTIONS})
    usual = _choice("parity_", {n: config.getini(f"parity_{n}") for n, _ in OPTIONS})
    config.pluginmanager.register(Run(Journal(forced, usual)), "isomorph-run")


class Run:
    """One run of tests: hears the verdicts, lists them at the end."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.verdicts: list[tuple[str, dict[str, Any]]] = []
        self._item: pytest.Item | None = None
        journal.hear = self._hear
        open_journal(journal)

    def pytest_unconfigure(self) -> None:
        """Close the journal."""
        close_journal(self.journal)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Know whose verdicts are heard."""
        self._item = item
        try:
            return (yield)
        finally:
            self._item = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the verdicts out of a finished test's report, whichever process ran it."""
        if report.when == "teardown":
            for key, text in report.user_properties:
                if key == PROPERTY:
                    self.verdicts.append((report.nodeid, json.loads(str(text))))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List every verdict; why one is bad, and where its replay is."""
        if not self.verdicts:
            return
        terminalreporter.section("parity")
        for test, told in self.verdicts:
            colour = "red" if told["exit_code"] else "green"
            head = f"{told['status']:<12}"
            terminalreporter.write(head, **{colour: True})
            terminalreporter.write_line(f" {test} ({told['model']}): {_figures(told)}")
            explained = told["exit_code"] or told["waived"]
            for line in (told["reason"] if explained else "").split("\n"):
                if line:
                    terminalreporter.write_line(f"    {line}")
            for label in ("weaker", "replay"):
                if told[label]:
                    terminalreporter.write_line(f"    {label}: {told[label]}")

    def _hear(self, name: str, verdict: Verdict) -> None:
        if self._item is not None:
            text = json.dumps({"model": name, **_brief(verdict)})
            self._item.user_properties.append((PROPERTY, text))


def _brief(verdict: Verdict) -> dict[str, Any]:
    """What the summary tells of a verdict."""
    document = verdict.to_json()
    worst = max(verdict.outputs, key=lambda o: (o.status.rank, o.max_ulp), default=None)
    keys = ("status", "exit_code", "reason", "cases", "wanted", "weaker", "replay")
    return {
        **{key: document[key] for key in keys},
        "waived": any(o.waived for o in verdict.outputs),
        "worst": None if worst is None else [worst.name, f"{worst.max_ulp:.3g}"],
    }


def _figures(told: dict[str, Any]) -> str:
    text = f"{told['cases']} cases"
    if told["cases"] < told["wanted"]:
        text += f" of {told['wanted']}"
    if told["worst"]:
        name, ulp = told["worst"]
        text += f", worst output {name} {ulp} ulp"
    return text


def _choice(prefix: str, texts: dict[str, Any]) -> Choice:
    """What the options say.

    Raises:
        pytest.UsageError: for values that are none.
    """
    cases, seed, profile = (texts[name] or None for name, _ in OPTIONS)
    if profile is not None and profile not in PROFILES:
        raise pytest.UsageError(
            f"{prefix}profile {profile!r}: expected one of {', '.join(PROFILES)}"
        )
    return Choice(_number(f"{prefix}cases", cases, 1), _number(f"{prefix}seed", seed, 0), profile)


def _number(name: str, text: str | None, least: int) -> int | None:
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < least:
        raise pytest.UsageError(f"{name} {text!r}: expected a whole number from {least} on")
    return int(text)
