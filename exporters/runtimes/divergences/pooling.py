"""What onnxruntime does otherwise with windows: measured on 1.31.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.divergences.arrays import whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op

VALUES = {
    "MaxPool": ((3, 4, 5, 4), (2, 3, 4, 5, 4)),
    "LpPool": ((3.1622777, 4.472136, 5.8309517, 4), (2, 3.1622777, 4.472136, 5.8309517, 4)),
    "AveragePool": ((2, 3, 4, 4), (2, 2, 3, 4, 4)),
}
"""Windows of two, one apart, on 1 to 5: what it gives, and what is defined."""


def _pads_dilated(op: Op, _: Graph) -> bool:
    """Whether windows with gaps are padded so that sizes stay the same."""
    padded = str(op.attr("auto_pad", "NOTSET")).startswith("SAME")
    return padded and any(n > 1 for n in op.attr("dilations", ()) or ())


def _states_shape(op: Op, _: Graph) -> bool:
    return op.attr("output_shape") is not None


ENTRIES = (
    Divergence(
        "same-pads-dilated",
        ai(*VALUES),
        "wrong shape",
        "with auto_pad SAME_UPPER or SAME_LOWER dilated windows are padded as if they had no gaps",
        "MaxPool-12, LpPool-18 and AveragePool-19: the result's size is ⌈size / stride⌉",
        "onnxruntime/core/providers/common.h, ComputePad, measured",
        tuple(
            Probe(
                f'y = {op} <kernel_shape = [2], auto_pad = "SAME_UPPER", dilations = [2]> (x)',
                "float[1, 1, n] x",
                "float[1, 1, m] y",
                (whole([[[1, 2, 3, 4, 5]]]),),
                Gives((whole([[gives]]),), 5),
                (whole([[wanted]]),),
            )
            for op, (gives, wanted) in VALUES.items()
        ),
        when=_pads_dilated,
        remedy="state the pads",
    ),
    Divergence(
        "transpose-grown",
        ai("ConvTranspose"),
        "wrong value",
        "an output_shape beyond what the input makes is filled at the other end",
        "ConvTranspose-11: SAME_UPPER pads ⌊total / 2⌋ at the start, also of a total below 0",
        "onnxruntime/core/providers/cpu/nn/conv_transpose_attributes.h, measured",
        (
            Probe(
                "y = ConvTranspose <strides = [2], output_shape = [2], "
                'auto_pad = "SAME_UPPER"> (x, w)',
                "float[1, 1, 1] x, float[1, 1, 1] w",
                "float[1, 1, 2] y",
                (whole([[[3]]]), whole([[[1]]])),
                Gives((whole([[[3, 0]]]),)),
                (whole([[[0, 3]]]),),
                (13, 23),
            ),
        ),
        when=_states_shape,
        remedy="state pads and output_padding",
    ),
)
