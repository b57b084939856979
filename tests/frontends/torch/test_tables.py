"""The tables of ATen operators: whole, without doubles, and the page says what they say."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

from isomorph.frontends.torch.aten import TRANSPOSED, UNREAD, rules  # noqa: E402 - after the skip
from tests.frontends.torch.covered import listed, on_page  # noqa: E402


def test_every_row_is_an_overload_of_torchs():
    unknown: list[str] = []
    for key in rules():
        space, name, overload = key.split(".")
        packet = getattr(getattr(torch.ops, space), name, None)
        made = packet is not None and overload in packet.overloads()
        # An in-place operator is looked up under the name that it would have without the dash.
        in_place = getattr(getattr(torch.ops, space), f"{name}_", None)
        if not made and not (in_place is not None and overload in in_place.overloads()):
            unknown.append(key)
    assert not unknown


def test_what_is_said_about_rows_is_about_rows():
    assert set(TRANSPOSED) <= set(rules())
    assert set(UNREAD) <= set(rules())


def test_the_page_lists_what_is_lowered():
    assert on_page() == listed(), "run: python -m tests.frontends.torch.covered"
