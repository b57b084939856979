"""Small linear models, support vector machines and tree ensembles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.schema import ML
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

NAN = float("nan")
WORDS = ("a", "b", "c")
ROWS = (1.0, 2.0, -3.0, 1.0, 0.25, 1.5)
"""Three rows of two features, one at a split of the trees below."""
COUPLED = ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def _x(main: str, values: tuple[float, ...] = ROWS, features: int = 2) -> Arg:
    return Arg((len(values) // features, features), main, values)


def _model(
    note: str,
    *,
    main: str = "T",
    outputs: int = 1,
    dtypes: tuple[str, ...] = (),
    values: tuple[float, ...] = ROWS,
    **given: Any,
) -> Instance:
    return Instance(
        (_x(main, values),), given, outputs=outputs, main=main, note=note, dtypes=dtypes
    )


def _classes(note: str, **given: Any) -> Instance:
    return _model(note, main="T1", outputs=2, **given)


# -- linear models ------------------------------------------------------------------------------

_TWO: dict[str, Any] = {"coefficients": (0.1, 0.2), "intercepts": (0.05,)}
_THREE: dict[str, Any] = {
    "coefficients": (0.1, 0.2, -0.3, 0.4, 0.5, -0.6),
    "intercepts": (0.05, -0.1, 0.2),
}
_REGRESSION: dict[str, Any] = {**_THREE, "targets": 3}

_LINEAR_CLASSIFIER = (
    _classes("three", classlabels_ints=(3, 7, 9), **_THREE),
    _classes("texts", classlabels_strings=WORDS, dtypes=("float32",), **_THREE),
    *(
        _classes(
            f"three, {name}",
            classlabels_ints=(0, 1, 2),
            post_transform=name,
            dtypes=("float32",),
            **_THREE,
        )
        for name in COUPLED
    ),
    _classes("two by one", classlabels_ints=(3, 7), **_TWO),
    _classes(
        "two by one, LOGISTIC",
        classlabels_strings=("no", "yes"),
        post_transform="LOGISTIC",
        dtypes=("float32",),
        **_TWO,
    ),
    Instance(
        (Arg((2,), "T1", (1, 2)),),
        {"classlabels_ints": (3, 7, 9), **_THREE},
        outputs=2,
        main="T1",
        note="vector",
    ),
)
_LINEAR_REGRESSOR = (
    _model("one", **_TWO),
    _model("three", **_REGRESSION),
    _model("no intercepts", coefficients=(0.1, 0.2)),
    *(
        _model(f"three, {name}", post_transform=name, dtypes=("float32",), **_REGRESSION)
        for name in COUPLED
    ),
    _model(
        "two, PROBIT",
        targets=2,
        coefficients=(0.0, 0.2, 0.0, 0.1),
        intercepts=(0.3, 0.2),
        post_transform="PROBIT",
        dtypes=("float32",),
    ),
    _model("one, LOGISTIC", post_transform="LOGISTIC", dtypes=("float32",), **_TWO),
)

# -- support vector machines --------------------------------------------------------------------

_VECTORS: dict[str, Any] = {
    "coefficients": (1.0, 0.5, -1.0),
    "support_vectors": (1.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    "rho": (0.1,),
    "kernel_params": (0.5, 1.0, 3.0),
}
_PAIR: dict[str, Any] = {**_VECTORS, "vectors_per_class": (2, 1), "classlabels_ints": (3, 7)}
_TRIPLE: dict[str, Any] = {
    **_VECTORS,
    "coefficients": (1.0, 0.5, -1.0, -0.3, 0.2, -0.7),
    "vectors_per_class": (1, 1, 1),
    "rho": (0.1, -0.2, 0.3),
    "classlabels_strings": WORDS,
    "kernel_type": "RBF",
}
_LINE: dict[str, Any] = {
    "coefficients": (1.0, 0.5, -1.0, 0.2, 0.3, 0.3),
    "rho": (0.1,),
    "kernel_params": (0.0, 0.0, 0.0),
    "classlabels_ints": (3, 7, 9),
}
_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")

_SVM_CLASSIFIER = (
    *(
        _classes(f"two, {kernel}", kernel_type=kernel, dtypes=dtypes, **_PAIR)
        for kernel in _KERNELS
        for dtypes in [() if kernel == "RBF" else ("float32",)]
    ),
    _classes("two, LOGISTIC", post_transform="LOGISTIC", dtypes=("float32",), **_PAIR),
    _classes(
        "two, probabilities",
        prob_a=(-1.0,),
        prob_b=(0.2,),
        kernel_type="RBF",
        dtypes=("float32",),
        **_PAIR,
    ),
    _classes("three", dtypes=("float32",), **_TRIPLE),
    _classes("three, SOFTMAX", post_transform="SOFTMAX", dtypes=("float32",), **_TRIPLE),
    _classes(
        "three, probabilities",
        prob_a=(-1.0, -2.0, -0.5),
        prob_b=(0.2, 0.0, 0.1),
        dtypes=("float32",),
        **_TRIPLE,
    ),
    _classes("linear", **_LINE),
    _classes(
        "linear, two",
        dtypes=("float32",),
        **{**_LINE, "classlabels_ints": (3, 7), "coefficients": (1.0, 0.5, -1.0, 0.2)},
    ),
    _classes("linear, SOFTMAX", post_transform="SOFTMAX", dtypes=("float32",), **_LINE),
)
_SVM_REGRESSOR = (
    *(
        _model(kernel, kernel_type=kernel, n_supports=3, dtypes=dtypes, **_VECTORS)
        for kernel in _KERNELS
        for dtypes in [() if kernel == "RBF" else ("float32",)]
    ),
    _model("one class", kernel_type="RBF", n_supports=3, one_class=1, **_VECTORS),
    _model("linear", coefficients=(1.0, 0.5), rho=(0.1,), kernel_params=(0.0, 0.0, 0.0)),
    _model(
        "LOGISTIC",
        coefficients=(1.0, 0.5),
        rho=(0.1,),
        kernel_params=(0.0, 0.0, 0.0),
        post_transform="LOGISTIC",
        dtypes=("float32",),
    ),
)

# -- trees --------------------------------------------------------------------------------------

_NODES: dict[str, Any] = {
    "nodes_treeids": (0, 0, 0, 1, 1, 1, 1, 1),
    "nodes_nodeids": (0, 1, 2, 0, 1, 2, 3, 4),
    "nodes_featureids": (0, 0, 0, 1, 0, 0, 0, 0),
    "nodes_modes": ("BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "BRANCH_LT", "LEAF", "LEAF"),
    "nodes_values": (0.25, 0.0, 0.0, 1.5, 0.0, -1.0, 0.0, 0.0),
    "nodes_truenodeids": (1, 0, 0, 1, 0, 3, 0, 0),
    "nodes_falsenodeids": (2, 0, 0, 2, 0, 4, 0, 0),
}
"""A tree of one level and one of two."""


def _votes(name: str, targets: tuple[int, ...], weights: tuple[float, ...]) -> dict[str, Any]:
    """What each of the five leaves adds to which target."""
    return {
        f"{name}_treeids": (0, 0, 1, 1, 1),
        f"{name}_nodeids": (1, 2, 1, 3, 4),
        f"{name}_ids": targets,
        f"{name}_weights": weights,
    }


def _doubles(*values: float) -> Weight:
    return Weight.of(np.array(values), DType.FLOAT64)


_MIXED, _POSITIVE = (0.1, 0.2, -0.4, 0.8, 0.3), (0.1, 0.2, 0.4, 0.8, 0.3)
_ONE_TARGET: dict[str, Any] = {**_NODES, **_votes("target", (0,) * 5, _MIXED), "n_targets": 1}
_EVERY: dict[str, Any] = {
    **_NODES,
    "target_treeids": (0, 0, 0, 0, 1, 1, 1),
    "target_nodeids": (1, 1, 2, 2, 1, 3, 4),
    "target_ids": (0, 1, 0, 1, 0, 1, 1),
    "target_weights": (0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7),
    "n_targets": 2,
}
"""Both targets get a vote whatever the row."""


def _first(mode: str) -> dict[str, Any]:
    """The same with another comparison at the first node."""
    return {**_ONE_TARGET, "nodes_modes": (mode, *_NODES["nodes_modes"][1:])}


_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")

_TREE_REGRESSOR = (
    _model("one target", **_ONE_TARGET),
    _model("two targets", base_values=(0.25, -0.5), **_EVERY),
    *(
        _model(
            f"{how}, one target",
            aggregate_function=how,
            base_values=(0.25,),
            dtypes=("float32",),
            **_ONE_TARGET,
        )
        for how in ("AVERAGE", "MIN", "MAX")
    ),
    *(
        _model(f"{how}, two targets", aggregate_function=how, dtypes=("float32",), **_EVERY)
        for how in ("AVERAGE", "MIN", "MAX")
    ),
    *(
        _model(f"two targets, {name}", post_transform=name, dtypes=("float32",), **_EVERY)
        for name in ("SOFTMAX", "LOGISTIC")
    ),
    _model("one target, LOGISTIC", post_transform="LOGISTIC", dtypes=("float32",), **_ONE_TARGET),
    _model(
        "missing",
        values=(NAN, 2.0, 1.0, NAN, NAN, NAN),
        nodes_missing_value_tracks_true=(1, 0, 0, 0, 0, 0, 0, 0),
        dtypes=("float32", "float64"),
        **_ONE_TARGET,
    ),
    *(
        _model(
            mode,
            dtypes=("float32",),
            values=(0.25, 2.0, 0.5, 2.0, 0.0, 2.0),
            **_first(mode),
        )
        for mode in _MODES
    ),
    _model(
        "doubles",
        dtypes=("float64",),
        values=(0.1, 2.0, 0.100000001, 1.5, -3.0, 1.0),
        nodes_values_as_tensor=_doubles(0.1, 0, 0, 1.5, 0, -1, 0, 0),
        target_weights_as_tensor=_doubles(*_MIXED),
        **{k: v for k, v in _ONE_TARGET.items() if k not in {"nodes_values", "target_weights"}},
    ),
    _model(
        "doubles that are floats",
        dtypes=("float64",),
        nodes_values_as_tensor=_doubles(*_NODES["nodes_values"]),
        target_weights_as_tensor=_doubles(0.5, 0.25, -0.5, 1, 2),
        **{k: v for k, v in _ONE_TARGET.items() if k not in {"nodes_values", "target_weights"}},
    ),
)
_TREE_CLASSIFIER = (
    _classes(
        "three",
        classlabels_int64s=(3, 7, 9),
        base_values=(0.05, 0.1, -0.2),
        **_NODES,
        **_votes("class", (0, 2, 0, 2, 1), _MIXED),
    ),
    *(
        _classes(
            f"three, {name}",
            classlabels_strings=WORDS,
            base_values=(0.05, 0.1, -0.2),
            post_transform=name,
            dtypes=("float32",),
            **_NODES,
            **_votes("class", (0, 2, 0, 2, 1), _POSITIVE),
        )
        for name in COUPLED
    ),
    _classes(
        "three, none above 0",
        classlabels_int64s=(3, 7, 9),
        dtypes=("float32",),
        **_NODES,
        **_votes("class", (0, 2, 0, 2, 0), (-0.1, -0.2, -0.4, -0.8, -0.3)),
    ),
    _classes(
        "two, both",
        classlabels_int64s=(3, 7),
        dtypes=("float32",),
        **_NODES,
        **_votes("class", (0, 1, 1, 1, 0), _POSITIVE),
    ),
    *(
        _classes(
            f"two, {kind}{note}",
            classlabels_int64s=(3, 7),
            dtypes=("float32",),
            **given,
            **_NODES,
            **_votes("class", (only,) * 5, weights),
        )
        for kind, weights in (("positive", _POSITIVE), ("mixed", _MIXED))
        for note, only, given in (
            ("", 0, {}),
            (", LOGISTIC", 0, {"post_transform": "LOGISTIC"}),
            (", base", 0, {"base_values": (0.2,)}),
            (", second", 1, {}),
        )
    ),
)


def _ensemble(
    note: str,
    *,
    modes: tuple[int, ...] = (0, 3, 1),
    targets: tuple[int, ...] = (0,) * 5,
    count: int = 1,
    dtype: str = "float32",
    sets: tuple[float, ...] = (),
    values: tuple[float, ...] = ROWS,
    **given: Any,
) -> Instance:
    """The two trees of above."""
    kind = DType.of(dtype)

    def floats(*numbers: float) -> Weight:
        return Weight.of(np.array(numbers, kind.numpy), kind)

    attributes: dict[str, Any] = {
        "tree_roots": (0, 1),
        "nodes_modes": Weight.of(np.array(modes, np.uint8), DType.UINT8),
        "nodes_featureids": (0, 1, 0),
        "nodes_splits": floats(0.25, 1.5, -1.0),
        "nodes_truenodeids": (0, 2, 3),
        "nodes_trueleafs": (1, 1, 1),
        "nodes_falsenodeids": (1, 2, 4),
        "nodes_falseleafs": (1, 0, 1),
        "leaf_targetids": targets,
        "leaf_weights": floats(*_MIXED),
        "n_targets": count,
        "membership_values": floats(*sets) if sets else None,
        **given,
    }
    return _model(note, dtypes=(dtype,), values=values, **attributes)


_SPREAD = (0, 0, 1, 1, 1)
"""Each tree votes for a target of its own."""

_TREE_ENSEMBLE = (
    _ensemble("one target"),
    _ensemble("two targets", targets=_SPREAD, count=2),
    _ensemble("doubles", dtype="float64"),
    _ensemble("halves", dtype="float16", values=(1.0, 2.0, -3.0, 1.0, 0.25, 1.5)),
    *(
        _ensemble(f"{how}", aggregate_function=number)
        for number, how in ((0, "average"), (2, "least"), (3, "largest"))
    ),
    _ensemble("members", modes=(6, 3, 1), sets=(1.0, 0.25, NAN)),
    _ensemble("SOFTMAX", targets=_SPREAD, count=2, post_transform=1),
    _ensemble("LOGISTIC", targets=_SPREAD, count=2, post_transform=2),
    _ensemble("SOFTMAX_ZERO", targets=_SPREAD, count=2, post_transform=3),
    _ensemble(
        "missing",
        values=(NAN, 2.0, 1.0, NAN, NAN, NAN),
        nodes_missing_value_tracks_true=(1, 0, 0),
    ),
)

MODELS: dict[Key, tuple[Instance, ...]] = {
    (ML, "LinearClassifier"): _LINEAR_CLASSIFIER,
    (ML, "LinearRegressor"): _LINEAR_REGRESSOR,
    (ML, "SVMClassifier"): _SVM_CLASSIFIER,
    (ML, "SVMRegressor"): _SVM_REGRESSOR,
    (ML, "TreeEnsemble"): _TREE_ENSEMBLE,
    (ML, "TreeEnsembleClassifier"): _TREE_CLASSIFIER,
    (ML, "TreeEnsembleRegressor"): _TREE_REGRESSOR,
}
