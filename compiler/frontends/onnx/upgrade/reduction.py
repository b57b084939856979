"""reduction: how older versions become the canonical one."""

from isomorph.ir.opdef import Key
from isomorph.ir.versions import Steps

UPGRADES: dict[Key, Steps] = {}
