"""ml: what each operator of ai.onnx.ml is: features, categories, maps, and trained models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.schema import ML
from isomorph.ir.types import DType, MapType, SequenceType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.opdef import ShapeRule
    from isomorph.ir.types import Shape, Type

    Types = tuple[Type | None, ...]

FLOAT, INT64, STRING = DType.FLOAT32, DType.INT64, DType.STRING


# -- features -----------------------------------------------------------------------------------


def _extract(ctx: Context) -> Types:
    x, places = ctx.tensor(0), ctx.shape(1)
    if x is None:
        return (None,)
    count: Dim = None if places is None else 1
    for dim in places or ():
        count = None if count is None or dim is None else count * dim
    if x.shape is None:
        return (TensorType(x.dtype),)
    if not x.shape:
        raise ctx.error("the first operand is a scalar, which has no last axis")
    return (TensorType(x.dtype, ((1,) if x.rank == 1 else x.shape[:-1]) + (count,)),)


def _features(ctx: Context) -> Types:
    """Rows of all columns; a vector is one row."""
    widths: tuple[int, ...] = ctx.attr("inputdimensions") or ()
    rows: list[Dim] = []
    total: Dim = 0
    for index in range(len(ctx.op.inputs)):
        shape = ctx.shape(index)
        if shape is not None and len(shape) not in {1, 2}:
            raise ctx.error(f"operand {index} has rank {len(shape)}, 1 or 2 was expected")
        rows.append(None if shape is None else (1 if len(shape) == 1 else shape[0]))
        own = widths[index] if index < len(widths) else (shape or (None,))[-1]
        total = None if total is None or own is None else total + own
    numbers = {n for n in rows if isinstance(n, int)}
    if len(numbers) > 1:
        raise ctx.error(f"operands of {', '.join(map(str, sorted(numbers)))} rows")
    known = [n for n in rows if n is not None]
    return (TensorType(FLOAT, (next(iter(numbers), known[0] if known else None), total)),)


def _per_feature(*names: str) -> ShapeRule:
    """The operand's shape; each of these attributes has one number, or one for each feature."""

    def rule(ctx: Context) -> Types:
        shape = ctx.shape(0)
        features = shape[-1] if shape else 1
        for name in names:
            given = ctx.attr(name)
            fits = not given or not isinstance(features, int) or len(given) in {1, features}
            if shape is not None and not fits:
                raise ctx.error(f"{len(given)} numbers in {name} for {features} features")
        dtype = ctx.dtype(0) if ctx.op.type == "Imputer" else FLOAT
        return (None if dtype is None else TensorType(dtype, shape),)

    return rule


def _normalizer(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is not None and len(shape) not in {1, 2}:
        raise ctx.error(f"its operand has rank {len(shape)}, 1 or 2 was expected")
    return (TensorType(FLOAT, shape),)


# -- categories ---------------------------------------------------------------------------------


def _label_encoder(ctx: Context) -> Types:
    keys, values = _form(ctx, "keys"), _form(ctx, "values")
    found = ctx.dtype(0)
    if keys is not None and found is not None and keys is not found:
        raise ctx.error(f"keys of {keys} for elements of {found}")
    return (None if values is None else TensorType(values, ctx.shape(0)),)


def _form(ctx: Context, what: str) -> DType | None:
    """The element type of the keys or values that are given."""
    tensor = ctx.attr(f"{what}_tensor")
    if isinstance(tensor, Weight):
        return tensor.dtype
    for name, dtype in (("floats", FLOAT), ("int64s", INT64), ("strings", STRING)):
        if ctx.attr(f"{what}_{name}"):
            return dtype
    raise ctx.error(f"none of the attributes {what}_* is given")


def _category_mapper(ctx: Context) -> Types:
    other = {STRING: INT64, INT64: STRING}.get(ctx.dtype(0) or FLOAT)
    return (None if other is None else TensorType(other, ctx.shape(0)),)


def _one_hot(ctx: Context) -> Types:
    name = "cats_strings" if ctx.dtype(0) is STRING else "cats_int64s"
    count, shape = len(ctx.attr(name) or ()), ctx.shape(0)
    if ctx.dtype(0) is not None and not count:
        raise ctx.error(f"{name} is not given")
    return (TensorType(FLOAT, None if shape is None else (*shape, count)),)


# -- maps ---------------------------------------------------------------------------------------


def _cast_map(ctx: Context) -> Types:
    kind = ctx.type(0)
    if kind is not None and not isinstance(kind, MapType):
        raise ctx.error(f"its operand is {kind}, a map was expected")
    dtype = {"TO_STRING": STRING, "TO_INT64": INT64}.get(ctx.attr("cast_to"), FLOAT)
    size: Dim = int(ctx.attr("max_map")) if ctx.attr("map_form") == "SPARSE" else None
    return (TensorType(dtype, (1, size)),)


def _dict_vectorizer(ctx: Context) -> Types:
    kind = ctx.type(0)
    if kind is None:
        return (None,)
    if not isinstance(kind, MapType) or not isinstance(kind.value, TensorType):
        raise ctx.error(f"its operand is {kind}, a map was expected")
    texts, numbers = ctx.attr("string_vocabulary") or (), ctx.attr("int64_vocabulary") or ()
    if texts and numbers:
        raise ctx.error("it has two vocabularies, of texts and of integers: one was expected")
    words = texts or numbers
    value = ctx.op.outputs[0]
    stated = value.type if value is not None else None
    if isinstance(stated, TensorType) and stated.rank == 1:  # which is what the definition says
        return (TensorType(kind.value.dtype, (len(words),)),)
    return (TensorType(kind.value.dtype, (1, len(words))),)


def _zip_map(ctx: Context) -> Types:
    texts, numbers = ctx.attr("classlabels_strings"), ctx.attr("classlabels_int64s")
    keys = texts or numbers
    shape = ctx.shape(0)
    if not keys:
        raise ctx.error("neither classlabels_strings nor classlabels_int64s is given")
    last = shape[-1] if shape else None
    if shape is not None and (
        len(shape) not in {1, 2} or (isinstance(last, int) and last != len(keys))
    ):
        raise ctx.error(f"{len(keys)} keys for an operand of that shape")
    return (SequenceType(MapType(STRING if texts else INT64, TensorType(FLOAT, ()))),)


# -- models -------------------------------------------------------------------------------------


def _rows(ctx: Context) -> Dim:
    shape = ctx.shape(0)
    if shape is None:
        return None
    most = {1, 2} if not ctx.op.type.startswith("Tree") else {2}
    if len(shape) not in most:
        raise ctx.error(f"its operand has rank {len(shape)}, {max(most)} was expected")
    return 1 if len(shape) == 1 else shape[0]


def _linear_regressor(ctx: Context) -> Types:
    return (TensorType(FLOAT, (_rows(ctx), int(ctx.attr("targets")))),)


def _svm_regressor(ctx: Context) -> Types:
    return (TensorType(FLOAT, (_rows(ctx), 1)),)


def _trees(ctx: Context) -> Types:
    dtype = FLOAT if ctx.op.type == "TreeEnsembleRegressor" else ctx.dtype(0)
    shape: Shape = (_rows(ctx), int(ctx.attr("n_targets", 1)))
    return (None if dtype is None else TensorType(dtype, shape),)


def _classifier(labels: str) -> ShapeRule:
    """Labels of texts, or of whole numbers (in the attribute `labels`), and scores."""

    def rule(ctx: Context) -> Types:
        texts, numbers = ctx.attr("classlabels_strings"), ctx.attr(labels)
        classes = len(texts or numbers or ())
        if not classes:
            raise ctx.error(f"neither classlabels_strings nor {labels} is given")
        rows, width = _rows(ctx), classes
        if ctx.op.type == "SVMClassifier":
            width = _pairs(ctx, classes)
        return TensorType(STRING if texts else INT64, (rows,)), TensorType(FLOAT, (rows, width))

    return rule


def _pairs(ctx: Context, classes: int) -> int:
    """Scores of pairs of classes, unless of classes: linear, of two, or with probabilities."""
    vectors: Any = ctx.attr("vectors_per_class")
    paired = bool(vectors and sum(vectors)) and not ctx.attr("prob_a") and classes > 2
    return classes * (classes - 1) // 2 if paired else classes


_EXACT, _SCORES = Tolerance.EXACT, Tolerance.SCORES

OPS: dict[Key, OpDef] = {
    (ML, "ArrayFeatureExtractor"): OpDef(_extract, _EXACT),
    (ML, "Binarizer"): OpDef(s.same, Tolerance.DISCONTINUOUS),
    (ML, "CastMap"): OpDef(_cast_map, _EXACT),
    (ML, "CategoryMapper"): OpDef(_category_mapper, _EXACT),
    (ML, "DictVectorizer"): OpDef(_dict_vectorizer, _EXACT),
    (ML, "FeatureVectorizer"): OpDef(_features, Tolerance.ELEMENTWISE),
    (ML, "Imputer"): OpDef(
        _per_feature("imputed_value_floats", "imputed_value_int64s"), Tolerance.DISCONTINUOUS
    ),
    (ML, "LabelEncoder"): OpDef(_label_encoder, Tolerance.DISCONTINUOUS),
    (ML, "LinearClassifier"): OpDef(_classifier("classlabels_ints"), _SCORES),
    (ML, "LinearRegressor"): OpDef(_linear_regressor, _SCORES),
    (ML, "Normalizer"): OpDef(_normalizer, _SCORES),
    (ML, "OneHotEncoder"): OpDef(_one_hot, Tolerance.DISCONTINUOUS),
    (ML, "SVMClassifier"): OpDef(_classifier("classlabels_ints"), _SCORES),
    (ML, "SVMRegressor"): OpDef(_svm_regressor, _SCORES),
    (ML, "Scaler"): OpDef(_per_feature("offset", "scale"), _SCORES),
    (ML, "TreeEnsemble"): OpDef(_trees, _SCORES),
    (ML, "TreeEnsembleClassifier"): OpDef(_classifier("classlabels_int64s"), _SCORES),
    (ML, "TreeEnsembleRegressor"): OpDef(_trees, _SCORES),
    (ML, "ZipMap"): OpDef(_zip_map, _EXACT),
}
