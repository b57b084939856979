"""ml: small well-typed instances of each operator of ai.onnx.ml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.instances._ml_models import MODELS
from isomorph.ir.schema import ML
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

NAN = float("nan")


def _use(
    *args: Arg, note: str = "", main: str = "T", dtypes: tuple[str, ...] = (), **given: Any
) -> Instance:
    return Instance(args, given, main=main, note=note, dtypes=dtypes)


def _texts(*values: str, dtype: str = "string", shape: tuple[int, ...] | None = None) -> Arg:
    return Arg((len(values),) if shape is None else shape, dtype, values)


def _floats(*values: float, shape: tuple[int, ...] | None = None) -> Arg:
    return Arg((len(values),) if shape is None else shape, "float32", values)


def _encoder(arg: Arg, note: str, **given: Any) -> Instance:
    """A use of LabelEncoder, whose operand's element type its keys say."""
    return Instance((arg,), given, main="T1", note=note, dtypes=(arg.dtype,))


def _tensor(dtype: str, *values: Any) -> Weight:
    kind = DType.of(dtype)
    return Weight.of(np.array(values, kind.numpy), kind)


_WORDS = ("a", "b", "c")
_MAP = Arg.map(Arg((3,), "float32", (1.5, -2.75, 0.25)), 3, 0, 1)


def _map(
    note: str, arg: Arg = _MAP, dtypes: tuple[str, ...] = ("float32",), **given: Any
) -> Instance:
    return Instance((arg,), given, main="T1", note=note, dtypes=dtypes)


def _imputers(dtypes: tuple[str, ...], kind: str) -> tuple[Instance, ...]:
    """Uses for floats, or for whole numbers."""
    both: dict[str, Any] = {f"imputed_value_{kind}s": (7, 9), f"replaced_value_{kind}": 1}
    one: dict[str, Any] = {f"imputed_value_{kind}s": (7,)}
    arg = Arg((3, 2), values=(0, 1, 2, 3, 0, 1))
    return (
        _use(arg, note=kind, dtypes=dtypes, **both),
        _use(arg, note=f"{kind}, one value", dtypes=dtypes, **one),
    )


INSTANCES: dict[Key, tuple[Instance, ...]] = {
    (ML, "ArrayFeatureExtractor"): (
        _use(Arg((3, 4)), Arg((2,), "int64", (3, 1))),
        _use(Arg((4,)), Arg((2,), "int64", (3, 3)), note="vector"),
        _use(Arg((2, 3, 4)), Arg((1, 2), "int64", (0, 2)), note="one row of places"),
        _use(Arg((2, 4)), Arg((2, 2), "int64", (0, 2, 1, 3), const=True), note="constant matrix"),
        _use(Arg((2, 4)), Arg((), "int64", 2), note="scalar"),
        _use(Arg((0, 4)), Arg((2,), "int64", (3, 1)), note="empty"),
    ),
    (ML, "Binarizer"): (
        _use(Arg((3, 4)), threshold=0.5),
        _use(Arg((2, 2), values=(0, 1, -1, 2)), note="default"),
        _use(Arg((), values=2), note="scalar", threshold=1.5),
        _use(Arg((0, 2)), note="empty"),
    ),
    (ML, "Imputer"): (
        *_imputers(("float32", "float64"), "float"),
        *_imputers(("int64", "int32"), "int64"),
        _use(
            Arg((2, 2), values=(NAN, 1.5, 0, NAN)),
            note="NaN",
            dtypes=("float32", "float64"),
            imputed_value_floats=(0.1, -0.5),
            replaced_value_float=NAN,
        ),
        _use(
            Arg((2,), values=(0, 1)),
            note="vector",
            dtypes=("float32", "float64"),
            imputed_value_floats=(0.5, 0.25),
        ),
    ),
    (ML, "Normalizer"): tuple(
        _use(Arg(shape, values=values), note=f"{norm}{note}", norm=norm)
        for norm in ("MAX", "L1", "L2")
        for note, shape, values in (
            ("", (3, 2), (1, -4, 3, 2, 0.5, 0.25)),
            (", zeros", (2, 2), (0, 0, 3, -1)),
            (", vector", (3,), (1, 2, 3)),
        )
    ),
    (ML, "Scaler"): (
        _use(Arg((3, 2)), offset=(0.5, -1.25), scale=(0.1, 3.0)),
        _use(Arg((3, 2)), note="one for all", offset=(0.1,), scale=(-2.5,)),
        _use(Arg((2,)), note="vector", offset=(0.5, 1.0), scale=(0.1, 3.0)),
        _use(Arg((0, 2)), note="empty", offset=(0.5,), scale=(0.1,)),
    ),
    (ML, "FeatureVectorizer"): (
        _use(Arg((3, 2), "T1"), Arg((3, 1), "T1"), main="T1", inputdimensions=(2, 1)),
        _use(Arg((2, 3), "T1"), Arg((2, 2), "T1"), main="T1", note="cut", inputdimensions=(2, 3)),
        _use(Arg((3,), "T1"), Arg((2,), "T1"), main="T1", note="vectors", inputdimensions=(3, 2)),
        _use(Arg((3, 2), "T1"), main="T1", note="one", inputdimensions=(2,)),
    ),
    (ML, "LabelEncoder"): (
        _encoder(
            _texts("b", "q", "a", ""),
            "texts to numbers",
            keys_strings=_WORDS,
            values_int64s=(5, 6, -7),
            default_int64=-2,
        ),
        _encoder(
            _texts("c", "q", "a"),
            "texts to places",
            keys_strings=_WORDS,
            values_int64s=(0, 1, 2),
        ),
        _encoder(
            Arg((2, 2), "int64", (2, 0, 7, -1)),
            "places to texts",
            keys_int64s=(0, 1, 2),
            values_strings=_WORDS,
            default_string="none",
        ),
        _encoder(
            Arg((4,), "int64", (2, 0, 7, -1)),
            "numbers to floats",
            keys_int64s=(2, 7),
            values_floats=(0.1, -3.5),
            default_float=0.25,
        ),
        _encoder(
            _floats(0.5, NAN, 2.0, -1.0),
            "floats to texts",
            keys_floats=(0.5, -1.0),
            values_strings=("half", "less"),
        ),
        _encoder(
            _floats(NAN, 0.5),
            "NaN among keys",
            keys_floats=(NAN, 0.25),
            values_floats=(1.5, 2.5),
        ),
        _encoder(
            _texts("b", "a", "x"),
            "key twice",
            keys_strings=("a", "b", "a"),
            values_int64s=(1, 2, 3),
        ),
        _encoder(
            _texts("b", "q"),
            "texts to 16 bits",
            keys_tensor=_tensor("string", *_WORDS),
            values_tensor=_tensor("int16", 7, 8, 9),
            default_tensor=_tensor("int16", -5),
        ),
        _encoder(
            Arg((3,), "float64", (0.1, 5.0, -2.5)),
            "doubles",
            keys_tensor=_tensor("float64", 0.1, -2.5),
            values_tensor=_tensor("float64", 1e-300, 0.1),
            default_tensor=_tensor("float64", -0.0),
        ),
        _encoder(
            Arg((3,), "int64", (1, 5, 2)),
            "lists could say it",
            keys_tensor=_tensor("int64", 1, 2),
            values_tensor=_tensor("float32", 0.1, 3.5),
            default_tensor=_tensor("float32", 9.5),
        ),
        _encoder(Arg((0,), "int64"), "empty", keys_int64s=(1,), values_int64s=(2,)),
    ),
    (ML, "CategoryMapper"): (
        _encoder(
            Arg((4,), "int64", (1, 5, 2, 0)), "numbers", cats_int64s=(1, 2, 3), cats_strings=_WORDS
        ),
        _encoder(
            _texts("b", "q", "", shape=(3, 1)),
            "texts",
            cats_int64s=(1, 2, 3),
            cats_strings=_WORDS,
            default_int64=-9,
        ),
    ),
    (ML, "OneHotEncoder"): (
        _use(
            Arg((4,), values=(1, 5, 2, -1)),
            dtypes=("int64", "int32", "float32", "float64"),
            cats_int64s=(1, 2, -1),
        ),
        _use(
            Arg((2, 2), values=(1, 2, 2, 1)),
            note="no others",
            dtypes=("int64", "float32"),
            cats_int64s=(1, 2),
            zeros=0,
        ),
        _use(
            Arg((3,), values=(1.75, -1.5, 0.5)),
            note="fractions",
            dtypes=("float32", "float64"),
            cats_int64s=(0, 1, -1),
        ),
        _use(_texts("b", "q", dtype="T"), note="texts", dtypes=("string",), cats_strings=_WORDS),
        _use(Arg((), values=2), note="scalar", dtypes=("int64",), cats_int64s=(1, 2)),
    ),
    (ML, "CastMap"): (
        _map("dense"),
        _map("sparse", map_form="SPARSE", max_map=5),
        _map("whole", cast_to="TO_INT64"),
        _map("texts", cast_to="TO_STRING"),
        _map("sparse texts", map_form="SPARSE", max_map=5, cast_to="TO_STRING"),
    ),
    (ML, "DictVectorizer"): (
        _map("numbers", int64_vocabulary=(1, 3, 4, 0)),
        _map(
            "texts",
            Arg.map(Arg((2,), "float32", (0.1, -2.0)), "c", "a"),
            string_vocabulary=_WORDS,
        ),
        _map(
            "doubles",
            Arg.map(Arg((2,), "float64", (0.1, -2.0)), "c", "a"),
            ("float64",),
            string_vocabulary=_WORDS,
        ),
    ),
    (ML, "ZipMap"): (
        Instance(
            (_floats(0.1, 2, 3, 4, shape=(2, 2)),),
            {"classlabels_int64s": (3, -1)},
            main="tensor(float)",
            dtypes=("float32",),
            note="numbers",
        ),
        Instance(
            (_floats(0.1, 2, 3, 4, 5, 6, shape=(2, 3)),),
            {"classlabels_strings": _WORDS},
            main="tensor(float)",
            dtypes=("float32",),
            note="texts",
        ),
        Instance(
            (_floats(1, 2),),
            {"classlabels_strings": ("a", "b")},
            main="tensor(float)",
            dtypes=("float32",),
            note="vector",
        ),
    ),
    **MODELS,
}
