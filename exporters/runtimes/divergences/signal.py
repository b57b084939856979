"""What onnxruntime's Fourier transforms and progressions do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import f32, i64, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Off, Probe, ai

DFT = "onnxruntime/core/providers/cpu/signal/dft.cc"
_SECOND = np.zeros((1, 1000, 1), np.float32)
_SECOND[0, 1] = 1
_TURNS = 2 * np.pi * np.arange(1000) / 1000
_TURNED = np.stack([np.cos(_TURNS), -np.sin(_TURNS)], -1)
_STEPS = np.arange(10000) * np.float64(np.float32(0.1))


_ANGLES = 2 * np.pi * np.arange(5) / 5


def _window(op: str, wanted: np.ndarray) -> Probe:
    return Probe(
        f"y = {op} <output_datatype = 11> (n)",
        "int64 n",
        "double[m] y",
        (whole(5, np.int64),),
        Off(1e4, 1e9, of_largest=True),
        (wanted,),
    )


ENTRIES = (
    Divergence(
        "fourier-angles",
        ai("DFT", "STFT"),
        "lost accuracy",
        "where the length is no power of two, angles of up to πn are rounded to the result's "
        "format: 2·10⁻⁴ of the largest result at 1000 points in float32",
        "DFT-20 and STFT-17: the discrete Fourier transform",
        f"{DFT}, dft_bluestein_z_chirp, of https://github.com/microsoft/onnxruntime/pull/15522",
        (
            Probe(
                "y = DFT <axis = 1> (x)",
                "float[1, 1000, 1] x",
                "float[1, 1000, 2] y",
                (_SECOND,),
                Off(1e3, 1e5, of_largest=True),
                (_TURNED[None],),
                (17, 19),
            ),
            Probe(
                "y = STFT <onesided = 0> (x, n, , n)",
                "float[1, 1000, 1] x, int64 n",
                "float[1, 1, 1000, 2] y",
                (_SECOND, whole(1000, np.int64)),
                Off(1e3, 1e5, of_largest=True),
                (_TURNED[None, None],),
            ),
        ),
        issue="https://github.com/onnx/onnx/issues/4798",
        when=uses.rounds_angles,
        remedy="use a length that is a power of two, or float64",
    ),
    Divergence(
        "fourier-inverse-factor",
        ai("DFT"),
        "lost accuracy",
        "an inverse in float64 is multiplied by 1 / n of float32",
        "DFT-20: the inverse is divided by its length",
        f"{DFT}, measured",
        (
            Probe(
                "y = DFT <axis = 1, inverse = 1> (x)",
                "double[1, 3, 2] x",
                "double[1, 3, 2] y",
                (whole([[[3, 0], [0, 0], [0, 0]]], np.float64),),
                Off(1e5, 1e9, of_largest=True),
                (whole([[[1, 0], [1, 0], [1, 0]]], np.float64),),
                (17, 19),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "fourier-mirrored",
        ai("DFT"),
        "wrong value",
        "a one-sided inverse of another length than its operand's frequencies are of neither "
        "crops nor pads them",
        "DFT-20: dft_length crops or pads the signal with zeros",
        f"{DFT}, measured",
        (
            Probe(
                "n = Constant <value = int64 {4}> () "
                "y = DFT <axis = 1, inverse = 1, onesided = 1> (x, n)",
                "float[1, 2, 2] x",
                "float[a, b, c] y",
                (whole([[[1, 0], [1, 0]]]),),
                Gives((whole([[[0.5], [0.25], [0], [0.25]]]),), 4),
                (whole([[[0.75], [0.25], [-0.25], [0.25]]]),),
                (19,),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "window-constants",
        ai("HammingWindow", "BlackmanWindow"),
        "lost accuracy",
        "float64 windows have float32 constants",
        "HammingWindow-17 and BlackmanWindow-17: their formulas, in the type of the result",
        "onnxruntime/core/providers/cpu/signal/window_functions.cc",
        (
            _window("HammingWindow", (25 - 21 * np.cos(_ANGLES)) / 46),
            _window("BlackmanWindow", 0.42 - 0.5 * np.cos(_ANGLES) + 0.08 * np.cos(2 * _ANGLES)),
        ),
        limited=True,
    ),
    Divergence(
        "range-by-steps",
        ai("Range"),
        "lost accuracy",
        "the step is added again and again: errors accumulate with the length",
        "Range-11: output[i] = start + i · delta",
        "onnxruntime/core/providers/cpu/generator/range.cc",
        (
            Probe(
                "y = Range (a, b, c)",
                "float a, float b, float c",
                "float[n] y",
                (whole(0), whole(1000), whole(0.1)),
                Off(1000, 4000),
                (_STEPS,),
                (13, 23),
            ),
        ),
        when=uses.steps_in_floats,
        remedy="make it of integers, and multiply by the step",
    ),
    Divergence(
        "ngram-weights",
        ai("TfIdfVectorizer"),
        "lost accuracy",
        "the weight of an n-gram is added once for each that is found: errors grow with the count",
        "TfIdfVectorizer-9: the count times the weight",
        "onnxruntime/core/providers/cpu/nn/tfidfvectorizer.cc, measured",
        (
            Probe(
                'y = TfIdfVectorizer <mode = "TFIDF", min_gram_length = 1, max_gram_length = 1, '
                "max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0], pool_int64s = [1], "
                "weights = [0.1]> (x)",
                "int64[12] x",
                "float[1] y",
                (i64(*[1] * 12),),
                Gives((f32(1.2000002),)),
                (f32(1.2),),
                (13, 23),
            ),
        ),
    ),
)
