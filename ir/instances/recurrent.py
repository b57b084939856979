"""recurrent: small well-typed instances of each operator."""

from isomorph.ir.instances import Instance
from isomorph.ir.opdef import Key

INSTANCES: dict[Key, tuple[Instance, ...]] = {}
