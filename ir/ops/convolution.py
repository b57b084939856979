"""convolution: what each operator is."""

from isomorph.ir.opdef import Key, OpDef

OPS: dict[Key, OpDef] = {}
