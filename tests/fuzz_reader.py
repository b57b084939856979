"""Mutated files: `python -m tests.fuzz_reader COUNT SEED` reads that many and reports escapes.

Every outcome but a graph or a typed error is an escape; so is an output that cannot be written.
"""

from __future__ import annotations

import random
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from isomorph.exporters.onnx.writer import ExportBlocked, to_proto
from isomorph.frontends.onnx import reader
from isomorph.ir.errors import InvalidModelError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED_TEXTS = (
    """
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (float["n", "2*n + 1"] x, bool c, int64[2] s) => (float[2] y, float["n", "m"] z)
    <float[2] w = {1, 2}, int4[3] q = {1, 2, 3}>
    {
        a = local.f <alpha: float = 3.0> (w)
        y = If (c) <then_branch = t () => (float[2] p) { p = Mul(a, w) },
                    else_branch = e () => (float[2] r) { r = Identity(w) }>
        z = Reshape <allowzero: int = 1> (x, s)
    }
    <domain: "local", opset_import: ["": 21]>
    f <alpha: float = 2.0> (x) => (y) { y = LeakyRelu <alpha: float = @alpha> (x) }
    """,
    """
    <ir_version: 8, opset_import: ["": 13, "ai.onnx.ml": 2],
     metadata_props: ["isomorph.constraints": "n >= 4; n % 8 == 0",
                      "isomorph.domains": "x in 0..9"]>
    g (float["n", 3] x) => (float["n", 3] y) {
        k = Constant <value = float[3] {1, 2, 3}> ()
        s = Add(x, k)
        y = Clip(s, , )
    }
    """,
)
SPLICES = (b"", b"\0", b"\xff" * 9, b"\x80" * 10, b"../", b"/etc/passwd", b"\xff\xff\xff\xff\x07")


def seeds() -> list[bytes]:
    """Models to start from, one of them with external data and sparse weights."""
    models = [onnx.parser.parse_model(text) for text in SEED_TEXTS]
    weight = models[0].graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "8"), ("length", "8")):
        weight.external_data.add(key=key, value=value)
    values = onnx.helper.make_tensor("sp", onnx.TensorProto.FLOAT, [1], [1.0])
    places = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [1])
    models[1].graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, places, [4]))
    return [m.SerializeToString() for m in models]


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Bytes flipped, cut, repeated and spliced into."""
    rng = random.Random(seed)  # noqa: S311 - reproducible on purpose
    originals = seeds()
    for _ in range(count):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice((1, 1, 2, 4, 8))):
            at = rng.randrange(len(data))
            match rng.randrange(5):
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
                case 2:
                    del data[at : at + rng.randrange(1, 9)]
                case 3:
                    piece = data[at : at + rng.randrange(1, 40)]
                    data[at:at] = piece
                case _:
                    data[at:at] = rng.choice(SPLICES)
            if not data:
                data = bytearray(b"\0")
        yield bytes(data)


def escape(path: Path, data: bytes) -> str:
    """What went wrong with one file, empty when nothing did."""
    path.write_bytes(data)
    try:
        graph = reader.read(path)
    except (InvalidModelError, UnsupportedError) as error:
        return "" if str(error).startswith(str(path)) else f"no path in the error: {error}"
    except Exception:  # noqa: BLE001 - this is what is looked for
        return traceback.format_exc()
    try:
        to_proto(graph).SerializeToString()
    except (ExportBlocked, UnsupportedError):
        return ""
    except Exception:  # noqa: BLE001 - the same
        return f"read, but cannot be written:\n{traceback.format_exc()}"
    return ""


def fuzz(count: int, seed: int = 0) -> dict[str, bytes]:
    """Escapes among so many mutants, one file for each kind."""
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.onnx")
        Path(folder, "w.bin").write_bytes(bytes(64))
        for data in mutants(count, seed):
            for mapped_from in (1, 1 << 24):
                reader.MAPPED_FROM = mapped_from
                trace = escape(path, data)
                if trace:
                    found.setdefault(trace.replace(folder, ""), data)
    reader.MAPPED_FROM = 1 << 24
    return found


if __name__ == "__main__":
    escapes = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for text, file in escapes.items():
        print(f"{text}\n  {file!r}\n")
    print(f"{len(escapes)} kinds of escape")
    sys.exit(bool(escapes))
