"""Mutations: of a decoded message, field by field, and of its bytes."""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.defs
from google.protobuf.descriptor import FieldDescriptor as Kind
from google.protobuf.message import EncodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.message import Message

BY_HAND = 24
"""How many of the originals, the first ones, hold more in less: they are taken more often."""

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 14, 28, 64, 65, 255, 256, 999, 1 << 16, 1 << 20, (1 << 31) - 1),
    *(-(1 << 31), 1 << 31, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63)),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("-inf"), float("nan"))
STRINGS = (
    *("", "x", "y", "ai.onnx", "ai.onnx.ml", "com.microsoft", "local", "Relu", "If", "Constant"),
    *("../w.bin", "/etc/passwd", "w.bin", "n // 0", "2*n", "n" * 300, "a;b", "é\u202e", "\x1b[31m"),
    *("\0", "[/red]", "-1", "18446744073709551616", "axes", "value", "body", "then_branch"),
)
BYTES = (b"", b"\0", b"\xff\xfe", b"x" * 300, bytes(8), b"\xff" * 8)
SPLICES = (
    *(b"", b"\0", b"\xff" * 9, b"\x80" * 10, b"../", b"/etc/passwd", b"\xff\xff\xff\xff\x07"),
    *(b"\x0b", b"\x0c", b"\x3a\x00", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x01"),
)
OPERATORS = sorted({s.name for s in onnx.defs.get_all_schemas() if not s.domain})
USUAL: dict[str, Sequence[Any]] = {
    "op_type": OPERATORS,
    "version": range(1, 30),
    "ir_version": range(1, 16),
    "data_type": range(1, 29),
    "elem_type": range(1, 29),
}
"""What a field mostly becomes: something that gets further than what does not exist."""

LARGEST = 64
"""Elements of an input that becomes a constant."""


def mutant(originals: Sequence[bytes], seed: int, index: int) -> bytes:
    """The file with this number; the same whenever it is asked for."""
    rng = random.Random(seed << 32 | index)  # noqa: S311 - reproducible on purpose
    data = rng.choice(originals[: BY_HAND if rng.random() < 0.4 else None])
    fields = rng.random() < 0.9
    if fields:
        data = of_fields(data, originals, rng)
    return of_bytes(data, rng) if not fields or rng.random() < 0.1 else data


def of_fields(data: bytes, originals: Sequence[bytes], rng: random.Random) -> bytes:
    """A few fields changed, dropped, doubled, exchanged, or taken from another model."""
    model = onnx.ModelProto.FromString(data)
    messages = parts(model)
    names = tuple(t for m in messages for t in texts(m)) or ("x",)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        message = rng.choice(messages)
        kind = rng.random()
        if kind < 0.15:
            settle(model.graph, rng)
        elif kind < 0.25:
            graft(message, originals, rng)
        else:
            change(message, names, rng)
    try:
        return model.SerializeToString()
    except (EncodeError, ValueError):  # nested too deep
        return data


def settle(graph: onnx.GraphProto, rng: random.Random) -> None:
    """Inputs become constants, so that their numbers are looked at long before anything runs."""
    known = {t.name for t in graph.initializer}
    for info in graph.input:
        tensor = info.type.tensor_type
        dims = [d.dim_value for d in tensor.shape.dim]
        size = prod(dims)
        if info.name in known or rng.random() < 0.3 or not 0 <= size <= LARGEST:
            continue
        made = graph.initializer.add(name=info.name, data_type=tensor.elem_type, dims=dims)
        if tensor.elem_type in (1, 11):
            numbers = [rng.choice(FLOATS) for _ in range(size)]
            made.raw_data = np.array(numbers, "f4" if tensor.elem_type == 1 else "f8").tobytes()
        elif tensor.elem_type in (6, 7):
            numbers = [rng.choice((*NUMBERS, *range(-4, 9))) for _ in range(size)]
            wide = np.array([max(-(1 << 63), min((1 << 63) - 1, n)) for n in numbers], "i8")
            made.raw_data = wide.astype("i4" if tensor.elem_type == 6 else "i8").tobytes()
        else:
            width = {9: 8, 2: 8, 3: 8, 4: 16, 5: 16, 10: 16, 16: 16, 12: 32, 13: 64}
            bits = width.get(tensor.elem_type, 8)
            data = rng.randbytes(size * bits // 8)
            made.raw_data = bytes(b & 1 for b in data) if tensor.elem_type == 9 else data


def parts(message: Message) -> list[Message]:
    """A message and all within it."""
    found = [message]
    for each in found:
        for field, value in each.ListFields():
            if field.message_type is not None:
                found.extend(value if field.is_repeated else [value])
    return found


def texts(message: Message) -> list[str]:
    return [
        v
        for field, value in message.ListFields()
        if field.type == Kind.TYPE_STRING
        for v in (value if field.is_repeated else [value])
        if isinstance(v, str)
    ]


def change(message: Message, names: Sequence[str], rng: random.Random) -> None:
    """One field of a message: usually one that is set."""
    there = [f for f, _ in message.ListFields()]
    every = message.DESCRIPTOR.fields
    field = rng.choice(there if there and rng.random() < 0.8 else every)
    if not field.is_repeated:
        if rng.random() < 0.15:
            message.ClearField(field.name)
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, scalar(field, names, rng))
        return
    entries = getattr(message, field.name)
    at = rng.randrange(len(entries)) if len(entries) else 0
    match rng.randrange(6):
        case 0 if len(entries):
            del entries[at]
        case 1 if len(entries):
            doubled(entries, at, field, 1)
        case 2 if len(entries) > 1:
            exchange(entries, at, rng.randrange(len(entries)), field)
        case 3 if len(entries):
            doubled(entries, at, field, rng.choice((2, 3, 20, 70)))
        case _ if field.message_type is not None:
            if rng.random() < 0.3:
                entries.add()
            elif len(entries):
                change(entries[at], names, rng)
        case 4 if len(entries):
            entries[at] = scalar(field, names, rng)
        case _:
            entries.append(scalar(field, names, rng))


def doubled(entries: Any, at: int, field: Any, times: int) -> None:
    if field.message_type is None:
        entries.extend([entries[at]] * times)
    else:
        copies = [type(entries[at])() for _ in range(times)]
        for copy in copies:
            copy.CopyFrom(entries[at])
        entries.extend(copies)


def exchange(entries: Any, at: int, other: int, field: Any) -> None:
    if field.message_type is None:
        entries[at], entries[other] = entries[other], entries[at]
        return
    kept = type(entries[at])()
    kept.CopyFrom(entries[at])
    entries[at].CopyFrom(entries[other])
    entries[other].CopyFrom(kept)


def graft(message: Message, originals: Sequence[bytes], rng: random.Random) -> None:
    """A message of the same kind from another model in the place of this one."""
    other = onnx.ModelProto.FromString(rng.choice(originals))
    alike = [m for m in parts(other) if m.DESCRIPTOR is message.DESCRIPTOR]
    if alike:
        message.CopyFrom(rng.choice(alike))


def scalar(field: Any, names: Sequence[str], rng: random.Random) -> Any:
    kind = field.type
    if field.name in USUAL and rng.random() < 0.8:
        return rng.choice(USUAL[field.name])
    if kind == Kind.TYPE_STRING:
        return rng.choice(names if rng.random() < 0.7 else STRINGS)
    if kind == Kind.TYPE_BYTES:
        return rng.choice(BYTES) if rng.random() < 0.5 else rng.randbytes(rng.randrange(40))
    if kind in (Kind.TYPE_FLOAT, Kind.TYPE_DOUBLE):
        return rng.choice(FLOATS)
    if kind == Kind.TYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values])
    number = rng.choice(NUMBERS) if rng.random() < 0.7 else rng.randrange(-3, 30)
    low, high = {
        Kind.TYPE_INT32: (-(1 << 31), (1 << 31) - 1),
        Kind.TYPE_UINT64: (0, (1 << 64) - 1),
    }.get(kind, (-(1 << 63), (1 << 63) - 1))
    return max(low, min(high, number))


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, repeated and spliced into; lengths that claim too much."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        if not made:
            made = bytearray(b"\0")
        at = rng.randrange(len(made))
        match rng.randrange(6):
            case 0:
                made[at] ^= 1 << rng.randrange(8)
            case 1:
                made[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del made[at : at + rng.randrange(1, 9)]
            case 3:
                made[at:at] = made[at : at + rng.randrange(1, 40)]
            case 4:
                del made[at:]
            case _:
                made[at:at] = rng.choice(SPLICES)
    return bytes(made)
