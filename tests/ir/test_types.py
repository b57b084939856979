"""Types of values that are no tensors: their names in schemas, messages, merging."""

from __future__ import annotations

import onnx.defs
import pytest

from isomorph.ir.dims import symbol
from isomorph.ir.merge import either, merge
from isomorph.ir.proto.types import decode_type, encode_type
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseType,
    TensorType,
    Type,
    innermost,
    schema_name,
)

N = symbol("n")
FLOAT = TensorType(DType.FLOAT32, (N, 3))
WIDER = TensorType(DType.FLOAT32, (N, 4))
LONG = TensorType(DType.INT64, (2,))
SCORES = MapType(DType.STRING, TensorType(DType.FLOAT32, ()))
EVERY = (
    FLOAT,
    TensorType(DType.STRING),
    SequenceType(FLOAT),
    OptionalType(SequenceType(LONG)),
    OptionalType(LONG),
    SequenceType(SCORES),
    MapType(DType.INT64, SequenceType(LONG)),
    SequenceType(SequenceType(LONG)),
    SparseType(DType.FLOAT32, (2, 2)),
)


@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_messages_hold_every_kind(kind: Type):
    assert decode_type(encode_type(kind), "here") == kind


def test_schemas_name_types_as_we_do():
    """Every type that some operator takes has its name here, and no two have the same."""
    tensors: list[Type] = [TensorType(d) for d in DType]
    kinds = [*tensors, *(SparseType(d) for d in DType)]
    kinds += [SequenceType(t) for t in tensors] + [OptionalType(t) for t in tensors]
    kinds += [OptionalType(SequenceType(t)) for t in tensors]
    maps: list[Type] = [MapType(k, t) for k in (DType.INT64, DType.STRING) for t in tensors]
    kinds += maps + [SequenceType(m) for m in maps]
    known = [schema_name(k) for k in kinds]
    assert len(set(known)) == len(known)
    named = {
        text
        for s in onnx.defs.get_all_schemas_with_history()
        for formal in (*s.inputs, *s.outputs)
        for text in formal.types
        if not s.domain.endswith("training")
    }
    assert sorted(named - set(known)) == []


@pytest.mark.parametrize(
    ("kind", "inner"),
    [(SequenceType(SCORES), "float32[]"), (OptionalType(SequenceType(LONG)), "int64[2]")],
)
def test_the_tensors_within(kind: Type, inner: str):
    assert str(innermost(kind)) == inner


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (
            SequenceType(FLOAT),
            SequenceType(TensorType(DType.FLOAT32, (N, 4))),
            "seq(float32[n, ?])",
        ),
        (OptionalType(LONG), LONG, "optional(int64[2])"),
        (SequenceType(LONG), OptionalType(SequenceType(LONG)), "optional(seq(int64[2]))"),
        (SCORES, SCORES, "map(string, float32[])"),
        (SequenceType(LONG), None, "None"),
    ],
)
def test_what_is_certain_of_one_of_two(one: Type, other: Type | None, both: str):
    assert str(either(one, other)) == both
    assert str(either(other, one)) == both


@pytest.mark.parametrize(
    ("one", "other"),
    [(SequenceType(FLOAT), SequenceType(LONG)), (SequenceType(LONG), LONG), (SCORES, LONG)],
)
def test_kinds_do_not_mix(one: Type, other: Type):
    with pytest.raises(ValueError, match="differ in kind or element type"):
        either(one, other)
    with pytest.raises(ValueError, match="is stated"):
        merge(one, other)


def test_what_is_known_of_elements_is_joined():
    stated = SequenceType(TensorType(DType.FLOAT32, (None, 3)))
    assert merge(stated, SequenceType(FLOAT)) == SequenceType(FLOAT)
