"""random: how older versions become the canonical one."""

from isomorph.ir.opdef import Key
from isomorph.ir.versions import SAME, Steps

_ALLOWS_MORE: Steps = {22: SAME}

UPGRADES: dict[Key, Steps] = {
    ("", "Bernoulli"): _ALLOWS_MORE,
    ("", "Multinomial"): _ALLOWS_MORE,
    ("", "RandomNormal"): _ALLOWS_MORE,
    ("", "RandomNormalLike"): _ALLOWS_MORE,
    ("", "RandomUniform"): _ALLOWS_MORE,
    ("", "RandomUniformLike"): _ALLOWS_MORE,
}
