"""The pytest plugin, in repositories of other people: options, verdicts at the end, one-line tests.

Each run is a process of its own: modules that are loaded here stay what they are.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

MODELS = '''
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper


def write(path, added):
    """y = x + added, as a file."""
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 3]) for n in "xy"]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [added])
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", *[[p] for p in ports], [weight])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


HERE = Path(__file__).parent
write(HERE / "good.onnx", 1.0)
write(HERE / "bad.onnx", 1.001)


def net(x):
    return x + np.float32(1)
'''
TESTS = """
from pathlib import Path

from isomorph.exporters.target import make_target
from isomorph.parity import assert_parity, parity_test
from models import net

INPUTS = ["x: float32[n, 3]"]
test_good = parity_test(net, "good.onnx", inputs=INPUTS, cases=30)
test_bad = parity_test(net, "bad.onnx", inputs=INPUTS, cases=30)
test_exported = parity_test(net, make_target(21), inputs=INPUTS)


def test_asserted():
    path = Path(__file__).with_name("good.onnx")
    assert_parity(net, path, inputs=INPUTS, seed=3)
"""
PLUGIN = ("-p", "no:isomorph", "-p", "isomorph.parity.plugin", "-p", "no:cacheprovider")
"""The plugin of this tree, whatever is installed."""


@pytest.fixture
def repository(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with models, tests of them, and nothing of ours."""
    tests = pytester.mkdir("tests")
    (tests / "models.py").write_text(MODELS, encoding="utf-8")
    (tests / "test_net.py").write_text(TESTS, encoding="utf-8")
    return pytester


def run(repository: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return repository.runpytest_subprocess(*PLUGIN, *arguments)


def section(result: pytest.RunResult) -> list[str]:
    """The lines between the title of the summary and the next one."""
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if re.fullmatch(r"=+ parity =+", line))
    end = next(i for i, line in enumerate(lines[start + 1 :], start + 1) if line.startswith("==="))
    return lines[start + 1 : end]


def test_every_verdict_is_listed(repository: pytest.Pytester):
    result = run(repository, "-v")
    result.assert_outcomes(passed=3, failed=1)
    told = section(result)
    heads = [line for line in told if not line.startswith(" ")]
    assert [line.split()[0] for line in heads] == ["PASS", "FAIL", "PASS", "PASS"]
    good, bad, exported, asserted = heads
    assert "tests/test_net.py::test_good (good.onnx): 30 cases, worst output y 0.5 ulp" in good
    assert "tests/test_net.py::test_bad (bad.onnx)" in bad
    assert "(opset 21): 200 cases" in exported
    assert "test_asserted (good.onnx): 200 cases" in asserted
    assert any("another function" in line for line in told)
    replay = next(line for line in told if "replay: " in line).partition("replay: ")[2]
    assert (Path(replay) / "test_replay.py").is_file()
    assert "tests/test_net.py::test_bad FAILED" in result.stdout.str()  # at the user's own line
    assert "driven.py" not in result.stdout.str()


def test_the_command_line_outranks_tests_and_they_the_configuration(repository: pytest.Pytester):
    repository.makeini("[pytest]\nparity_cases = 11\nparity_profile = ordinary\n")
    heads = [line for line in section(run(repository)) if line.startswith("PASS")]
    assert [re.search(r"(\d+) cases", line)[1] for line in heads] == ["30", "11", "11"]
    heads = [
        line
        for line in section(run(repository, "--parity-cases=9", "--parity-seed=5"))
        if line.startswith("PASS")
    ]
    assert [re.search(r"(\d+) cases", line)[1] for line in heads] == ["9", "9", "9"]


def test_the_seed_alone_decides_what_is_drawn(repository: pytest.Pytester):
    def told(*arguments: str) -> str:
        text = run(repository, "-k", "bad", *arguments).stdout.str()
        return next(line for line in text.splitlines() if "elements differ" in line)

    first = told("--parity-seed=1", "--hypothesis-seed=1")
    assert told("--parity-seed=1", "--hypothesis-seed=2") == first
    assert told("--parity-seed=2") != first


def test_verdicts_come_from_other_processes_too(repository: pytest.Pytester):
    result = run(repository, "-n1", "-k", "good or bad")
    assert [line.split()[0] for line in section(result) if not line.startswith(" ")] == [
        "PASS",
        "FAIL",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--parity-cases=0"], "--parity-cases '0': expected a whole number from 1 on"),
        (["--parity-cases=many"], "--parity-cases 'many': expected a whole number from 1 on"),
        (["--parity-seed=-1"], "--parity-seed '-1': expected a whole number from 0 on"),
        (["--parity-profile=evil"], "'evil': expected one of ordinary, hostile, all"),
        (["-o", "parity_profile=evil"], "parity_profile 'evil': expected one of ordinary"),
    ],
)
def test_wrong_options_are_one_sentence(
    repository: pytest.Pytester, arguments: list[str], words: str
):
    result = run(repository, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str()


def test_a_run_without_parity_tests_hears_nothing(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import sys

        def test_light():
            heavy = {"onnxruntime", "torch", "isomorph.parity.engine", "onnx"}
            assert not heavy & sys.modules.keys()
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    assert "= parity =" not in result.stdout.str()
