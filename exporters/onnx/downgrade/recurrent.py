"""recurrent: how the canonical version becomes older ones."""

from isomorph.ir.opdef import Key
from isomorph.ir.versions import Steps

DOWNGRADES: dict[Key, Steps] = {}
