"""Uses of DynamicQuantizeLSTM."""

from __future__ import annotations

from typing import Any

from isomorph.ir.instances import Arg, Instance

STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 2
ROWS = 4 * HIDDEN


def _use(
    note: str = "",
    *,
    columns: bool = False,
    bias: bool = True,
    lens: bool = False,
    states: bool = False,
    peepholes: bool = False,
    outputs: int = 3,
    const: bool = False,
    **attributes: Any,
) -> Instance:
    """A layer with these optional operands; scales per column, or one per direction."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    per = (directions, ROWS) if columns else (directions,)

    def floats(*shape: int, low: float = -1.0, high: float = 1.0) -> Arg:
        return Arg(shape, "T", low=low, high=high)

    def weights(*shape: int) -> Arg:
        return Arg(shape, "T2", low=-100, high=200, const=const)

    state = (directions, BATCH, HIDDEN)
    zero = Arg(per, "T2", low=0, high=0, const=const)
    scale = Arg(per, "T", low=0.004, high=0.02, const=const)
    return Instance(
        (
            floats(STEPS, BATCH, FEATURES, low=-2.0, high=2.0),
            weights(directions, FEATURES, ROWS),
            weights(directions, HIDDEN, ROWS),
            floats(directions, 2 * ROWS) if bias else None,
            Arg((BATCH,), "T1", (3, 5, 1)) if lens else None,
            floats(*state) if states else None,
            floats(*state) if states else None,
            floats(directions, 3 * HIDDEN) if peepholes else None,
            scale,
            zero,
            scale,
            zero,
        ),
        {"hidden_size": HIDDEN, **attributes},
        outputs=outputs,
        main="T2",
        note=note,
        bind={"T": "float32", "T1": "int32"},
    )


DYNAMIC_LSTM = (
    _use(),
    _use("constant weights", const=True),
    _use("scales per column", columns=True),
    _use("scales per column, constant", columns=True, const=True, direction="bidirectional"),
    _use("no bias, one output", bias=False, outputs=1),
    _use("reverse", states=True, direction="reverse"),
    _use("bidirectional", direction="bidirectional"),
    _use("ragged", lens=True, direction="bidirectional"),
    _use("everything", lens=True, states=True, peepholes=True, direction="bidirectional"),
    _use("coupled gates", states=True, input_forget=1),
    _use(
        "other activations",
        activations=("HardSigmoid", "LeakyRelu", "Softsign"),
        activation_alpha=(0.25, 0.3),
        activation_beta=(0.5,),
    ),
)
