"""microsoft: small well-typed instances of each operator of onnxruntime's own domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.instances._dynamic_lstm import DYNAMIC_LSTM
from isomorph.ir.instances._requantized import PRODUCTS, REQUANTIZED
from isomorph.ir.instances._transformer import TRANSFORMER
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

X = Arg((3, 4), "T1", low=-20.0, high=20.0)
STORED = Arg((3, 4), "T1", low=-100, high=200)
SCALES = Arg((4,), "T1", low=0.05, high=0.5)

QUANTIZE = (
    Instance((X, Arg((), "T1", 0.25), Arg((), "T2", 3)), main="T2", bind={"T1": "float32"}),
    Instance(
        (X, Arg((), "T1", 0.25), Arg((), "T2", 3)),
        main="T1",
        note="of halves",
        bind={"T2": "uint8"},
    ),
    Instance(
        (X, SCALES, Arg((4,), "T2", (1, 2, 3, 4))),
        {"axis": 1},
        main="T2",
        note="per axis",
        bind={"T1": "float32"},
    ),
)
DEQUANTIZE = (
    Instance((STORED, Arg((), "T2", 0.25), Arg((), "T1", 0)), main="T1", bind={"T2": "float32"}),
    Instance(
        (STORED, Arg((4,), "T2", low=0.1, high=1.0), Arg((4,), "T1", (1, 2, 3, 4))),
        {"axis": 1},
        main="T1",
        note="per axis",
        bind={"T2": "float32"},
        dtypes=("int8", "uint8", "int16", "uint16", "int4", "uint4"),
    ),
)

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    (DOMAIN, "DequantizeLinear"): DEQUANTIZE,
    (DOMAIN, "DynamicQuantizeLSTM"): DYNAMIC_LSTM,
    (DOMAIN, "QuantizeLinear"): QUANTIZE,
    **{(DOMAIN, name): uses for name, uses in REQUANTIZED.items()},
    **{(DOMAIN, name): uses for name, uses in PRODUCTS.items()},
    **{(DOMAIN, name): uses for name, uses in TRANSFORMER.items()},
}
