"""Every command on every hostile model: its exit code, its words, in time; nothing is left."""

from __future__ import annotations

import time

import pytest

from tests.cli.hostile import HOSTILE, PAGE, Model, page

MODELS = {f"{group}: {name}": m for group, models in HOSTILE.items() for name, m in models.items()}
SECONDS = 40


@pytest.mark.parametrize("hostile", MODELS.values(), ids=MODELS)
def test_every_command_ends_as_it_is_written(isomorph, model, tmp_path, hostile: Model):
    path, out = model(f"g {hostile.text}"), tmp_path / "out.onnx"
    calls = {
        "show": (0, ["show", path]),
        "check": (hostile.check, ["check", path, *hostile.options]),
        "export": (hostile.export, ["export", path, "-o", out, "--cases", 5, *hostile.options]),
        "verify": (hostile.verify, ["verify", path, path, "--cases", 5, *hostile.options]),
    }
    said: list[str] = []
    for command, (code, arguments) in calls.items():
        started = time.monotonic()
        done = isomorph(*arguments)
        assert time.monotonic() - started < SECONDS
        if command == "show":
            assert done.code in (0, 2)
            continue
        assert done.code == code, f"{command}: {done.out}{done.err}"
        said.append(" ".join((done.out + done.err).split()))
    assert any(hostile.words in text for text in said), "\n".join(said)
    assert out.exists() == (hostile.export == 0)
    assert {p.name for p in tmp_path.iterdir()} <= {path.name, out.name}


def test_the_page_says_what_the_table_says():
    assert PAGE.read_text("utf-8") == page(), "python -m tests.cli.hostile"
