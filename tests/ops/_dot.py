"""The derived bound of sums of products: γ_K Σ|a||b|, with K counted by the op itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.infer import infer
from isomorph.ir.instances import Instance, build
from isomorph.ir.interpret import interpret, widen
from isomorph.ir.types import DType
from tests.ops import harness

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key


def check_dot_bound(key: Key, instance: Instance, dtype: DType) -> None:
    """Ours in `dtype`, and onnxruntime's in float32, lie within γ_K|A||B| of float64.

    The op of ones says how many terms each element sums; the op of absolute values is |A||B|.
    Ours sums narrow floats in float32 and rounds once more.
    """
    graph, feeds = build(key, instance, dtype, seed=1)
    infer(graph)
    (truth,) = interpret(graph, feeds, wide=True)
    (terms,) = interpret(graph, [np.ones(f.shape, dtype.numpy) for f in feeds], wide=True)
    (sizes,) = interpret(graph, [np.abs(widen(f)) for f in feeds], wide=True)
    unit = harness.unit_of(dtype)
    single = (terms + 1) * 2.0**-24
    gamma = single / (1 - single)
    bound = gamma * sizes
    narrow = bound if dtype is DType.FLOAT32 else bound + unit * (np.abs(truth) + bound)
    (found,) = interpret(graph, feeds)
    assert found.dtype == dtype.numpy
    assert (np.abs(widen(found) - truth) <= narrow).all()
    if dtype is DType.FLOAT32:
        assert downgrade(graph, harness.RUNTIME_OPSET) == []
        (theirs,) = harness.by_runtime(harness.encode(graph, harness.RUNTIME_OPSET), feeds)
        assert (np.abs(widen(theirs) - truth) <= bound).all()
