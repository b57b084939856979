"""What onnxruntime's recurrent layers do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import whole
from isomorph.exporters.runtimes.divergences.entry import Dies, Divergence, Gives, Probe, ai
from isomorph.ir.schema_microsoft import DOMAIN

NAN, INF = np.nan, np.inf
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
HELPERS = "onnxruntime/core/providers/cpu/rnn/rnn_helpers.cc, measured"


def _layer(op: str, x: float, gives: float | Dies, wanted: float, attributes: str) -> Probe:
    """One step of one hidden unit whose weights are 1; a batch of none where it dies."""
    gates = GATES[op]
    ones = np.ones((1, gates, 1), np.float32)
    batch = 0 if isinstance(gives, Dies) else 1
    made = gives if isinstance(gives, Dies) else Gives((whole([[[gives]]]),), 4)
    return Probe(
        f"_, y = {op} <hidden_size = 1{attributes}> (x, w, r)",
        f"float[1, b, 1] x, float[1, {gates}, 1] w, float[1, {gates}, 1] r",
        "float[1, b, 1] y",
        (np.full((1, batch, 1), x, np.float32), ones, ones),
        made,
        (np.full((1, batch, 1), wanted, np.float32),),
        (13, 23),
    )


def _candidate(op: str, weights: list[float], wanted: float, attributes: str) -> Probe:
    """One step from 0 of one unit whose candidate is given 100."""
    gates = GATES[op]
    return Probe(
        f"_, y = {op} <hidden_size = 1{attributes}> (x, w, r)",
        f"float[1, 1, 1] x, float[1, {gates}, 1] w, float[1, {gates}, 1] r",
        "float[1, 1, 1] y",
        (whole([[[1]]]), whole(weights).reshape(1, -1, 1), np.zeros((1, gates, 1), np.float32)),
        Gives((whole([[[INF]]]),)),
        (whole([[[wanted]]]),),
        (13, 23),
    )


ENTRIES = (
    Divergence(
        "recurrent-batch-of-none",
        ai("LSTM", "GRU"),
        "crash",
        "a batch of none kills the process",
        "LSTM-22 and GRU-22: sizes of 0 are sizes",
        "onnxruntime/core/providers/cpu/rnn/uni_directional_lstm.cc, deep_cpu_gru.cc, measured",
        tuple(_layer(op, 0, Dies("SIGABRT"), 0, "") for op in ("LSTM", "GRU")),
        judged="FAIL",
        when=uses.batch_may_be_nothing,
        remedy="keep empty batches from it, or state the range of the size: batch in 1..",
    ),
    Divergence(
        "recurrent-clip",
        (*ai("LSTM"), (DOMAIN, "DynamicQuantizeLSTM")),
        "wrong value",
        "clip is not applied to what the last activation is given",
        "LSTM-22: clip bounds the input of activations",
        "onnxruntime/core/providers/cpu/rnn/uni_directional_lstm.cc, measured",
        (
            Probe(
                "_, y = LSTM <hidden_size = 1, clip = 0.1> (x, w, r, , , h, c)",
                "float[1, 1, 1] x, float[1, 4, 1] w, float[1, 4, 1] r, float[1, 1, 1] h, "
                "float[1, 1, 1] c",
                "float[1, 1, 1] y",
                (
                    whole([[[0]]]),
                    *[np.ones((1, 4, 1), np.float32)] * 2,
                    whole([[[0]]]),
                    whole([[[4]]]),
                ),
                Gives((whole([[[0.48201379]]]),), 4),
                (whole([[[0.04983400]]]),),
                (13, 23),
            ),
            Probe(
                f"_, y = {DOMAIN}.DynamicQuantizeLSTM <hidden_size = 1, clip = 0.1> "
                "(x, w, r, , , h, c, , ws, wz, rs, rz)",
                "float[1, 1, 1] x, int8[1, 1, 4] w, int8[1, 1, 4] r, float[1, 1, 1] h, "
                "float[1, 1, 1] c, float[1] ws, int8[1] wz, float[1] rs, int8[1] rz",
                "float[1, 1, 1] y",
                (
                    whole([[[0]]]),
                    *[np.ones((1, 1, 4), np.int8)] * 2,
                    whole([[[0]]]),
                    whole([[[4]]]),
                    *[np.ones(1, np.float32), np.zeros(1, np.int8)] * 2,
                ),
                Gives((whole([[[0.48201379]]]),), 4),
                (whole([[[0.04983400]]]),),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "recurrent-gates",
        ai("LSTM", "GRU"),
        "lost accuracy",
        "gates have an absolute error of up to 2.8·2⁻²⁴, and multiply what may be large",
        "LSTM-22 and GRU-22: f is Sigmoid, 1 / (1 + exp(-x))",
        "onnxruntime/core/providers/cpu/rnn/rnn_helpers.cc, mlas/lib/logistic.cpp, measured",
        (
            Probe(
                "_, y = GRU <hidden_size = 1, linear_before_reset = 1> (x, w, r, , , h)",
                "float[1, 1, 1] x, float[1, 3, 1] w, float[1, 3, 1] r, float[1, 1, 1] h",
                "float[1, 1, 1] y",
                (
                    whole([[[1]]]),
                    whole([[[-1000], [-18.5], [0]]]),
                    whole([[[0], [0], [1e4]]]),
                    whole([[[1e4]]]),
                ),
                Gives((whole([[[0.99485588]]]),), 4),
                (whole([[[0.72766424]]]),),
                (13, 23),
            ),
            Probe(
                '_, y = LSTM <hidden_size=1, activations=["Sigmoid", "Relu", "Tanh"]> (x, w, r)',
                "float[1, 1, 1] x, float[1, 4, 1] w, float[1, 4, 1] r",
                "float[1, 1, 1] y",
                (
                    whole([[[1]]]),
                    whole([[[-18.5], [10], [0], [1e8]]]),
                    np.zeros((1, 4, 1), np.float32),
                ),
                Gives((whole([[[0]]]),), 4),
                (whole([[[0.72763121]]]),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "recurrent-softplus",
        ai("LSTM", "GRU", "RNN"),
        "wrong value",
        "Softplus among the activations overflows to infinity above 88",
        "RNN-22: Softplus(x) = log(1 + e^x)",
        HELPERS,
        (
            _layer("RNN", 100, INF, 100, ', activations = ["Softplus"]'),
            _candidate("GRU", [0, 0, 100], 50, ', activations = ["Sigmoid", "Softplus"]'),
            _candidate(
                "LSTM",
                [0, 0, 0, 100],
                25,
                ', activations = ["Sigmoid", "Softplus", "Softplus"]',
            ),
        ),
    ),
    Divergence(
        "recurrent-first-step",
        ai("RNN"),
        "NaN handling",
        "without a state to begin with, R is not read at the first step: NaN and infinities in it, "
        "times 0, do not count",
        "RNN-22: the state is 0 where it is not given, and multiplied",
        "onnxruntime/core/providers/cpu/rnn/rnn.cc, measured",
        (
            Probe(
                '_, y = RNN <hidden_size = 1, activations = ["ThresholdedRelu"], '
                "activation_alpha = [0.5]> (x, w, r)",
                "float[1, 1, 1] x, float[1, 1, 1] w, float[1, 1, 1] r",
                "float[1, 1, 1] y",
                (whole([[[1]]]), whole([[[1]]]), whole([[[NAN]]])),
                Gives((whole([[[1]]]),)),
                (whole([[[0]]]),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "recurrent-nan",
        ai("LSTM", "GRU", "RNN"),
        "NaN handling",
        "the gates clamp NaN away: NaN, or infinities that cancel, give numbers",
        "RNN-22, GRU-22 and LSTM-22: activations of NaN are NaN",
        HELPERS,
        (
            _layer("RNN", NAN, 0, NAN, ', activations = ["Relu"]'),
            _layer("GRU", NAN, 0, NAN, ', activations = ["HardSigmoid", "HardSigmoid"]'),
            _layer(
                "LSTM",
                NAN,
                0,
                NAN,
                ', activations = ["HardSigmoid", "HardSigmoid", "HardSigmoid"]',
            ),
        ),
    ),
)
