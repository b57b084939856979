"""pooling: what each operator computes."""

from isomorph.ir.opdef import Key
from isomorph.ir.semantics import Impl

SEMANTICS: dict[Key, tuple[Impl, ...]] = {}
