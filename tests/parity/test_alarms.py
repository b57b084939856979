"""Right exports that were called wrong once: nothing sounds any more."""

from __future__ import annotations

import pytest

from tests.parity.alarms import judge

WERE_WRONG = (
    ("node test_cast_FLOAT_to_UINT4", 0),
    ("node test_castlike_FLOAT_to_INT2", 0),
    ("node test_castlike_no_saturate_FLOAT_to_FLOAT8E4M3FN", 0),
    ("node test_linear_attention_explicit_scale_expanded", 1),
    ("node test_mish", 0),
    ("node test_mod_mixed_sign_int32", 0),
    ("node test_mod_uint64", 0),
    ("node test_mod_int64_fmod", 0),
    ("node test_unique_sorted_with_axis", 0),
    ("use :DFT:9", 0),
    ("use :DeformConv:3", 1),
    ("use :GRU:13", 0),
    ("use :LSTM:17", 0),
    ("use :MaxPool:9", 1),
    ("use :RNN:14", 1),
    ("use :ReduceProd:0", 1),
    ("use :Resize:2", 0),
    ("use :Resize:13", 0),
    ("use :TensorScatter:2", 1),
    ("use ai.onnx.ml:Normalizer:0", 0),
    ("use ai.onnx.ml:SVMClassifier:0", 0),
    ("use ai.onnx.ml:SVMClassifier:7", 1),
)


@pytest.mark.parametrize(("name", "seed"), WERE_WRONG)
def test_it_is_quiet(name: str, seed: int):
    outcome, reason = judge(name, seed)
    assert outcome in {"PASS", "not loaded"}, reason


def test_what_kills_the_process_whenever_it_runs_fails_and_is_cited():
    outcome, reason = judge("use com.microsoft:Attention:1")
    assert outcome == "known to fail"
    assert "[attention-without-bias: " in reason
