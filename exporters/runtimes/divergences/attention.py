"""What onnxruntime's Attention does otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Off, Probe, ai

NAN, INF = np.nan, np.inf
SOURCE = "onnxruntime/core/providers/cpu/llm/attention.cc, measured"
_KEYS = "float[1, 1, 1, 1] q, float[1, 1, 2, 1] k, float[1, 1, 2, 1] v"
_ONE, _TWO = whole([[[[1]]]]), whole([[[[1], [2]]]])

ENTRIES = (
    Divergence(
        "attention-single-scale",
        ai("Attention"),
        "lost accuracy",
        "float64 has no kernel: the function body runs, whose scale is float32",
        "Attention-23: 1 / √(head size) unless scale is stated",
        "onnx/defs/nn/defs.cc, measured",
        (
            Probe(
                "y = Attention (q, k, v)",
                "double[1, 1, 1, 3] q, double[1, 1, 2, 3] k, double[1, 1, 2, 3] v",
                "double[1, 1, 1, 3] y",
                (
                    np.ones((1, 1, 1, 3)),
                    whole([[[[1, 1, 1], [0, 0, 0]]]], np.float64),
                    whole([[[[1, 1, 1], [0, 0, 0]]]], np.float64),
                ),
                Off(1e5, 1e9),
                (np.full((1, 1, 1, 3), 0.8496745530898386),),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "attention-rows-without-keys",
        ai("Attention"),
        "wrong value",
        "in float64 an older definition runs: rows without a key are NaN",
        "Attention-24: rows that see no key are 0",
        "onnx/defs/nn/defs.cc, measured",
        (
            Probe(
                "y = Attention (q, k, v, m)",
                _KEYS.replace("float", "double") + ", bool[1, 2] m",
                "double[1, 1, 1, 1] y",
                (
                    _ONE.astype(np.float64),
                    _TWO.astype(np.float64),
                    _TWO.astype(np.float64),
                    np.array([[False, False]]),
                ),
                Gives((whole([[[[NAN]]]], np.float64),)),
                (whole([[[[0]]]], np.float64),),
                (24,),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "attention-shown-mask",
        ai("Attention"),
        "wrong value",
        "it masks with the lowest number, which the scores show, or their sum, instead of -inf",
        "Attention-23: masked scores are -inf",
        SOURCE,
        (
            Probe(
                "y, , , s = Attention <qk_matmul_output_mode = 2> (q, k, v, m)",
                f"{_KEYS}, bool[1, 2] m",
                "float[1, 1, 1, 1] y, float[1, 1, 1, 2] s",
                (_ONE, whole([[[[1], [1]]]]), _TWO, np.array([[True, False]])),
                Gives((whole([[[[1]]]]), whole([[[[1, np.finfo(np.float32).min]]]]))),
                (whole([[[[1]]]]), whole([[[[1, -INF]]]])),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "attention-unseen",
        ai("Attention"),
        "NaN handling",
        "what is added to the scores of keys that a query does not see is not read: NaN and "
        "infinities there, which should make NaN, do not count",
        "Attention-23: the mask is added to the scores, the causal one too",
        SOURCE,
        (
            Probe(
                "y = Attention <is_causal = 1> (q, k, v, m)",
                "float[1, 1, 2, 1] q, float[1, 1, 2, 1] k, float[1, 1, 2, 1] v, float[2, 2] m",
                "float[1, 1, 2, 1] y",
                (
                    whole([[[[1], [1]]]]),
                    whole([[[[1], [1]]]]),
                    _TWO,
                    whole([[0, NAN], [0, 0]]),
                ),
                Gives((whole([[[[1], [1.5]]]]),)),
                (whole([[[[NAN], [1.5]]]]),),
            ),
        ),
    ),
)
