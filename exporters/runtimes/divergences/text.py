"""What onnxruntime does otherwise with sequences and texts: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import f32, i64, texts, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

ENTRIES = (
    Divergence(
        "split-sequence-axis",
        ai("SplitToSequence"),
        "wrong shape",
        "SplitToSequence obeys keepdims although split is given",
        "SplitToSequence-24: keepdims is ignored where split is specified",
        "onnxruntime/core/providers/cpu/sequence/sequence_ops.cc, measured",
        (
            Probe(
                "n = Constant <value = int64 {1}> () "
                "y = SplitToSequence <axis = 0, keepdims = 0> (x, n)",
                "float[2, 3] x",
                "seq(float[a, b]) y",
                (whole([[1, 2, 3], [4, 5, 6]]),),
                Gives(([f32(1, 2, 3), f32(4, 5, 6)],)),
                ([whole([[1, 2, 3]]), whole([[4, 5, 6]])],),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "string-split-nothing",
        ai("StringSplit"),
        "wrong value",
        "an empty text has no part, where a delimiter leaves one, which is empty",
        "StringSplit-20 splits like Python's str.split",
        "onnxruntime/core/providers/cpu/text/string_split.cc",
        (
            Probe(
                'y, n = StringSplit <delimiter = ","> (x)',
                "string[1] x",
                "string[1, a] y, int64[1] n",
                (texts(""),),
                Gives((np.zeros((1, 0), object), i64(0))),
                (np.array([[""]], object), i64(1)),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "string-split-spaces",
        ai("StringSplit"),
        "wrong value",
        "without a delimiter it splits at spaces alone, not at other white space",
        "StringSplit-20: the default delimiter is consecutive white space",
        "onnxruntime/core/providers/cpu/text/string_split.cc",
        (
            Probe(
                "y, n = StringSplit (x)",
                "string[1] x",
                "string[1, a] y, int64[1] n",
                (texts("a\tb c"),),
                Gives((np.array([["a\tb", "c"]], object), i64(2))),
                (np.array([["a", "b", "c"]], object), i64(3)),
            ),
        ),
        limited=True,
    ),
)
