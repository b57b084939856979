"""Which tile a matrix product is cut into."""

from isomorph.passes.tile.cost import choose, seconds
from isomorph.passes.tile.data import DEVICES, MMA, SIMT, TN, DeviceData, Tile

__all__ = ["DEVICES", "MMA", "SIMT", "TN", "DeviceData", "Tile", "choose", "seconds"]
