"""random: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import DType

    Several = tuple[Instance, ...]

FLOATS = ("float32", "float64", "float16", "bfloat16")
OTHERS = ("int64", "bool", "string", "complex64")


def _named(dtype: DType) -> int:
    return dtype.value


def _shaped(**given: Any) -> Several:
    """Results of a stated shape, of every type."""

    def use(note: str, **more: Any) -> Instance:
        return Instance((), {**given, "dtype": _named, **more}, note=note)

    return (
        use("", shape=(2, 3)),
        use("seeded", shape=(2, 3), seed=4.0),
        use("a vector", shape=(5,)),
        Instance((), {**given, "shape": (2, 3)}, note="float32 unless named", dtypes=("float32",)),
    )


def _like(**given: Any) -> Several:
    x = Arg((2, 3), "T1")

    def use(note: str, dtypes: tuple[str, ...], **more: Any) -> Instance:
        return Instance((x,), {**given, **more}, main="T1", note=note, dtypes=dtypes)

    return (
        use("", FLOATS),
        use("seeded", FLOATS, seed=4.0),
        use("of another type", (*FLOATS[:2], *OTHERS), dtype=1),
        Instance((x,), {**given, "dtype": _named}, main="T2", note="named", bind={"T1": "float32"}),
    )


def _bernoulli() -> Several:
    p = Arg((2, 3), "T1", low=0, high=1)
    return (
        Instance((p,), main="T1"),
        Instance((p,), {"seed": 4.0}, main="T1", note="seeded"),
        Instance((Arg((4,), "T1", (0, 0, 1, 1)),), main="T1", note="certain"),
        Instance((p,), {"dtype": _named}, main="T2", bind={"T1": "float32"}, note="named"),
    )


def _multinomial() -> Several:
    logarithms = Arg((2, 3), "T1", low=-3, high=0)
    return (
        Instance((logarithms,), {"sample_size": 5}, main="T1"),
        Instance((logarithms,), {"sample_size": 5, "seed": 4.0}, main="T1", note="seeded"),
        Instance((logarithms,), main="T1", note="one sample"),
        Instance((logarithms,), {"dtype": _named}, main="T2", bind={"T1": "float32"}, note="named"),
    )


INSTANCES: dict[Key, Several] = {
    ("", "Bernoulli"): _bernoulli(),
    ("", "Multinomial"): _multinomial(),
    ("", "RandomNormal"): _shaped(mean=1.0, scale=2.0),
    ("", "RandomNormalLike"): _like(mean=1.0, scale=2.0),
    ("", "RandomUniform"): _shaped(low=-1.0, high=3.0),
    ("", "RandomUniformLike"): _like(low=-1.0, high=3.0),
}
