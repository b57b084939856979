"""Frozen data of the cost model: tiles that kernels are written for, and rates of devices.

Rates are the manufacturer's figures for dense arithmetic (A100, H100, B200 data sheets), not
measurements; the model only ranks tiles with them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """BM × BN results a block, BK deep; TM × TN a thread (SIMT) or a warp (mma)."""

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    stages: int = 2
    blocks: int = 2
    """Blocks that one multiprocessor holds, from registers and shared memory."""

    @property
    def constants(self) -> tuple[tuple[str, int], ...]:
        """As the SIMT templates ask for them."""
        named = (
            ("BM", self.bm),
            ("BN", self.bn),
            ("BK", self.bk),
            ("TM", self.tm),
            ("TN", self.tn),
        )
        return tuple(named)


SIMT = (
    Tile(64, 64, 8, 4, 4, blocks=4),
    Tile(32, 32, 8, 2, 4, blocks=8),
    Tile(16, 64, 8, 2, 4, blocks=8),
)
"""Tiles of `simt_tile.cuh`; TN is the same in each, for stores of 16 bytes in float32."""

TN = 4

MMA = (
    Tile(128, 128, 32, 64, 32, stages=3, blocks=2),
    Tile(64, 64, 32, 32, 32, stages=3, blocks=4),
)
"""Tiles of `gemm_mma.cu`: TM × TN is what one warp computes."""


@dataclass(frozen=True, slots=True)
class DeviceData:
    """A device as the cost model sees it.

    Attributes:
        processors: streaming multiprocessors.
        float32, float16: operations a second, the second on tensor cores.
        bandwidth: bytes a second of its memory.
    """

    processors: int
    float32: float
    float16: float
    bandwidth: float


DEVICES = {
    "sm_80": DeviceData(108, 19.5e12, 312e12, 2.0e12),
    "sm_90": DeviceData(132, 67e12, 989e12, 3.35e12),
    "sm_100": DeviceData(148, 80e12, 2250e12, 8.0e12),
}
