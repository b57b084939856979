"""Uses of what onnxruntime's optimizer makes of transformers."""

from __future__ import annotations

from typing import Any

from isomorph.ir.instances import Arg, Instance

X = Arg((2, 3, 4))
BIAS = Arg((4,))


def _product(note: str, a: tuple[int, ...], b: tuple[int, ...], **attributes: Any) -> Instance:
    return Instance((Arg(a), Arg(b)), attributes, note=note)


TRANSFORMER: dict[str, tuple[Instance, ...]] = {
    "BiasGelu": (Instance((X, BIAS)), Instance((Arg((5,)), Arg((5,))), note="vectors")),
    "FastGelu": (Instance((X,)), Instance((X, BIAS), note="bias")),
    "FusedMatMul": (
        _product("", (2, 3, 4), (2, 4, 5)),
        _product("scaled", (3, 4), (4, 5), alpha=0.25),
        _product("left turned", (4, 3), (4, 5), transA=1),
        _product("both turned", (2, 4, 3), (2, 5, 4), transA=1, transB=1, alpha=2.0),
        _product("left batch", (3, 2, 4), (2, 4, 5), transBatchA=1),
        _product("both batches", (3, 2, 4), (4, 2, 5), transBatchA=1, transBatchB=1),
        _product("everything", (4, 2, 3), (5, 2, 4), transA=1, transB=1, transBatchA=1,
                 transBatchB=1, alpha=0.5),
        _product("broadcast", (2, 1, 3, 4), (5, 4, 2)),
    ),
    "Gelu": (Instance((X,)), Instance((Arg(()),), note="scalar")),
    "QuickGelu": (Instance((X,)), Instance((X,), {"alpha": 1.0}, note="Swish")),
}  # fmt: skip
