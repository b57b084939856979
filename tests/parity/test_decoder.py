"""A step of a decoder as exporters of language models write it: lengths are counted from a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from isomorph.parity import Status, verify

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
decoder (float[b, s, 32] x, int64[b, total] attention_mask, float[b, 2, past, 16] past_k,
         float[b, 2, past, 16] past_v)
    => (float[b, s, 32] y, float[b, 2, total, 16] present_k, float[b, 2, total, 16] present_v)
<int64[1] axis = {1}, int64 one = {1}>
{
  qkv = MatMul(x, w_qkv)
  sum = ReduceSum<keepdims = 0>(attention_mask, axis)
  last = Sub(sum, one)
  seqlens_k = Cast<to = 6>(last)
  shape = Shape(attention_mask)
  count = Gather(shape, one)
  total_length = Cast<to = 6>(count)
  a, present_k, present_v = com.microsoft.GroupQueryAttention
      <num_heads = 4, kv_num_heads = 2, do_rotary = 1>
      (qkv, , , past_k, past_v, seqlens_k, total_length, cos, sin)
  y = MatMul(a, w_out)
}"""


def weights() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    angles = np.arange(64)[:, None] / 10_000 ** (np.arange(8) / 8)
    return {
        "w_qkv": rng.normal(0, 0.2, (32, 8 * 16)),
        "w_out": rng.normal(0, 0.2, (64, 32)),
        "cos": np.cos(angles),
        "sin": np.sin(angles),
    }


def saved(path: Path, text: str = TEXT, **changed: np.ndarray[Any, Any]) -> Path:
    model = onnx.parser.parse_model(text)
    for name, value in {**weights(), **changed}.items():
        model.graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), name))
    path.write_bytes(model.SerializeToString())
    return path


def test_it_equals_itself_at_every_length(tmp_path: Path):
    path = saved(tmp_path / "model.onnx")
    verdict = verify(path, path, cases=16, seed=0)
    assert verdict.status is Status.PASS, str(verdict)
    assert len(verdict.dims["past"]) > 1


FAULTS: dict[str, dict[str, Any]] = {
    "an angle": {"sin": weights()["sin"] * np.where(np.arange(8) == 7, 1.001, 1.0)},
    "a projection": {"w_qkv": weights()["w_qkv"] * 1.001},
    "keys before queries": {"w_qkv": np.roll(weights()["w_qkv"], 16, 1)},
    "no rotation": {"text": TEXT.replace("do_rotary = 1", "do_rotary = 0")},
    "a length": {"text": TEXT.replace("Sub(sum, one)", "Identity(sum)")},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(tmp_path: Path, fault: str):
    right, wrong = saved(tmp_path / "a.onnx"), saved(tmp_path / "b.onnx", **FAULTS[fault])
    verdict = verify(right, wrong, cases=16, seed=0)
    assert verdict.status is Status.FAIL, str(verdict)
