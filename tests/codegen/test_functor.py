"""How operands are read, and the flattened source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.codegen.flatten import source
from isomorph.codegen.functor import Access, access, collapse, render
from isomorph.codegen.spec import Block, KernelSpec
from isomorph.lowering.context import broadcast_strides, strides_of


@pytest.mark.parametrize(
    ("shape", "operand", "wanted"),
    [
        ((2, 3), (2, 3), Access("full")),
        ((2, 3), (3,), Access("ring", (1, 3))),
        ((2, 16), (16,), Access("row", (16,))),
        ((2, 3, 4, 4), (3, 1, 1), Access("channel", (16, 3))),
        ((2, 3), (1, 1), Access("scalar")),
        ((2, 3, 4, 5), (3, 1, 1), Access("ring", (20, 3))),
        ((2, 3, 4), (2, 1, 1), Access("ring", (12, 2))),
        ((2, 3, 4), (2, 1, 4), Access("strided", (2, 3, 4, 4, 0, 1))),
        ((), (), Access("scalar")),
    ],
)
def test_the_cheapest_access(shape, operand, wanted):
    assert access(shape, broadcast_strides(operand, shape)) == wanted


@given(st.lists(st.tuples(st.sampled_from((1, 2, 3, 4, 8)), st.booleans()), max_size=4))
def test_every_access_reads_what_broadcasting_gives(dims):
    shape = tuple(d for d, _ in dims)
    operand = tuple(1 if one else d for d, one in dims)
    data = np.arange(int(np.prod(operand))).reshape(operand)
    found = access(shape, broadcast_strides(operand, shape))
    flat, rank = data.reshape(-1), len(found.words) // 2
    for i, wanted in enumerate(np.broadcast_to(data, shape).reshape(-1)):
        match found.kind:
            case "full":
                at = i
            case "scalar":
                at = 0
            case "row":
                at = i % found.words[0]
            case "ring" | "channel":
                at = i // found.words[0] % found.words[1]
            case _:
                where = np.unravel_index(i, found.words[:rank])
                at = int(np.dot(where, found.words[rank:]))
        assert flat[at] == wanted


def test_neighbouring_axes_are_joined():
    assert collapse((2, 3, 4), (strides_of((2, 3, 4)),)) == [(24, (1,))]
    assert collapse((2, 1, 4), ((4, 4, 1), (0, 0, 1))) == [(2, (4, 0)), (4, (1, 1))]


def test_a_source_is_flat_and_keeps_its_lines():
    text = source(KernelSpec("rows", (("T", "float"),), (("KIND", 2), ("FLAG", True)), "// code"))
    includes = [line for line in text.splitlines() if line.startswith("#include")]
    assert includes == ['#include "sim.hpp"']
    assert "constexpr bool FLAG = true;" in text
    assert text.count("DEV V warp_reduce(") == 1
    assert '#line 1 "spec.cuh"' in text


def test_a_block_is_pointers_then_words():
    assert Block((), (1, -1, 1.0)).packed([]) == b"\1\0\0\0\xff\xff\xff\xff\0\0\x80?\0\0\0\0"
    assert Block().packed([]) == bytes(8)
    assert "operator()" in render([], [], "x")
