"""Input specifications: what they mean, and how errors read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.frontends.spec import parse_spec, parse_specs
from isomorph.ir.errors import SpecError
from isomorph.ir.types import DType


@pytest.mark.parametrize(
    ("text", "name", "kind", "constraints", "domain"),
    [
        ("x: float32[batch, 1, 8, 8]", "x", "float32[batch, 1, 8, 8]", [], None),
        ("x: float32[]", "x", "float32[]", [], None),
        ("  x.y :  int64[ n ]  ", "x.y", "int64[n]", [], None),
        ("float16[2*n, n + 1]", "", "float16[2*n, n + 1]", [], None),
        ("x: bool[max(n, 2), h // 8]", "x", "bool[max(n, 2), (h) // 8]", [], None),
        ("x: float32[b in 1..64, n in 4.., m in ..9]", "x", "float32[b, n, m]",
         ["b >= 1", "b <= 64", "n >= 4", "m <= 9"], None),
        ("x: float32[n in 5..5]", "x", "float32[n]", ["n == 5"], None),
        ("x: float32[2*n in 4..8]", "x", "float32[2*n]", ["2*n >= 4", "2*n <= 8"], None),
        ("x: float32[3] in 0..1", "x", "float32[3]", [], (0.0, 1.0)),
        ("x: float32[3] in -1.5..2e3", "x", "float32[3]", [], (-1.5, 2000.0)),
        ("tokens: int64[batch,seq] in 0..150", "tokens", "int64[batch, seq]", [], (0, 150)),
        ("x: float32[n in 1..2] in 0..", "x", "float32[n]", ["n >= 1", "n <= 2"],
         (0.0, float("inf"))),
        ("x: bfloat16[inner]", "x", "bfloat16[inner]", [], None),
    ],
)  # fmt: skip
def test_meaning(text: str, name: str, kind: str, constraints: list[str], domain: object):
    spec = parse_spec(text)
    assert spec.name == name
    assert str(spec.type) == kind
    assert [str(c) for c in spec.constraints] == constraints
    assert spec.domain == domain
    assert all(text in c.reason for c in spec.constraints)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("x: flot32[3]", 4, "did you mean `float32`"),
        ("x: float[3]", 4, "did you mean `float32`"),
        ("x: Float32[3]", 4, "did you mean `float32`"),
        ("x: zzz[3]", 4, "known are float32"),
        ("x float32[3]", 2, "expected `:` after the name"),
        ("x: float32", 11, "expected `[`"),
        ("x: float32[3", 13, "expected `]`"),
        ("x: float32[a b]", 12, "`a b` is not a number, a name"),
        ("x: float32[3,]", 14, "expected a dim"),
        ("x: float32[a, ,b]", 15, "expected a dim"),
        ("x: float32[-1]", 12, "dim -1 is negative"),
        ("x: float32[n/2]", 12, "arithmetic on names"),
        ("x: float32[3 in 1..2]", 12, "a number already"),
        ("x: float32[n in 5..3]", 17, "range is empty"),
        ("x: float32[n in 5]", 17, "expected a range"),
        ("x: float32[n in a..3]", 17, "`a` is not a number"),
        ("x: float32[n in 1.5..3]", 17, "`1.5` is not an integer"),
        ("x: float32[3] of 3", 15, "expected `in low..high`"),
        ("x: float32[3] in 1", 18, "expected a range"),
        ("x: int64[2] in 0..1.5", 19, "`1.5` is not an integer"),
        ("x: string[2] in 0..1", 16, "strings have no range"),
        ("2x: float32[3]", 1, "expected a name"),
        (f"x: float32[{2**63}]", 12, "the largest int64"),
        (f"x: float32[n in 1..{2**63}]", 12, "the largest int64"),
        ("x: float32[n in -5..-1]", 12, "no dim is negative"),
        ("x: float32[n in -5..5]", 12, "no dim is negative"),
        ("x: uint8[n] in -5..5", 16, "-5 is outside uint8, which holds 0..255"),
        ("x: int8[n] in 0..1000", 15, "1000 is outside int8, which holds -128..127"),
        ("x: uint4[n] in 0..16", 16, "16 is outside uint4, which holds 0..15"),
        ("x: bool[n] in 0..2", 15, "2 is outside bool"),
        ("x: float16[n] in 0..1e9", 18, "outside float16, which holds -65504.0..65504.0"),
        (f"x: float32[{','.join('1' * 65)}]", 142, "65 dims"),
        ("", 1, "expected an element type"),
        ("x:", 3, "expected an element type"),
    ],
)
def test_errors_name_the_column(text: str, column: int, words: str):
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    shown = str(caught.value)
    assert shown.startswith(f"{text!r}, column {column}: "), shown
    assert words in shown


@pytest.mark.parametrize(
    "dim", ["(" * 5000 + "n" + ")" * 5000, "9" * 5000, "n in 1.." + "9" * 5000]
)
def test_a_long_text_is_not_printed_whole(dim: str):
    with pytest.raises(SpecError) as caught:
        parse_spec(f"x: float32[{dim}]")
    assert len(str(caught.value)) < 800


def test_a_name_is_given_once():
    with pytest.raises(SpecError, match="'x' is specified twice"):
        parse_specs(["x: float32[3]", "y: int64[2]", "x: float32[3]"])


def test_ranges_that_exclude_each_other_are_both_named():
    for texts in (
        ["x: float32[n in 4..64, n in 2..3]"],
        ["x: float32[n in 4..64]", "y: float32[n in ..3]"],
        ["x: float32[n in 4..4]", "y: float32[n in 5..5]"],
    ):
        with pytest.raises(SpecError, match=r"no size of n fits: .* contradicts ") as caught:
            parse_specs(texts)
        assert all(text in str(caught.value) for text in texts)
    assert parse_specs(["x: float32[n in 1..64, n in 2..3] in ..inf"])


def test_one_text_holds_one_specification_or_several():
    assert parse_specs("x: float32[2]") == parse_specs(["x: float32[2]"])
    both = ["x: float32[2]", "y: int64[n]"]
    assert [s.name for s in parse_specs("; ".join(both) + ";")] == ["x", "y"]


@pytest.mark.parametrize("given_", [None, 5, {"x": "float32[2]"}, [None], [("x", (2,))], [b"x"]])
def test_what_is_no_text_is_told_what_is_expected(given_: Any):
    with pytest.raises(SpecError, match=r"is expected, .*as in"):
        parse_specs(given_)


@given(
    dtype=st.sampled_from(list(DType)),
    dims=st.lists(st.integers(0, 9) | st.sampled_from(["a", "b", "a + b", "2*a", "a*b"])),
)
def test_a_type_reads_back_as_it_is_written(dtype: DType, dims: list[int | str]):
    text = f"{dtype}[{', '.join(map(str, dims))}]"
    assert str(parse_spec(f"x: {text}").type) == text


@given(st.text(max_size=40))
def test_any_text_is_a_specification_or_a_spec_error(text: str):
    try:
        parse_spec(text)
    except SpecError as error:
        shown = str(error)
    else:
        return
    assert repr(text) in shown
