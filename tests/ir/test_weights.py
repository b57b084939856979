"""Constants: kept where they are, packed as ONNX packs them, equal when every bit is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx.numpy_helper
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.ir.errors import InvalidModelError
from isomorph.ir.files import MappedFile
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Buffer, FileRange, Weight

if TYPE_CHECKING:
    from pathlib import Path

NUMERIC = [d for d in DType if d is not DType.STRING]
PACKED = [d for d in NUMERIC if d.bits < 8]
SHAPES = [(), (0,), (1,), (3, 5), (2, 0, 3), (7,)]


def elements(dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Every code of the type in turn."""
    count, width = int(np.prod(shape)), dtype.numpy.itemsize
    codes = np.random.default_rng(0).integers(0, 256, (count, width), np.uint8)
    if dtype is DType.BOOL:
        return (codes & 1).astype(bool).reshape(shape)
    if dtype.bits < 8:
        codes &= (1 << dtype.bits) - 1
        if dtype in (DType.INT4, DType.INT2):
            top = 1 << (dtype.bits - 1)
            return ((codes ^ top).astype(np.int8) - top).astype(dtype.numpy).reshape(shape)
    return codes.reshape(-1).view(dtype.numpy).reshape(shape)


def bits(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_bytes_are_those_of_onnx(dtype: DType, shape: tuple[int, ...]):
    array = elements(dtype, shape)
    weight = Weight.of(array)
    theirs = onnx.numpy_helper.from_array(array)
    assert (weight.dtype, weight.shape) == (dtype, shape)
    assert theirs.data_type == dtype.value
    assert bytes(weight.view()) == theirs.raw_data
    assert weight.nbytes == len(theirs.raw_data)
    assert b"".join(map(bytes, weight.chunks())) == theirs.raw_data
    again = Weight(dtype, shape, Buffer(theirs.raw_data))
    for found in (weight.numpy(), again.numpy()):
        assert (found.dtype, found.shape) == (dtype.numpy, shape)
        assert bits(found) == bits(array)
        assert not found.flags.writeable
    assert weight.same(again)
    assert weight.digest() == again.digest()


def test_every_packed_type_is_tried():
    assert {str(d) for d in PACKED} == {
        *("int4", "uint4", "int2", "uint2", "float4e2m1", "float6e2m3", "float6e3m2")
    }


class TestMemoryIsShared:
    @pytest.mark.parametrize(
        "array",
        [
            np.arange(6.0),
            np.arange(6.0).reshape(2, 3).T,
            np.arange(12)[::2],
            np.array(3.0),
            np.zeros(4, ml_dtypes.bfloat16),
        ],
        ids=["plain", "transposed", "strided", "scalar", "bfloat16"],
    )
    def test_with_the_array(self, array: np.ndarray):
        weight = Weight.of(array)
        assert np.shares_memory(weight.numpy(), array)
        assert weight.numpy().strides == array.strides
        assert bytes(weight.view()) == bits(array)
        assert array.flags.writeable

    def test_with_bytes(self):
        raw = bytes(range(32))
        for data in (raw, memoryview(raw)[0:], np.frombuffer(raw, np.uint8)):
            weight = Weight(DType.FLOAT32, (2, 4), Buffer(data))
            assert np.shares_memory(weight.numpy(), np.frombuffer(raw, np.uint8))

    def test_with_the_file(self, tmp_path: Path):
        weight = stored(tmp_path, bytes(64), 16, 32)
        assert np.shares_memory(weight.numpy(), weight.numpy())


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["f4", "i8", "u2", "c16"])
def test_the_byte_order_of_the_array_does_not_matter(kind: str, order: str):
    plain = np.array([[1, 2], [3, 300]], kind)
    weight = Weight.of(plain.astype(order + kind))
    assert weight.same(Weight.of(plain))
    assert bytes(weight.view()) == plain.astype("<" + kind).tobytes()
    assert DType.of(np.dtype(order + kind)) is weight.dtype


class TestStrings:
    def test_round_trip(self):
        weight = Weight.of([["a", "é"], [b"\xff", ""]], DType.STRING)
        assert weight.strings == (b"a", "é".encode(), b"\xff", b"")
        assert weight.numpy().tolist() == [["a", "é"], [b"\xff", ""]]
        assert weight.nbytes == 4
        assert bytes(weight.view()) == b""
        for array in (np.array(["x", "yy"]), np.array([b"x", b"yy"]), np.array(["x", "yy"], "T")):
            assert Weight.of(array).same(Weight.of(["x", "yy"]))

    def test_boundaries_between_strings_count(self):
        assert not Weight.of(["ab", "c"]).same(Weight.of(["a", "bc"]))

    @pytest.mark.parametrize("given", [[1, "a"], [None], [["a"], "b"]])
    def test_what_is_no_string_is_refused(self, given: list[Any]):
        array = np.empty(len(given), object)
        array[:] = given
        with pytest.raises(TypeError, match="a string or bytes were expected"):
            Weight.of(array)


class TestSameness:
    def test_is_of_dtype_shape_and_every_bit(self):
        one = Weight.of(np.zeros((2, 2), np.float32))
        assert one.same(one)
        assert one.same(Weight.of(np.zeros((2, 2), np.float32)))
        assert not one.same(Weight.of(np.zeros((2, 2), np.int32)))
        assert not one.same(Weight.of(np.zeros(4, np.float32)))
        assert not one.same(Weight.of(-np.zeros((2, 2), np.float32)))
        nan = np.array([np.nan], np.float32)
        assert Weight.of(nan).same(Weight.of(nan.copy()))

    @given(st.lists(st.integers(0, 1), max_size=6), st.lists(st.integers(0, 1), max_size=6))
    def test_follows_content(self, a: list[int], b: list[int]):
        one, two = (Weight.of(np.array(x, ml_dtypes.int4)) for x in (a, b))
        assert one.same(two) == (a == b)
        assert (one.digest() == two.digest()) == (a == b)

    def test_does_not_depend_on_where_the_bytes_are(self, tmp_path: Path):
        raw = np.arange(8, dtype=np.float32).tobytes()
        here, there = Weight(DType.FLOAT32, (8,), Buffer(raw)), stored(tmp_path, raw, 0, 32)
        assert here.same(there)
        assert here.digest() == there.digest()


def stored(folder: Path, raw: bytes, offset: int, length: int) -> Weight:
    path = folder / "data.bin"
    path.write_bytes(raw)
    return Weight(DType.FLOAT32, (length // 4,), FileRange(MappedFile(path), offset, length))


class TestFileRanges:
    def test_any_alignment(self, tmp_path: Path):
        numbers = np.arange(5, dtype=np.float32)
        weight = stored(tmp_path, b"abc" + numbers.tobytes(), 3, 20)
        np.testing.assert_array_equal(weight.numpy(), numbers)
        assert not weight.numpy().flags.writeable
        assert b"".join(weight.chunks()) == numbers.tobytes()

    def test_an_empty_range(self, tmp_path: Path):
        assert stored(tmp_path, b"", 0, 0).numpy().shape == (0,)
        assert stored(tmp_path, b"abcd", 4, 0).numpy().shape == (0,)

    @pytest.mark.parametrize(
        ("offset", "length"), [(0, 17), (16, 4), (-4, 4), (4, -4), (1 << 60, 4)]
    )
    def test_past_the_end(self, tmp_path: Path, offset: int, length: int):
        with pytest.raises(InvalidModelError, match=rf"bytes {offset} to .* it has 16"):
            stored(tmp_path, bytes(16), offset, length)

    @pytest.mark.parametrize("looked", [False, True], ids=["before", "after"])
    def test_a_file_cut_after_opening_is_an_error(self, tmp_path: Path, looked: bool):
        """Before and after it was mapped: touching a page that is gone would be a SIGBUS."""
        weight = stored(tmp_path, bytes(1 << 16), 0, 1 << 16)
        if looked:
            weight.numpy()
        os.truncate(tmp_path / "data.bin", 100)
        with pytest.raises(InvalidModelError, match="changed since the model was loaded"):
            weight.numpy()
        with pytest.raises(InvalidModelError, match="changed since the model was loaded"):
            list(weight.chunks())

    def test_chunks_are_pieces(self, tmp_path: Path):
        path = tmp_path / "data.bin"
        path.write_bytes(os.urandom(9 << 20))
        pieces = list(FileRange(MappedFile(path), 5, (9 << 20) - 7).chunks())
        assert len(pieces) == 3
        assert b"".join(pieces) == path.read_bytes()[5:-2]


def test_a_weight_of_a_scalar_or_list():
    assert Weight.of(3).type == TensorType(DType.INT64, ())
    assert Weight.of([1.0, 2.0]).type == TensorType(DType.FLOAT64, (2,))
    assert Weight.of([[True]]).type == TensorType(DType.BOOL, (1, 1))
    assert Weight.of(3, DType.FLOAT16).type == TensorType(DType.FLOAT16, ())
    assert Weight.of(Weight.of([-7, 7], DType.INT4).numpy()).dtype is DType.INT4


class TestElementTypes:
    @pytest.mark.parametrize("dtype", list(DType), ids=str)
    def test_every_spelling_means_the_same(self, dtype: DType):
        names = [dtype, dtype.value, str(dtype), dtype.name]
        names += [] if dtype is DType.STRING else [dtype.numpy]
        assert {DType.of(name) for name in names} == {dtype}
        assert dtype.numpy == onnx.helper.tensor_dtype_to_np_dtype(dtype.value)
        kinds = [dtype.is_float, dtype.is_integer, dtype.is_complex]
        assert sum(kinds) == (dtype not in (DType.STRING, DType.BOOL))

    def test_numbers_that_nobody_defined(self):
        with pytest.raises(ValueError, match="no element type has number 0; 1 to 28 do"):
            DType.of(0)
        with pytest.raises(TypeError, match="M8"):
            DType.of(np.dtype("M8[s]"))
