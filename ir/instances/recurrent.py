"""recurrent: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LENS = Arg((BATCH,), "T1", (3, 5, 1))


def _use(
    kind: str,
    note: str = "",
    *,
    bias: bool = False,
    lens: bool = False,
    h: bool = False,
    c: bool = False,
    peepholes: bool = False,
    outputs: int | None = None,
    const: bool = False,
    steps: int = STEPS,
    batch: int = BATCH,
    **attributes: Any,
) -> Instance:
    """A layer of `kind` with these optional operands."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * HIDDEN
    layout = attributes.get("layout", 0)
    state = (batch, directions, HIDDEN) if layout else (directions, batch, HIDDEN)

    def weight(*shape: int) -> Arg:
        return Arg(shape, low=-1.0, high=1.0, const=const)

    operands: list[Arg | None] = [
        Arg((batch, steps, FEATURES) if layout else (steps, batch, FEATURES), low=-2.0, high=2.0),
        weight(directions, rows, FEATURES),
        weight(directions, rows, HIDDEN),
        weight(directions, 2 * rows) if bias else None,
        LENS if lens else None,
        Arg(state, low=-1.0, high=1.0) if h else None,
        Arg(state, low=-1.0, high=1.0) if c else None,
        weight(directions, 3 * HIDDEN) if peepholes else None,
    ]
    while operands[-1] is None:
        operands.pop()
    return Instance(
        tuple(operands),
        {"hidden_size": HIDDEN, **attributes},
        outputs=outputs or (3 if kind == "LSTM" else 2),
        note=note,
        bind={"T1": "int32"},
    )


def _common(kind: str, *activations: str) -> tuple[Instance, ...]:
    twice = activations * 2
    return (
        _use(kind),
        _use(
            kind,
            "everything",
            bias=True,
            lens=True,
            h=True,
            c=kind == "LSTM",
            peepholes=kind == "LSTM",
            direction="bidirectional",
        ),
        _use(kind, "constant weights", bias=True, const=True),
        _use(kind, "one output", bias=True, outputs=1),
        _use(kind, "reverse", bias=True, h=True, direction="reverse"),
        _use(kind, "reverse, ragged", bias=True, lens=True, direction="reverse"),
        _use(kind, "bidirectional", bias=True, direction="bidirectional"),
        _use(kind, "ragged", lens=True),
        _use(kind, "clipped", bias=True, h=True, clip=0.5),
        _use(
            kind,
            "other activations",
            bias=True,
            direction="bidirectional",
            activations=twice,
            activation_alpha=(0.25, 0.3) * 2,
            activation_beta=(0.5,) * 2,
        ),
        _use(
            kind,
            "batch first",
            bias=True,
            h=True,
            c=kind == "LSTM",
            direction="bidirectional",
            layout=1,
        ),
        _use(kind, "batch first, reverse, ragged", lens=True, direction="reverse", layout=1),
        _use(kind, "batch of one, one step", bias=True, batch=1, steps=1),
    )


INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "LSTM"): (
        *_common("LSTM", "HardSigmoid", "LeakyRelu", "Softsign"),
        _use("LSTM", "peepholes", bias=True, h=True, c=True, peepholes=True),
        _use("LSTM", "peepholes, clipped", h=True, c=True, peepholes=True, clip=0.25),
        _use("LSTM", "initial cell alone", c=True),
        _use("LSTM", "coupled gates", bias=True, h=True, c=True, input_forget=1),
        _use("LSTM", "plain activations", activations=("Sigmoid", "Relu", "Softplus")),
    ),
    ("", "GRU"): (
        *_common("GRU", "HardSigmoid", "Elu"),
        _use("GRU", "linear before reset", bias=True, h=True, linear_before_reset=1),
        _use(
            "GRU",
            "linear before reset, bidirectional",
            bias=True,
            lens=True,
            direction="bidirectional",
            linear_before_reset=1,
        ),
        _use(
            "GRU",
            "tanh scaled",
            activations=("Sigmoid", "ScaledTanh"),
            activation_alpha=(0.75,),
            activation_beta=(0.5,),
        ),
    ),
    ("", "RNN"): (
        *_common("RNN", "Affine"),
        _use("RNN", "relu", bias=True, activations=("Relu",)),
        _use(
            "RNN",
            "thresholded",
            bias=True,
            activations=("ThresholdedRelu",),
            activation_alpha=(0.25,),
        ),
    ),
}
