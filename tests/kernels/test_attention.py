"""Attention on the simulator: sizes around its tiles, shared heads, masks, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph.ir.interpret import interpret
from isomorph.ir.text import parse
from isomorph.lowering import lower
from isomorph.lowering.errors import NoKernelError
from isomorph.parity.compiled import Compiled
from isomorph.runtime.device import compile_graph
from isomorph.runtime.specialise import specialised
from tests.kernels.support import needs_compiler

HEADER = '<ir_version: 13, opset_import: ["" : 26]>\n'
CASES = {
    "one query": ((1, 4, 1, 16), (1, 4, 70, 16), 24, "", None),
    "ragged tiles": ((2, 2, 35, 40), (2, 2, 33, 40), 8, "", None),
    "whole tiles": ((1, 2, 32, 64), (1, 2, 64, 64), 64, "", None),
    "shared heads": ((1, 6, 17, 8), (1, 2, 37, 8), 128, "scale = 0.3", None),
    "causal": ((1, 2, 40, 16), (1, 2, 40, 16), 16, "is_causal = 1", None),
    "capped": ((1, 1, 18, 16), (1, 1, 40, 16), 16, "softcap = 2.0", None),
    "a mask for each row": ((2, 3, 20, 8), (2, 3, 34, 8), 8, "", (20, 34)),
    "a mask for each batch": ((2, 3, 16, 8), (2, 3, 40, 8), 8, "", (2, 1, 1, 40)),
    "a mask for fewer keys": ((1, 2, 16, 8), (1, 2, 40, 8), 8, "", (16, 33)),
    "rows that are not aligned": ((1, 2, 5, 20), (1, 2, 37, 20), 12, "", None),
    "no keys": ((1, 1, 3, 8), (1, 1, 0, 8), 8, "", None),
}


ONE_BY_ONE = {"one query", "rows that are not aligned", "no keys"}
"""What is too small for tensor cores, or not aligned."""


def made(name: str, dtype: str, mask: str) -> tuple[Any, list[np.ndarray]]:
    q, k, size, attributes, seen = CASES[name]
    v = (*k[:3], size)
    kinds = [f"{dtype}{list(s)} {n}" for s, n in ((q, "q"), (k, "k"), (v, "v"))]
    rng = np.random.default_rng(3)
    feeds = [rng.standard_normal(s) for s in (q, k, v)]
    if seen is not None:
        kinds.append(f"{mask}{list(seen)} m")
        open_ = rng.random(seen) < 0.6
        open_[..., 0, :2] = False  # and one row that sees nothing of the first tile
        added = np.where(open_, rng.standard_normal(seen), -np.inf)
        feeds.append(open_ if mask == "bool" else added)
    call = f"Attention{attributes and f'<{attributes}>'}(q, k, v{', m' if seen else ''})"
    graph = parse(f"{HEADER}g ({', '.join(kinds)}) => ({dtype}[] y) {{ y = {call} }}")
    types = [v.type.dtype.numpy for v in graph.inputs]
    return graph, [f.astype(t) for f, t in zip(feeds, types, strict=True)]


@needs_compiler
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("dtype", "mask"),
    [("float", "bool"), ("float", "float"), ("float16", "float16"), ("bfloat16", "bool")],
)
def test_it_is_right_and_touches_nothing_else(name: str, dtype: str, mask: str):
    graph, feeds = made(name, dtype, mask)
    for seed in (1, 4):
        run = compile_graph(graph, "sim:sm_90", checking=True, seed=seed)
        candidate = Compiled(run)
        values = candidate.observe(feeds)
        wrong: list[str] = []
        candidate.judge(values, lambda _, f: wrong.append(f.reason) if f.reason else None)  # noqa: B023
        assert not wrong
        (kernel,) = run.plan.kernels
        wide = dtype != "float" and name not in ONE_BY_ONE
        assert kernel.spec.kernel == ("attention_mma" if wide else "attention")


@needs_compiler
def test_a_row_that_sees_no_key_is_zero_and_scores_that_are_nan_show():
    graph, (q, k, v, m) = made("a mask for each row", "float", "bool")
    m[3] = False
    q[0, 0, 5, 0] = np.nan
    run = compile_graph(graph, "sim:sm_90")
    (found,), (wanted,) = run(q, k, v, m), interpret(graph, [q, k, v, m])
    assert not found[:, :, 3].any()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    assert np.isnan(found).sum() == v.shape[3]


REFUSED = {
    "heads of 160 elements; 128 at most": "g (float[1, 1, 2, 160] q) => (float[] y)"
    " { y = Attention<qk_matmul_output_mode = 0>(q, q, q) }",
    "its mask is int32": "g (float[1, 1, 2, 8] q, int32[2, 2] m) => (float[] y)"
    " { y = Attention(q, q, q, m) }",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_kernel_is_written_as_its_body(reason: str):
    from isomorph.frontends.canonical import canonical

    graph = canonical(parse(HEADER + REFUSED[reason]))
    shapes = tuple(v.type.static_shape for v in graph.inputs)
    with pytest.raises(NoKernelError, match=reason):
        lower(canonical(graph), "sm_90")
    ops = {op.type for op in specialised(graph, shapes).ops()}
    assert "Attention" not in ops
