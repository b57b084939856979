"""The cost model: ragged products take small tiles, large ones take large tiles."""

from __future__ import annotations

import pytest

from isomorph.passes.tile import DEVICES, MMA, SIMT, choose, seconds


@pytest.mark.parametrize("arch", DEVICES)
def test_the_size_of_a_product_decides(arch):
    device = DEVICES[arch]
    assert choose(SIMT, 4096, 4096, 4096, 1, 4, device).bm == 64
    assert choose(MMA, 8192, 8192, 8192, 1, 2, device).bm == 128
    assert choose(MMA, 256, 256, 4096, 1, 2, device).bm == 64
    assert choose(SIMT, 16, 65536, 512, 1, 4, device).bm == 16


def test_nothing_costs_nothing():
    assert seconds(SIMT[0], 0, 5, 5, 1, 4, DEVICES["sm_90"]) == 0
    assert seconds(SIMT[0], 5, 5, 5, 2, 4, DEVICES["sm_90"]) > 0


def test_tiles_are_what_the_templates_can_do():
    for tile in SIMT:
        threads = tile.bm // tile.tm * (tile.bn // tile.tn)
        assert tile.bm * tile.bk % threads == 0
        assert tile.bn * tile.bk % threads == 0
        assert tile.tn == 4
    for tile in MMA:
        threads = tile.bm // tile.tm * (tile.bn // tile.tn) * 32
        for rows in (tile.bm, tile.bn):
            assert rows * tile.bk // 8 % threads == 0
        assert tile.stages * (tile.bm + tile.bn) * tile.bk * 2 <= 227 << 10
