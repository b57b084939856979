"""The larger of arithmetic and traffic, times how badly the last wave of blocks is filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.passes.tile.data import DeviceData, Tile


def seconds(tile: Tile, m: int, n: int, k: int, batch: int, size: int, device: DeviceData) -> float:
    """Estimated time of a batched product of m × k by k × n with elements of `size` bytes."""
    rows, columns = -(-m // tile.bm), -(-n // tile.bn)
    blocks = rows * columns * batch
    if blocks == 0:
        return 0.0
    waves = -(-blocks // (device.processors * tile.blocks))
    filled = blocks / (waves * device.processors * tile.blocks)
    rate = device.float16 if size == 2 else device.float32
    depth = -(-k // tile.bk) * tile.bk
    arithmetic = 2.0 * blocks * tile.bm * tile.bn * depth / rate
    traffic = float(blocks) * (tile.bm + tile.bn) * depth * size + float(m) * n * batch * size
    return max(arithmetic, traffic / device.bandwidth) / filled


def choose(
    tiles: Sequence[Tile], m: int, n: int, k: int, batch: int, size: int, device: DeviceData
) -> Tile:
    """The tile of the least estimated time; the first of equals."""
    return min(tiles, key=lambda t: seconds(t, m, n, k, batch, size, device))
