"""Run the command line in this process, and small models to run it on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
import pytest
from typer.testing import CliRunner

from isomorph.cli import build

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def isomorph():
    def run(*arguments: object) -> Outcome:
        result = CliRunner().invoke(build(), [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def model(tmp_path):
    """Write a model from its text; gives its path."""

    def write(text: str, name: str = "model.onnx", opset: int = 21) -> Path:
        header = f'<ir_version: 10, opset_import: ["" : {opset}, "acme" : 1]>\n'
        proto = onnx.parser.parse_model(header + text)
        path = tmp_path / name
        path.write_bytes(proto.SerializeToString())
        return path

    return write


MLP = """mlp (float[batch, 4] x) => (float[batch, 3] y)
<float[4, 3] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2},
 float[3] b = {1, 2, 3}>
{ t = MatMul(x, w)
  u = Add(t, b)
  y = Relu(u) }"""


@pytest.fixture
def mlp(model):
    return model(MLP)


def seeded(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)
