"""ml: what each operator of ai.onnx.ml computes, on arrays, and on maps, which are dicts.

Of keys that occur twice the last one counts (LabelEncoder-4); before, the definition is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.schema import ML
from isomorph.ir.semantics import Call, Impl
from isomorph.ir.semantics import _linear_models as linear
from isomorph.ir.semantics import _svm as svm
from isomorph.ir.semantics import _trees as trees
from isomorph.ir.semantics._scores import problem
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key


# -- features -----------------------------------------------------------------------------------


def _extract(call: Call, x: Any, index: Any) -> np.ndarray:
    """Elements along the last axis; of a vector the result has one row."""
    x, places = np.asarray(x), np.asarray(index).reshape(-1)
    if not x.ndim:
        raise problem(call, "its first operand is a scalar, which has no last axis")
    bad = places[(places < 0) | (places >= x.shape[-1])]
    if bad.size:
        raise problem(call, f"index {bad[0]} of {x.shape[-1]} features")
    found = x[..., places]
    return found.reshape(1, -1) if x.ndim == 1 else found


def _binarize(call: Call, x: Any) -> np.ndarray:
    x = np.asarray(x)
    return (x > call.attr("threshold")).astype(x.dtype)


def _gather_features(call: Call, *given: Any) -> np.ndarray:
    """Each operand's first columns, as many as inputdimensions says, 0 where it has fewer."""
    widths = call.attr("inputdimensions") or ()
    dtype = call.float_dtype(DType.FLOAT32)
    parts: list[np.ndarray] = []
    for number, operand in enumerate(given):
        x = np.asarray(operand)
        if x.ndim not in {1, 2}:
            raise problem(call, f"operand {number} has shape {x.shape}; a matrix was expected")
        matrix = (x.reshape(1, -1) if x.ndim == 1 else x).astype(dtype)
        width = widths[number] if number < len(widths) else matrix.shape[1]
        kept = matrix[:, :width]
        parts.append(np.pad(kept, ((0, 0), (0, width - kept.shape[1]))))
    if len({p.shape[0] for p in parts}) > 1:
        raise problem(call, f"operands of {', '.join(str(len(p)) for p in parts)} rows")
    return np.concatenate(parts, axis=1)


def _impute(call: Call, x: Any) -> np.ndarray:
    x = np.asarray(x)
    whole = x.dtype.kind in "iu"
    values = call.attr("imputed_value_int64s" if whole else "imputed_value_floats") or ()
    replaced = call.attr("replaced_value_int64" if whole else "replaced_value_float")
    features = x.shape[-1] if x.ndim else 1
    if len(values) not in {1, features}:
        raise problem(call, f"{len(values)} values for {features} features")
    missing = np.isnan(x) if replaced != replaced else x == replaced  # noqa: PLR0124 - NaN
    return np.where(missing, np.array(values, x.dtype), x)


def _normalize(call: Call, x: Any) -> np.ndarray:
    """X / max(X), X / Σ|X|, X / √ΣX² along the last axis; X where the divisor is 0."""
    x = np.asarray(x)
    if x.ndim not in {1, 2}:
        raise problem(call, f"its operand has shape {x.shape}; a vector or a matrix was expected")
    x, norm = x.astype(call.float_dtype(DType.FLOAT32)), call.attr("norm")
    divisor: np.ndarray
    match norm:
        case "MAX":
            divisor = x.max(-1, keepdims=True, initial=-np.inf)
        case "L1":
            divisor = np.abs(x).sum(-1, keepdims=True)
        case "L2":
            divisor = np.sqrt((x * x).sum(-1, keepdims=True))
        case _:
            raise problem(call, f"norm {norm!r}; MAX, L1 or L2 was expected")
    return cast("np.ndarray", np.where(divisor == 0, x, x / divisor))


def _scale(call: Call, x: Any) -> np.ndarray:
    x = np.asarray(x).astype(call.float_dtype(DType.FLOAT32))
    features = x.shape[-1] if x.ndim else 1
    offset, scale = (call.attr(n) or (d,) for n, d in (("offset", 0.0), ("scale", 1.0)))
    for name, values in (("offset", offset), ("scale", scale)):
        if len(values) not in {1, features}:
            raise problem(call, f"{len(values)} numbers in {name} for {features} features")
    return (x - np.array(offset, x.dtype)) * np.array(scale, x.dtype)


# -- categories ---------------------------------------------------------------------------------


def looked_up(x: Any, known: Mapping[Any, Any], default: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Each element's value; NaN finds the key NaN."""
    x = np.asarray(x)
    items = x.reshape(-1).tolist()
    if x.dtype.kind == "f":
        items = [None if v != v else v for v in items]  # noqa: PLR0124 - NaN
    found: np.ndarray = np.empty(len(items), dtype)
    for place, item in enumerate(items):
        found[place] = known.get(item, default)
    return found.reshape(x.shape)


def _encode_classes(call: Call, x: Any) -> np.ndarray:
    """LabelEncoder-1: a text's place among the classes, or the text at a place."""
    classes = [str(c) for c in call.attr("classes_strings") or ()]
    x = np.asarray(x)
    if x.dtype.kind == "i":
        known = dict(enumerate(classes))
        return looked_up(x, known, call.attr("default_string"), np.dtype(object))
    places = {text: place for place, text in enumerate(classes)}
    return looked_up(x, places, call.attr("default_int64"), np.dtype(np.int64))


_FORMS = {"tensor": None, "floats": "float", "int64s": "int64", "strings": "string"}
"""The forms of keys and values, and the ending of the default that goes with each."""


def _encode_labels(call: Call, x: Any) -> np.ndarray:
    keys, _ = _listed(call, "keys", wide=call.wide)
    values, form = _listed(call, "values", wide=call.wide)
    if len(keys) != len(values):
        raise problem(call, f"{len(keys)} keys for {len(values)} values")
    items = keys.tolist()
    if keys.dtype.kind == "f":
        items = [None if v != v else v for v in items]  # noqa: PLR0124 - NaN
    default = _default(call, form, values)
    return looked_up(x, dict(zip(items, values, strict=True)), default, values.dtype)


def _listed(call: Call, what: str, *, wide: bool) -> tuple[np.ndarray, str]:
    """The one of the attributes `keys_*` or `values_*` that is given, and its ending."""
    for form in _FORMS:
        given = call.attr(f"{what}_{form}")
        if not given and not isinstance(given, Weight):
            continue
        if isinstance(given, Weight):
            found = given.numpy().reshape(-1)
        else:
            kinds = {"floats": np.dtype(np.float32), "int64s": np.dtype(np.int64)}
            found = np.array(given, kinds.get(form, np.dtype(object)))
        return (found.astype(np.float64) if wide and found.dtype.kind == "f" else found), form
    raise problem(call, f"none of the attributes {what}_* is given")


def without_repeats(op: Op) -> Op:
    """A LabelEncoder of whose repeated keys the first alone is left."""
    return _kept(op, lambda keys: sorted(np.unique(keys, return_index=True)[1].tolist()))


def without_nan(op: Op) -> Op:
    """A LabelEncoder before version 4 without the key NaN; a later one as it is."""
    if op.version >= 4:
        return op
    return _kept(op, lambda keys: [n for n, k in enumerate(keys.tolist()) if k == k])  # noqa: PLR0124


def _kept(op: Op, choose: Callable[[np.ndarray], list[int]]) -> Op:
    """A LabelEncoder with some of its keys, and their values."""
    if op.version < 2:
        return op
    call, made = Call(op), dict(op.attributes)
    keys, _ = _listed(call, "keys", wide=False)
    places = choose(keys)
    for name, value in op.attributes.items():
        if name.startswith(("keys_", "values_")):
            if isinstance(value, Weight):
                made[name] = Weight.of(value.numpy().reshape(-1)[places], value.dtype)
            else:
                listed = cast("tuple[Any, ...]", value)
                made[name] = tuple(listed[n] for n in places)
    return op.with_attributes(made)


def _default(call: Call, form: str, values: np.ndarray) -> Any:
    if form != "tensor":
        return call.attr(f"default_{_FORMS[form]}")
    given = call.attr("default_tensor")
    if isinstance(given, Weight):
        return given.numpy().reshape(-1)[0]
    return {"O": "_Unused", "f": -0.0}.get(values.dtype.kind, -1)


def _map_categories(call: Call, x: Any) -> np.ndarray:
    numbers, texts = call.attr("cats_int64s") or (), call.attr("cats_strings") or ()
    if len(numbers) != len(texts):
        raise problem(call, f"{len(numbers)} numbers for {len(texts)} texts")
    x = np.asarray(x)
    if x.dtype.kind == "i":
        named = dict(zip(numbers, texts, strict=True))
        return looked_up(x, named, call.attr("default_string"), np.dtype(object))
    numbered = dict(zip(texts, numbers, strict=True))
    return looked_up(x, numbered, call.attr("default_int64"), np.dtype(np.int64))


def _one_hot(call: Call, x: Any) -> np.ndarray:
    """A 1 at the place of the category; numbers lose their fraction first."""
    x = np.asarray(x)
    texts = x.dtype.kind in "OUST"
    name = "cats_strings" if texts else "cats_int64s"
    categories: Sequence[Any] = call.attr(name) or ()
    if not categories:
        raise problem(call, f"{name} is not given")
    places = {category: place for place, category in enumerate(categories)}
    items = x if texts else x.astype(np.int64)
    found = looked_up(items, places, -1, np.dtype(np.int64))
    if not call.attr("zeros") and (found < 0).any():
        missing = x[found < 0].reshape(-1).tolist()[0]
        raise problem(call, f"{missing!r} is no category, and zeros is 0")
    hot = found[..., None] == np.arange(len(categories))
    return hot.astype(call.float_dtype(DType.FLOAT32))


# -- maps ---------------------------------------------------------------------------------------


def _cast_map(call: Call, given: Mapping[int, Any]) -> np.ndarray:
    """One row: the values by ascending key, or each at its key's place."""
    form, to = call.attr("map_form"), call.attr("cast_to")
    keys = sorted(given)
    values = [_cast(call, given[key], to) for key in keys]
    dtype = {"TO_STRING": np.dtype(object), "TO_INT64": np.dtype(np.int64)}.get(
        to, call.float_dtype(DType.FLOAT32)
    )
    if form == "DENSE":
        return np.array(values, dtype).reshape(1, -1)
    if form != "SPARSE":
        raise problem(call, f"map_form {form!r}; DENSE or SPARSE was expected")
    size = int(call.attr("max_map"))
    found = np.full((1, size), "" if to == "TO_STRING" else 0, dtype)
    for key, value in zip(keys, values, strict=True):
        if not 0 <= key < size:
            raise problem(call, f"key {key} lies beyond max_map, {size}")
        found[0, key] = value
    return found


def _cast(call: Call, value: Any, to: str) -> Any:
    """One value; the text of a number is C's "%f", as the definition does not say."""
    text = isinstance(value, str)
    try:
        match to:
            case "TO_STRING":
                return value if text else f"{float(value):f}"
            case "TO_FLOAT":
                return float(value)
            case "TO_INT64":
                return int(float(value)) if not text else int(value)
            case _:
                raise problem(call, f"cast_to {to!r}; TO_FLOAT, TO_STRING or TO_INT64 is expected")
    except ValueError:
        raise problem(call, f"the value {value!r} is no number") from None


def _vectorize(call: Call, given: Mapping[Any, Any]) -> np.ndarray:
    """The map's values in the vocabulary's order; 0, or an empty text, for those it lacks.

    One row, as onnxruntime has it and models rely on; the definition speaks of a vector.
    """
    vocabulary = call.attr("string_vocabulary") or call.attr("int64_vocabulary") or ()
    kind = _element(call, np.array([*given.values()]))
    empty = "" if kind.kind == "O" else 0
    return np.array([[given.get(word, empty) for word in vocabulary]], kind)


def _element(call: Call, held: np.ndarray) -> np.dtype[Any]:
    """The element type of a map's values, which an empty one does not tell."""
    from isomorph.ir.types import MapType, TensorType

    value = call.op.input(0)
    kind = value.type if value is not None else None
    if isinstance(kind, MapType) and isinstance(kind.value, TensorType):
        return call.float_dtype(kind.value.dtype)
    return np.dtype(object) if held.dtype.kind in "OUST" else held.dtype


def _zip_map(call: Call, x: Any) -> tuple[list[dict[Any, Any]]]:
    x = np.asarray(x)
    keys: Sequence[Any] = call.attr("classlabels_strings") or call.attr("classlabels_int64s") or ()
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.ndim != 2 or rows.shape[1] != len(keys):
        raise problem(call, f"an operand of shape {x.shape} for {len(keys)} keys")
    return ([dict(zip(keys, row, strict=True)) for row in rows],)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    (ML, "ArrayFeatureExtractor"): (Impl(_extract),),
    (ML, "Binarizer"): (Impl(_binarize),),
    (ML, "CastMap"): (Impl(_cast_map),),
    (ML, "CategoryMapper"): (Impl(_map_categories),),
    (ML, "DictVectorizer"): (Impl(_vectorize),),
    (ML, "FeatureVectorizer"): (Impl(_gather_features),),
    (ML, "Imputer"): (Impl(_impute),),
    (ML, "LabelEncoder"): (Impl(_encode_classes, until=1), Impl(_encode_labels, since=2)),
    (ML, "LinearClassifier"): (Impl(linear.classify),),
    (ML, "LinearRegressor"): (Impl(linear.regress),),
    (ML, "Normalizer"): (Impl(_normalize),),
    (ML, "OneHotEncoder"): (Impl(_one_hot),),
    (ML, "SVMClassifier"): (Impl(svm.classify),),
    (ML, "SVMRegressor"): (Impl(svm.regress),),
    (ML, "Scaler"): (Impl(_scale, keeps=True),),
    (ML, "TreeEnsemble"): (Impl(trees.ensemble),),
    (ML, "TreeEnsembleClassifier"): (Impl(trees.classify),),
    (ML, "TreeEnsembleRegressor"): (Impl(trees.regress),),
    (ML, "ZipMap"): (Impl(_zip_map),),
}
