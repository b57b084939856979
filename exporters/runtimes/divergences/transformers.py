"""What onnxruntime's attentions of its own domain do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import whole
from isomorph.exporters.runtimes.divergences.entry import Dies, Divergence, Gives, Probe, Stale
from isomorph.ir.schema_microsoft import DOMAIN

NAN, INF = np.nan, np.inf
LOWEST = float(np.finfo(np.float32).min)
SPEC = "com.microsoft: onnxruntime/docs/ContribOperators.md"
BERT = "onnxruntime/contrib_ops/cpu/bert"
_THREE = "float[1, n, 2] q, float[1, m, 2] k, float[1, m, 2] v"
_FILTERED = f"mask_filter_value = {LOWEST!r}"
_PAIR, _VALUES = whole([[[1, 1], [1, 1]]]), whole([[[1, 2], [3, 4]]])
_SEEN_LATER = whole([[[2, 3], [3, 4]]])
_EIGHT, _NOTHING = np.ones((2, 2, 8), np.float32), np.zeros((2, 2, 8), np.float32)


def _ops(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((DOMAIN, name) for name in names)


def _int32(value: object) -> np.ndarray:
    return whole(value, np.int32)


ENTRIES = (
    Divergence(
        "attention-without-bias",
        _ops("Attention"),
        "crash",
        "a bias that is left away, as it may be, kills the process",
        f"{SPEC}: the bias is optional",
        f"{BERT}/attention_cpu_base.h, measured",
        (
            Probe(
                f"y = {DOMAIN}.Attention <num_heads = 1> (x, w)",
                "float[1, 1, 2] x, float[2, 6] w",
                "float[1, 1, 2] y",
                (np.ones((1, 1, 2), np.float32), np.ones((2, 6), np.float32)),
                Dies("SIGSEGV"),
                (whole([[[2, 2]]]),),
            ),
        ),
        judged="FAIL",
        limited=True,
    ),
    Divergence(
        "transformers-past-kept",
        _ops("GroupQueryAttention", "MultiHeadAttention"),
        "stale memory",
        "it reads beyond what it is given: it puts past and new keys together in the present ones, "
        "which are not asked for",
        SPEC,
        f"{BERT}/gqa_attention_base.h, attention_cpu_base.h, measured",
        (
            Probe(
                f"y = {DOMAIN}.MultiHeadAttention <num_heads = 1> (q, k, v, , , , a, b)",
                f"{_THREE}, float[1, 1, 2, 2] a, float[1, 1, 2, 2] b",
                "float[1, 1, 2] y",
                (
                    *(np.full((1, 1, 2), x, np.float32) for x in (1, 1, 3)),
                    np.ones((1, 1, 2, 2), np.float32),
                    np.full((1, 1, 2, 2), 6, np.float32),
                ),
                Stale(),
                (whole([[[5, 5]]]),),
            ),
            Probe(
                f"y = {DOMAIN}.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> "
                "(q, k, v, a, b, l, t)",
                "float[1, 1, 8] q, float[1, 1, 8] k, float[1, 1, 8] v, "
                "float[1, 1, 3, 8] a, float[1, 1, 3, 8] b, int32[1] l, int32 t",
                "float[1, 1, 8] y",
                (
                    *(np.full((1, 1, 8), x, np.float32) for x in (1, 1, 3)),
                    np.ones((1, 1, 3, 8), np.float32),
                    np.full((1, 1, 3, 8), 6, np.float32),
                    _int32([3]),
                    _int32(4),
                ),
                Stale(),
                (np.full((1, 1, 8), 5.25, np.float32),),
            ),
        ),
        judged="FAIL",
        limited=True,
    ),
    Divergence(
        "transformers-later-keys",
        _ops("Attention", "MultiHeadAttention"),
        "wrong value",
        "keys that come later get the lowest score, whatever a mask adds: no less than those which "
        "it filters with that number; and the last query sees every key",
        SPEC,
        f"{BERT}/attention_helper.h, PrepareMask, measured",
        (
            Probe(
                f"y = {DOMAIN}.MultiHeadAttention <num_heads = 1, unidirectional = 1, {_FILTERED}> "
                "(q, k, v, , m)",
                f"{_THREE}, int32[1, 2] m",
                "float[1, 2, 2] y",
                (_PAIR, _PAIR, _VALUES, _int32([[0, 1]])),
                Gives((_SEEN_LATER,), 6),
                (_VALUES,),
            ),
            Probe(
                f"y = {DOMAIN}.MultiHeadAttention <num_heads = 1, unidirectional = 1> (q, k, v)",
                _THREE,
                "float[1, 1, 2] y",
                (_PAIR[:, :1], _PAIR, _VALUES),
                Gives((whole([[[2, 3]]]),), 6),
                (whole([[[1, 2]]]),),
            ),
            Probe(
                f"y = {DOMAIN}.Attention <num_heads = 1, unidirectional = 1, {_FILTERED}> "
                "(x, w, b, m)",
                "float[1, 2, 2] x, float[2, 6] w, float[6] b, int32[1, 2] m",
                "float[1, 2, 2] y",
                (
                    _VALUES,
                    np.concatenate([np.zeros((2, 4)), np.eye(2)], 1).astype(np.float32),
                    np.zeros(6, np.float32),
                    _int32([[0, 1]]),
                ),
                Gives((_SEEN_LATER,), 6),
                (_VALUES,),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "transformers-shown-mask",
        _ops("MultiHeadAttention"),
        "wrong value",
        "the scores show the lowest number for keys that come later, not -inf",
        SPEC,
        f"{BERT}/attention_helper.h, measured",
        (
            Probe(
                f"y, , , s = {DOMAIN}.MultiHeadAttention <num_heads = 1, unidirectional = 1> "
                "(q, k, v)",
                _THREE,
                "float[1, 2, 2] y, float[1, 1, 2, 2] s",
                (_PAIR, 0 * _PAIR, _VALUES),
                Gives((whole([[[1, 2], [2, 3]]]), whole([[[[0, LOWEST], [0, 0]]]])), 6),
                (whole([[[1, 2], [2, 3]]]), whole([[[[0, -INF], [0, 0]]]])),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "transformers-not-finite",
        _ops("GroupQueryAttention", "MultiHeadAttention"),
        "NaN handling",
        "what is not finite among keys that a query does not see counts, where only their scores "
        "are low; and a row of scores with NaN may give 0",
        SPEC,
        f"{BERT}/attention_cpu_base.h, gqa_attention_base.h, measured",
        (
            Probe(
                f"y, _, __ = {DOMAIN}.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> "
                "(q, k, v, , , l, t)",
                "float[1, 2, 8] q, float[1, 2, 8] k, float[1, 2, 8] v, int32[1] l, int32 t",
                "float[1, 2, 8] y",
                (
                    whole([[[NAN] * 8, [1] * 8]]),
                    _EIGHT[:1],
                    _EIGHT[:1],
                    _int32([1]),
                    _int32(2),
                ),
                Gives((whole([[[0] * 8, [1] * 8]]),), 6),
                (whole([[[NAN] * 8, [1] * 8]]),),
            ),
            Probe(
                f"y = {DOMAIN}.MultiHeadAttention <num_heads = 1, unidirectional = 1, {_FILTERED}> "
                "(q, k, v, , m)",
                f"{_THREE}, int32[1, 2] m",
                "float[1, 2, 2] y",
                (_PAIR, _PAIR, whole([[[1, 2], [INF, 4]]]), _int32([[0, 1]])),
                Gives((whole([[[INF, 3], [INF, 4]]]),), 6),
                (whole([[[NAN, 2], [INF, 4]]]),),
            ),
        ),
    ),
    Divergence(
        "transformers-beyond-the-end",
        _ops("GroupQueryAttention"),
        "stale memory",
        "beyond a sequence's end, and in the scores of keys that a query does not see, there is "
        "whatever the buffer held, or lies in memory; queries beyond that end count it with a sink",
        SPEC,
        f"{BERT}/gqa_attention_base.h, measured",
        (
            Probe(
                f"y, pk, pv, s = {DOMAIN}.GroupQueryAttention "
                "<num_heads = 1, kv_num_heads = 1, qk_output = 1> (q, k, v, , , l, t)",
                "float[2, 2, 8] q, float[2, 2, 8] k, float[2, 2, 8] v, int32[2] l, int32 t",
                "float[2, 2, 8] y, float[2, 1, 2, 8] pk, float[2, 1, 2, 8] pv, float[2, 1, 2, 2] s",
                (_NOTHING, _EIGHT, _EIGHT, _int32([1, 0]), _int32(2)),
                Stale(surely=False),
                (
                    _EIGHT,
                    _EIGHT[:, None],
                    _EIGHT[:, None],
                    np.zeros((2, 1, 2, 2), np.float32),
                ),
            ),
        ),
    ),
)
