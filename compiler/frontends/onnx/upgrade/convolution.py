"""convolution: how older versions become the canonical one."""

from isomorph.ir.opdef import Key
from isomorph.ir.versions import SAME, Steps

# ConvTranspose-1 states the halves of the padding that output_shape implies the other way round;
# version 11 corrected its text, not its meaning (see `isomorph.ir.ops.convolution.transposed`).
UPGRADES: dict[Key, Steps] = {
    ("", "Conv"): {11: SAME, 22: SAME},
    ("", "ConvTranspose"): {11: SAME, 22: SAME},
    ("", "DeformConv"): {22: SAME},
    ("", "Col2Im"): {},
}
