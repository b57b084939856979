"""A model that never ends, or takes gigabytes, ends every command in time, with a remedy."""

from __future__ import annotations

import resource
import signal
import time

import numpy as np
import pytest

from isomorph.cli import guard
from isomorph.cli.options import OptionError, limits
from isomorph.ir.budget import BudgetError, Limits, bounded
from isomorph.ir.graph import Graph
from isomorph.ir.semantics import evaluate

BODY = "b (int64 i, bool c, float[n] s) => (bool d, float[n] r) { d = Identity(c) r = Neg(s) }"
ENDLESS = f"""g (float[n] x) => (float[n] y) <bool t = {{1}}>
{{ y = Loop <body = {BODY}> (, t, x) }}"""
HUGE = """g (float[n] x) => (float[68719476736] y) <int64[1] s = {68719476736}, float[1] w = {1}>
{ y = Expand(w, s) }"""


def test_every_command_ends(isomorph, model, tmp_path):
    path, out = model(ENDLESS), tmp_path / "out.onnx"
    started = time.monotonic()
    assert isomorph("show", path).code == 0
    assert isomorph("check", path).code == 0
    for arguments in (("export", path, "-o", out), ("verify", path, path)):
        done = isomorph(*arguments, "--max-seconds", 1)
        assert done.code == 2
        assert "Loop 'y': not finished after 1 seconds; allow more" in done.out + done.err
        assert "--max-seconds" in done.out + done.err
    assert not out.exists()
    assert list(tmp_path.iterdir()) == [path]
    assert time.monotonic() - started < 60


def test_what_takes_gigabytes_is_a_risk_and_is_not_judged(isomorph, model, tmp_path):
    path, out = model(HUGE), tmp_path / "out.onnx"
    checked = isomorph("check", path, "--json")
    assert checked.code == 0
    (risk,) = checked.document["findings"]
    assert risk["severity"] == "risk"
    assert "512 GiB" in risk["reason"]
    assert "--max-memory" in risk["remedy"]
    done = isomorph("export", path, "-o", out)
    assert done.code == 2
    assert "512 GiB" in done.err
    assert not out.exists()


def test_more_may_be_allowed(isomorph, model):
    path = model(
        "g (float[1] x) => (float[1048576] y) <int64[1] s = {1048576}> { y = Expand(x, s) }"
    )
    small = isomorph("verify", path, path, "--max-memory", "1MiB", "--cases", 5)
    assert small.code == 2, small.out
    assert "1 MiB may be taken at once" in small.out
    assert isomorph("verify", path, path, "--max-memory", "64MiB", "--cases", 5).code == 0


def test_options_say_what_they_say():
    default = Limits()
    assert limits(None, None) == default
    assert limits(5, "1.5GiB") == Limits(5, 3 << 29)
    assert limits(0, "0") == Limits(None, None)
    for text, size in (("100", 100), ("2k", 2048), ("3 MB", 3 << 20), ("1tib", 1 << 40)):
        assert limits(None, text).memory == size
    for text in ("", "GiB", "1 GX", "-1"):
        with pytest.raises(OptionError, match="16GiB"):
            limits(None, text)


class TestTheNetBelow:
    """Where an op itself does not end, or takes what it did not declare."""

    def test_an_op_is_interrupted_while_it_is_in_python(self, monkeypatch):
        graph = Graph("g")
        op = graph.add_op("Neg", [graph.add_input("x")])

        def forever(*_: object) -> None:
            while True:
                pass

        from isomorph.ir import semantics

        monkeypatch.setattr(semantics, "find", lambda _: semantics.Impl(forever))
        with (
            guard.guarded(),
            bounded(Limits(0.5)),
            pytest.raises(BudgetError, match=r"0\.5 seconds"),
        ):
            evaluate(op, [np.ones(1)])

    def test_an_allocation_fails_before_the_machine_does(self, monkeypatch):
        monkeypatch.setattr(guard, "free_memory", lambda: 1 << 30)
        with guard.guarded(), pytest.raises(MemoryError):
            np.ones(1 << 31, np.uint8)
        np.ones(1 << 31, np.uint8)

    def test_it_leaves_clock_and_limits_as_they_were(self):
        before = resource.getrlimit(resource.RLIMIT_DATA), signal.getsignal(signal.SIGALRM)
        with guard.guarded():
            assert signal.getitimer(signal.ITIMER_REAL)[0]
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert (
            resource.getrlimit(resource.RLIMIT_DATA),
            signal.getsignal(signal.SIGALRM),
        ) == before

    def test_a_clock_of_somebody_else_goes_on(self):
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 1000)
        try:
            with guard.guarded():
                assert signal.getitimer(signal.ITIMER_REAL)[0] > 100
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 100
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_free_memory_is_told(self):
        found = guard.free_memory()
        assert found is None or 0 < found < 1 << 50
