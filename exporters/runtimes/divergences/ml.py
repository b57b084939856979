"""What onnxruntime makes of ai.onnx.ml that its definition does not say: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import i64, whole
from isomorph.exporters.runtimes.divergences.entry import Dies, Divergence, Gives, Probe
from isomorph.ir.schema import ML

LEAF = (
    "nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], nodes_values = [0.0], "
    'nodes_modes = ["LEAF"], nodes_truenodeids = [0], nodes_falsenodeids = [0]'
)
SIDES = (
    "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], "
    'nodes_values = [0.0, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], '
    "nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0]"
)
CHOICE = (
    "tree_roots = [0], nodes_modes = uint8[1] {0}, nodes_featureids = [0], "
    "nodes_splits = float[1] {0}, nodes_truenodeids = [0], nodes_trueleafs = [1], "
    "nodes_falsenodeids = [1], nodes_falseleafs = [1]"
)
TREES = "onnxruntime/core/providers/cpu/ml/tree_ensemble_aggregator.h"


def _score(op: str, attributes: str, gives: list[float], wanted: list[float], ml: int) -> Probe:
    """Scores of one row, 0."""
    return Probe(
        f"y = {ML}.{op} <{attributes}> (x)",
        "float[1, 1] x",
        "float[1, n] y",
        (whole([[0]]),),
        Gives((whole([gives]),), 4),
        (whole([wanted]),),
        ml=ml,
    )


ENTRIES = (
    Divergence(
        "score-untransformed",
        tuple((ML, op) for op in ("LinearRegressor", "TreeEnsemble", "TreeEnsembleRegressor")),
        "wrong value",
        "the one score of a regressor is not transformed, unless by PROBIT",
        "LinearRegressor-1 and TreeEnsembleRegressor-3: post_transform is applied to the score",
        "onnxruntime/core/providers/cpu/ml/ml_common.h, write_scores",
        (
            _score(
                "LinearRegressor",
                'coefficients = [1.0], intercepts = [0.0], post_transform = "LOGISTIC"',
                [0],
                [0.5],
                1,
            ),
            _score(
                "TreeEnsembleRegressor",
                f"{LEAF}, n_targets = 1, target_treeids = [0], target_nodeids = [0], "
                'target_ids = [0], target_weights = [1.0], post_transform = "LOGISTIC"',
                [1],
                [0.7310586],
                3,
            ),
            _score(
                "TreeEnsemble",
                f"{CHOICE}, leaf_targetids = [0, 0], leaf_weights = float[2] {{1, 1}}, "
                "n_targets = 1, post_transform = 2",
                [1],
                [0.7310586],
                5,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "svm-regressor-untransformed",
        ((ML, "SVMRegressor"),),
        "wrong value",
        "SVMRegressor has no transforms",
        "SVMRegressor-1: post_transform is applied to the score",
        "onnxruntime/core/providers/cpu/ml/svmregressor.cc",
        (
            _score(
                "SVMRegressor",
                "coefficients = [1.0], rho = [0.0], kernel_params = [0.0, 0.0, 0.0], "
                'post_transform = "LOGISTIC"',
                [0],
                [0.5],
                1,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "tree-transforms-swapped",
        ((ML, "TreeEnsemble"),),
        "wrong value",
        "TreeEnsemble takes 1 for LOGISTIC and 2 for SOFTMAX",
        "TreeEnsemble-5: post_transform 1 is SOFTMAX, 2 is LOGISTIC",
        "onnxruntime/core/providers/cpu/ml/ml_common.h, POST_EVAL_TRANSFORM",
        (
            _score(
                "TreeEnsemble",
                f"{CHOICE}, leaf_targetids = [0, 1], leaf_weights = float[2] {{2, 1}}, "
                "n_targets = 2, post_transform = 1",
                [0.8807971, 0.5],
                [0.8807971, 0.1192029],
                5,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "tree-base-unvoted",
        ((ML, "TreeEnsembleRegressor"),),
        "wrong value",
        "a target without votes has no base value",
        "TreeEnsembleRegressor-3: base_values are added to the scores",
        TREES,
        (
            _score(
                "TreeEnsembleRegressor",
                f"{LEAF}, n_targets = 2, target_treeids = [0], target_nodeids = [0], "
                "target_ids = [0], target_weights = [1.0], base_values = [10.0, 20.0]",
                [11, 0],
                [11, 20],
                3,
            ),
        ),
    ),
    Divergence(
        "tree-votes",
        ((ML, "TreeEnsembleClassifier"),),
        "wrong value",
        "classes that get no vote are passed over; of two classes that both may get some the "
        "label is 1 or 0, and the scores are -s and s where the first alone gets some",
        "TreeEnsembleClassifier-3: the label is that of the largest score",
        TREES,
        (
            Probe(
                f"l, y = {ML}.TreeEnsembleClassifier <{SIDES}, classlabels_int64s = [3, 7], "
                "class_treeids = [0, 0], class_nodeids = [1, 2], class_ids = [0, 1], "
                "class_weights = [0.5, 0.5]> (x)",
                "float[1, 1] x",
                "int64[1] l, float[1, 2] y",
                (whole([[0]]),),
                Gives((i64(1), whole([[-0.5, 0.5]])), 4),
                (i64(3), whole([[0.5, 0]])),
                ml=3,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "svm-second-class",
        ((ML, "SVMClassifier"),),
        "wrong value",
        "a linear machine of two classes says the second whenever some score is above 0",
        "SVMClassifier-1: the label is that of the largest score",
        "onnxruntime/core/providers/cpu/ml/svmclassifier.cc, ChooseClass",
        (
            Probe(
                f"l, y = {ML}.SVMClassifier <coefficients = [1.0, -1.0], rho = [0.0], "
                "kernel_params = [0.0, 0.0, 0.0], classlabels_ints = [3, 7]> (x)",
                "float[1, 1] x",
                "int64[1] l, float[1, 2] y",
                (whole([[2]]),),
                Gives((i64(7), whole([[2, -2]])), 4),
                (i64(3), whole([[2, -2]])),
                ml=1,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "label-encoder-first",
        ((ML, "LabelEncoder"),),
        "wrong value",
        "of a key that occurs twice the first value counts, and before version 4 NaN is no key",
        "LabelEncoder-4: of keys that occur twice the last counts; NaN matches NaN",
        "onnxruntime/core/providers/cpu/ml/label_encoder.h",
        (
            Probe(
                f"y = {ML}.LabelEncoder <keys_int64s = [1, 1], values_int64s = [2, 3]> (x)",
                "int64[1] x",
                "int64[1] y",
                (i64(1),),
                Gives((i64(2),)),
                (i64(3),),
                ml=4,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "cast-map-texts",
        ((ML, "CastMap"),),
        "wrong value",
        'texts that a sparse map lacks are "0.f"',
        "CastMap-1: what a sparse map lacks is 0, or the empty text",
        "onnxruntime/core/providers/cpu/ml/cast_map.h",
        (
            Probe(
                f'y = {ML}.CastMap <map_form = "SPARSE", max_map = 2, cast_to = "TO_STRING"> (x)',
                "map(int64, float) x",
                "string[1, 2] y",
                ({1: np.float32(2)},),
                Gives((np.array([["0.f", "2.000000"]], object),)),
                (np.array([["", "2.000000"]], object),),
                ml=1,
            ),
        ),
        limited=True,
    ),
    Divergence(
        "feature-vectorizer-no-rows",
        ((ML, "FeatureVectorizer"),),
        "crash",
        "two operands of no rows kill the process",
        "FeatureVectorizer-1: sizes of 0 are sizes",
        "onnxruntime/core/providers/cpu/ml/feature_vectorizer.cc, measured",
        (
            Probe(
                f"y = {ML}.FeatureVectorizer <inputdimensions = [1, 1]> (x, z)",
                "float[n, 1] x, float[n, 1] z",
                "float[n, 2] y",
                (np.zeros((0, 1), np.float32),) * 2,
                Dies("SIGABRT"),
                (np.zeros((0, 2), np.float32),),
                ml=1,
            ),
        ),
        judged="FAIL",
        when=uses.joins_rows_of_nothing,
        remedy="keep empty batches from it, or use Concat",
    ),
    Divergence(
        "normalizer-least-integer",
        ((ML, "Normalizer"),),
        "integer overflow",
        "the magnitude of the least integer is itself: norms are negative, or those of others",
        "Normalizer-1: Σ|x|, or the largest |x|",
        "onnxruntime/core/providers/cpu/ml/normalizer.cc, measured",
        (
            Probe(
                'y = ai.onnx.ml.Normalizer <norm = "L1"> (x)',
                "int32[1, 2] x",
                "float[1, 2] y",
                (whole([[-(2**31), 2**31 - 1]], np.int32),),
                Gives((whole([[-2147483648, 2147483648]]),), 6),
                (whole([[-0.5, 0.5]]),),
            ),
        ),
    ),
)
