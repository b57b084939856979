"""What a kernel is made of: a template, constants, and functors; and one launch of it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value

PORTABLE = ("sm_80", "sm_90", "sm_100")
"""Architectures that kernels without architecture-specific instructions are built for."""

CTYPES = {
    DType.FLOAT32: "float",
    DType.FLOAT16: "half_t",
    DType.BFLOAT16: "bfloat_t",
    DType.FLOAT64: "double",
    DType.BOOL: "bool_t",
    DType.INT8: "int8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.UINT8: "uint8_t",
    DType.UINT16: "uint16_t",
    DType.UINT32: "uint32_t",
    DType.UINT64: "uint64_t",
}
"""Element types that kernels compute with, and their names in the dialect."""

NARROW = {
    DType.FLOAT8E4M3FN: "e4m3_t",
    DType.FLOAT8E4M3FNUZ: "e4m3z_t",
    DType.FLOAT8E5M2: "e5m2_t",
    DType.FLOAT8E5M2FNUZ: "e5m2z_t",
    DType.FLOAT8E8M0: "e8m0_t",
    DType.FLOAT6E2M3: "e2m3_t",
    DType.FLOAT6E3M2: "e3m2_t",
    DType.FLOAT4E2M1: "e2m1_t",
    DType.INT4: "int4_t",
    DType.UINT4: "uint4_t",
    DType.INT2: "int2_t",
    DType.UINT2: "uint2_t",
}
"""Element types that are only cast and quantized, a byte each on the device, and their names."""

COMPUTED_AS = {
    "half_t": "float",
    "bfloat_t": "float",
    "bool_t": "bool",
    **{name: "float" if dtype.is_float else "int32_t" for dtype, name in NARROW.items()},
}
"""What elements of these types are computed as; all others as what they are."""

INDICES = {DType.INT32: "int32_t", DType.INT64: "int64_t"}
"""Integers that kernels take for indices."""

CONTIGUOUS = 1.1
"""What alignment may cost where neighbouring lanes ask for neighbouring elements."""

SECTOR = 32
"""Bytes of global memory that move as one."""

SIZES = {name: dtype.numpy.itemsize for dtype, name in (CTYPES | NARROW).items()}
"""Bytes of an element on the device."""

WORDS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
"""What kernels that only move data take elements for, by size in bytes."""


def opcode(kind: str, ctype: str, count: int) -> str:
    """How machine code names a load (`LDG`) or store (`STG`) of so many elements as one vector."""
    suffix = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
    return f"{kind}.E{suffix[min(SIZES[ctype] * count, 16)]}"


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Everything that a kernel's source depends on; sizes are run-time parameters.

    Attributes:
        kernel: the stem of the `.cu` file, which is the entry's name too.
        types: names of the dialect's types that the template asks for, such as `("T", "half_t")`.
        constants: integers and booleans that the template asks for: tile, kind, rank, alignment.
        code: the functors that it asks for.
        threads: of a block.
        archs: the architectures it may be built for.
        instructions: opcodes that its machine code must have, such as `LDG.E.128`.
        sectors: most sectors of 32 bytes of global memory that a request moves, as a multiple of
            what it asks for, where sizes are multiples of the tile.
        wavefronts: the same of shared memory: most passes over its banks.
    """

    kernel: str
    types: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, int], ...] = ()
    code: str = ""
    threads: int = 256
    archs: tuple[str, ...] = PORTABLE
    instructions: tuple[str, ...] = ()
    sectors: float = CONTIGUOUS
    wavefronts: float = CONTIGUOUS

    @property
    def prelude(self) -> str:
        """The text that stands for `spec.cuh`."""
        lines = [f"using {name} = {kind};" for name, kind in self.types]
        for name, value in self.constants:
            kind = "bool" if isinstance(value, bool) else "int"
            lines.append(f"constexpr {kind} {name} = {str(value).lower()};")
        return "\n".join([*lines, self.code]) + "\n"

    @property
    def name(self) -> str:
        """The kernel and a short hash of the rest, for files and reports."""
        return f"{self.kernel}_{sha256(self.prelude.encode()).hexdigest()[:10]}"


@dataclass(frozen=True, slots=True)
class Block:
    """One kernel parameter: a struct of pointers, then of 4-byte words.

    Attributes:
        pointers: buffers, as the values that they hold; `None` is a null pointer.
        words: ints (uint32 or int32) and floats (float32), in order.
    """

    pointers: tuple[Value | None, ...] = ()
    words: tuple[int | float, ...] = ()

    def packed(self, addresses: Sequence[int]) -> bytes:
        """The bytes of the struct, its pointers being these addresses."""
        raw = struct.pack(f"<{len(addresses)}Q", *addresses)
        for word in self.words:
            if isinstance(word, float):
                raw += struct.pack("<f", word)
            else:
                raw += (int(word) & 0xFFFFFFFF).to_bytes(4, "little")
        return raw.ljust(max(8, -(-len(raw) // 8) * 8), b"\0")


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of one kernel.

    Attributes:
        spec: the kernel.
        grid: blocks in x, y, z.
        parameters: in the order of the kernel's own.
        writes: the values among the parameters' pointers that it writes.
        shared: bytes of dynamic shared memory.
        in_place: operands whose buffer the result may take, if nothing reads them afterwards.
        partial: it writes a part of its result only.
    """

    spec: KernelSpec
    grid: tuple[int, int, int]
    parameters: tuple[Block, ...]
    writes: tuple[Value, ...]
    shared: int = 0
    in_place: tuple[Value, ...] = ()
    partial: bool = False
    flops: int = field(default=0, compare=False)

    @property
    def values(self) -> tuple[Value, ...]:
        """Every value that a pointer refers to, each once."""
        found = (v for block in self.parameters for v in block.pointers if v is not None)
        return tuple(dict.fromkeys(found))
