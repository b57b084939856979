"""ml: what is special about it: labels, transforms, two encodings of trees, older versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
import pytest

import isomorph
from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.exporters.onnx.writer import to_proto
from isomorph.exporters.target import make_target
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, build, dtypes_of
from isomorph.ir.interpret import interpret
from isomorph.ir.schema import ML, since_version
from isomorph.ir.semantics import _scores as scores
from isomorph.ir.text import parse
from isomorph.ir.types import DType
from isomorph.ir.verify import verify
from isomorph.ir.weights import Weight
from isomorph.parity.verdict import Status
from tests.ops import harness, whole

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.instances import Instance

HEADER = '<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": {}]>\n'
ROWS = np.float32([[1, 2], [-3, 1], [0.25, 1.5]])


def texts(*values: str) -> np.ndarray:
    return np.array(values, object)


def computed(op: str, *feeds: Any, outputs: int = 1, version: int = 5, **attributes: Any):
    """Results of one op, narrow."""
    graph = Graph()
    inputs = [graph.add_input(f"x{n}", Weight.of(f).type) for n, f in enumerate(feeds)]
    made = graph.add_op(op, inputs, attributes, outputs=outputs, domain=ML, version=version)
    graph.outputs = list(made.results)
    return interpret(graph, feeds)


# -- values -------------------------------------------------------------------------------------


def test_transforms_are_what_their_names_say():
    x = np.array([[0.1, 0.9, -3.0], [0.0, 0.5, 2.0]])
    np.testing.assert_allclose(scores.transformed("LOGISTIC", x), 1 / (1 + np.exp(-x)))
    soft = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(scores.transformed("SOFTMAX", x), soft)
    skipping = scores.transformed("SOFTMAX_ZERO", x)
    np.testing.assert_allclose(skipping[0], soft[0])
    np.testing.assert_allclose(skipping[1], [0, *np.exp([0.5, 2.0]) / np.exp([0.5, 2.0]).sum()])
    known = {0.025: -1.959964, 0.5: 0.0, 0.8413447: 1.0}
    found = scores.transformed("PROBIT", np.array([[*known]]))
    np.testing.assert_allclose(found[0], [*known.values()], atol=3e-3)


@pytest.mark.parametrize("extreme", [-1e4, 1e4])
def test_logistic_does_not_overflow(extreme: float):
    with np.errstate(over="raise", invalid="raise"):
        assert scores.logistic(np.array([extreme])) == (extreme > 0)


def test_the_last_of_repeated_keys_counts():
    given = {"keys_strings": ("a", "b", "a"), "values_int64s": (1, 2, 3)}
    assert computed("LabelEncoder", texts("a", "b", "c"), **given)[0].tolist() == [3, 2, -1]


def test_nan_finds_nan_and_no_other():
    given = {"keys_floats": (float("nan"), 0.0), "values_strings": ("none", "zero")}
    (found,) = computed("LabelEncoder", np.float32([np.nan, -0.0, 1.0]), **given)
    assert found.tolist() == ["none", "zero", "_Unused"]


def test_trees_of_both_encodings_agree():
    """What TreeEnsembleRegressor says of the same two trees, written as TreeEnsemble."""
    both = [INSTANCES.get((ML, n)) or () for n in ("TreeEnsembleRegressor", "TreeEnsemble")]
    graphs = [
        build((ML, name), next(i for i in rows if i.note == "one target"), DType.FLOAT32)[0]
        for name, rows in zip(("TreeEnsembleRegressor", "TreeEnsemble"), both, strict=True)
    ]
    rng = np.random.default_rng(0)
    x = rng.choice(np.float32([0.25, 1.5, -1.0, 2.0, -4.0]), (64, 2))
    one, two = (interpret(g, [x])[0] for g in graphs)
    np.testing.assert_array_equal(one, two)
    assert len(np.unique(one)) > 4


@pytest.mark.parametrize(
    ("op", "feed", "attributes", "words"),
    [
        ("ZipMap", ROWS, {"classlabels_int64s": (1, 2, 3)}, "for 3 keys"),
        ("Scaler", ROWS, {"scale": (1.0, 2.0, 3.0)}, "3 numbers in scale for 2 features"),
        ("OneHotEncoder", np.array([1, 5]), {"cats_int64s": (1,), "zeros": 0}, "5 is no category"),
        (
            "LinearRegressor",
            ROWS,
            {"coefficients": (1.0,)},
            "1 coefficients for 1 scores of 2 features",
        ),
        ("LabelEncoder", ROWS, {"keys_floats": (1.0,), "values_int64s": (1, 2)}, "1 keys for 2"),
        ("SVMRegressor", ROWS, {"coefficients": (1.0, 2.0)}, "it has no rho"),
        (
            "LinearClassifier",
            ROWS,
            {
                "coefficients": (1.0, 2.0),
                "classlabels_ints": (0, 1),
                "post_transform": "PROBIT",
            },
            "PROBIT of one score",
        ),
        ("Normalizer", ROWS, {"norm": "L3"}, "norm 'L3'; MAX, L1 or L2"),
    ],
)
def test_what_has_no_meaning_is_told(op: str, feed: Any, attributes: dict[str, Any], words: str):
    with pytest.raises(UnsupportedError, match=words):
        computed(op, feed, outputs=2 if op.endswith("Classifier") else 1, **attributes)


def test_nodes_that_run_in_a_circle_are_told():
    (instance, *_) = INSTANCES.get((ML, "TreeEnsembleRegressor")) or ()
    graph, feeds = build((ML, "TreeEnsembleRegressor"), instance, DType.FLOAT32)
    op = graph.ops()[0]
    op.attributes = {**op.attributes, "nodes_falsenodeids": (0, 0, 0, 2, 0, 4, 0, 0)}
    with pytest.raises(UnsupportedError, match="in a circle"):
        interpret(graph, feeds)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y = ai.onnx.ml.Imputer<imputed_value_floats = [1.0, 2.0]>(x)", "2 numbers in imputed"),
        ("y = ai.onnx.ml.ZipMap<classlabels_int64s = [1, 2]>(x)", "2 keys for an operand"),
        ("y = ai.onnx.ml.LabelEncoder<values_int64s = [1]>(x)", "none of the attributes keys_"),
        ("y = ai.onnx.ml.DictVectorizer<int64_vocabulary = [1]>(x)", "a map was expected"),
        ("y = ai.onnx.ml.Normalizer(c)", "rank 3, 1 or 2 was expected"),
    ],
)
def test_types_that_do_not_fit_are_told(text: str, words: str):
    made = parse(
        HEADER.format(5) + f"g (float[n, 3] x, float[1, 2, 3] c) => (float[] y) {{ {text} }}"
    )
    made.outputs[0].type = None
    with pytest.raises(TypeInferenceError, match=words):
        infer(made)


# -- versions -----------------------------------------------------------------------------------


def moved(graph: Graph, version: int) -> tuple[Graph, list[Any]]:
    """A copy written for a version of the domain, and what is stuck."""
    made = copy_graph(graph)[0]
    made.opsets = {"": 17, ML: version}
    return made, downgrade(made, 17)


OLDER = [
    pytest.param(key, instance, dtype, version, id=f"{key[1]}-{instance.note}-{dtype}-{version}")
    for key, versions in (
        ((ML, "LabelEncoder"), (1, 2)),
        ((ML, "TreeEnsembleRegressor"), (1,)),
        ((ML, "TreeEnsembleClassifier"), (1,)),
    )
    for instance in INSTANCES.get(key) or ()
    for dtype in dtypes_of(key, instance)[:1]
    for version in versions
]
STAYS = {
    "LabelEncoder": {
        1: {
            *("texts to numbers", "numbers to floats", "floats to texts", "NaN among keys"),
            *("key twice", "texts to 16 bits", "doubles", "lists could say it", "empty"),
        },
        2: {"texts to 16 bits", "doubles"},
    },
    "TreeEnsembleRegressor": {1: {"doubles"}},
    "TreeEnsembleClassifier": {1: set[str]()},
}
"""Uses that an older version cannot express."""


@pytest.mark.parametrize(("key", "instance", "dtype", "version"), OLDER)
def test_older_versions_say_the_same(
    key: tuple[str, str], instance: Instance, dtype: DType, version: int
):
    graph, feeds = build(key, instance, dtype)
    infer(graph)
    wanted = interpret(graph, feeds)
    made, stuck = moved(graph, version)
    assert stuck == []
    (op,) = made.ops()
    assert (op.version != since_version(*key, version)) == (instance.note in STAYS[key[1]][version])
    verify(made, "downgrade")
    model = to_proto(made, make_target(17))
    onnx.checker.check_model(model, full_check=True)
    assert since_version(*key, {o.domain: o.version for o in model.opset_import}[ML]) == op.version
    for found in (interpret(made, feeds), interpret(_upgraded(made), feeds)):
        assert [harness.difference(f, w) for f, w in zip(found, wanted, strict=True)] == [""] * len(
            wanted
        )


def _upgraded(graph: Graph) -> Graph:
    made = copy_graph(graph)[0]
    assert upgrade(made) == []
    return made


def test_a_domain_has_one_version_for_all_of_its_ops():
    """One LabelEncoder fits version 1, one only version 2: both are written for 2."""
    model = parse(
        HEADER.format(1)
        + """g (string[n] x) => (int64[n] y, int64[n] z) {
        y = ai.onnx.ml.LabelEncoder<classes_strings = ["a", "b"]>(x)
        z = ai.onnx.ml.LabelEncoder<classes_strings = ["b", "c"]>(x)
    }"""
    )
    assert upgrade(model) == []
    model.ops()[1].attributes["values_int64s"] = (7, 8)
    assert downgrade(model, 17) == []
    assert {op.version for op in model.ops()} == {2}
    imports = {o.domain: o.version for o in to_proto(model, make_target(17)).opset_import}
    assert imports == {"": 17, ML: 2}


# -- all the way --------------------------------------------------------------------------------

TREES = """nodes_treeids = [0, 0, 0, 1, 1, 1], nodes_nodeids = [0, 1, 2, 0, 1, 2],
    nodes_featureids = [0, 0, 0, 1, 0, 0], nodes_values = [0.25, 0.0, 0.0, 1.5, 0.0, 0.0],
    nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    nodes_truenodeids = [1, 0, 0, 1, 0, 0], nodes_falsenodeids = [2, 0, 0, 2, 0, 0]"""
LEAVES = "{0}_treeids = [0, 0, 1, 1], {0}_nodeids = [1, 2, 1, 2], {0}_ids = {1}"
MODELS = {
    "logistic": """g (float[n, 2] x) => (int64[n] y, seq(map(int64, float)) m) {
        y, s = ai.onnx.ml.LinearClassifier<classlabels_ints = [0, 1, 2],
            coefficients = [0.5, 1.25, -2.0, -1.0, 0.75, -1.5], intercepts = [0.25, 0.5, -1.0],
            post_transform = "LOGISTIC">(x)
        p = ai.onnx.ml.Normalizer<norm = "L1">(s)
        m = ai.onnx.ml.ZipMap<classlabels_int64s = [0, 1, 2]>(p)
    }""",
    "forest": f"""g (float[n, 2] x) => (string[n] y, float[n, 3] s) {{
        y, s = ai.onnx.ml.TreeEnsembleClassifier<classlabels_strings = ["a", "b", "c"],
            base_values = [0.1, 0.2, 0.0], {TREES}, {LEAVES.format("class", "[0, 1, 2, 0]")},
            class_weights = [0.5, 0.25, 1.0, 0.75], post_transform = "SOFTMAX">(x)
    }}""",
    "boosted": f"""g (float[n, 2] x) => (float[n, 1] y) {{
        z = ai.onnx.ml.Scaler<offset = [0.5, 1.0], scale = [2.0, 0.1]>(x)
        y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, base_values = [0.1], {TREES},
            {LEAVES.format("target", "[0, 0, 0, 0]")},
            target_weights = [0.5, -0.25, 1.0, 0.75]>(z)
    }}""",
    "machine": """g (float[n, 2] x) => (int64[n] y, float[n, 2] s) {
        y, s = ai.onnx.ml.SVMClassifier<classlabels_ints = [3, 7], kernel_type = "RBF",
            coefficients = [1.0, 0.5, -1.0], support_vectors = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0],
            vectors_per_class = [2, 1], rho = [0.1], kernel_params = [0.5, 0.0, 0.0]>(x)
    }""",
    "labels": """g (string[n] x) => (string[n] y, float[n, 3] h) {
        i = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "b"], values_int64s = [2, 5]>(x)
        y = ai.onnx.ml.LabelEncoder<keys_int64s = [2, 5], values_strings = ["B", "A"]>(i)
        h = ai.onnx.ml.OneHotEncoder<cats_int64s = [2, 5, -1]>(i)
    }""",
    "features": """g (float[4, 3] x, int64[p] i) => (float[4, q] y, float[4, r] z) {
        a = ai.onnx.ml.Imputer<imputed_value_floats = [0.5], replaced_value_float = 1.0>(x)
        b = ai.onnx.ml.Binarizer<threshold = 0.25>(a)
        y = ai.onnx.ml.ArrayFeatureExtractor(x, i)
        z = ai.onnx.ml.FeatureVectorizer<inputdimensions = [3, 3]>(a, b)
    }""",
    "words": """g (map(string, float) m) => (float[1, 3] y) {
        y = ai.onnx.ml.DictVectorizer<string_vocabulary = ["a", "b", "c"]>(m)
    }""",
    "dense": """g (map(int64, float) m) => (float[1, 4] y) {
        y = ai.onnx.ml.CastMap<map_form = "SPARSE", max_map = 4>(m)
    }""",
}


@pytest.mark.parametrize("name", list(MODELS))
def test_models_go_all_the_way(tmp_path: Path, name: str):
    made = whole.goes_all_the_way(tmp_path, HEADER.format(3) + MODELS[name])
    imports = {o.domain: o.version for o in onnx.load(made).opset_import}
    assert imports == {"": 21, ML: 3}


FAULTS = {
    "coefficient": ("logistic", "1.25", "1.2501"),
    "labels": ("logistic", "classlabels_ints = [0, 1, 2]", "classlabels_ints = [0, 2, 1]"),
    "keys": ("logistic", "classlabels_int64s = [0, 1, 2]", "classlabels_int64s = [0, 1, 3]"),
    "norm": ("logistic", '"L1"', '"L2"'),
    "split": ("forest", "0.25, 0.0", "0.26, 0.0"),
    "way": ("forest", "nodes_truenodeids = [1,", "nodes_truenodeids = [2,"),
    "comparison": ("forest", "BRANCH_LEQ", "BRANCH_GT"),
    "vote": ("forest", "[0, 1, 2, 0]", "[0, 1, 2, 1]"),
    "base": ("forest", "0.2, 0.0]", "0.2001, 0.0]"),
    "transform": ("forest", '"SOFTMAX"', '"LOGISTIC"'),
    "leaf": ("boosted", "-0.25", "-0.2501"),
    "offset": ("boosted", "offset = [0.5", "offset = [0.5001"),
    "rho": ("machine", "rho = [0.1]", "rho = [0.1001]"),
    "kernel": ("machine", "kernel_params = [0.5", "kernel_params = [0.501"),
    "label": ("labels", '["B", "A"]', '["A", "B"]'),
    "category": ("labels", "[2, 5, -1]", "[2, 5, 0]"),
    "threshold": ("features", "0.25", "0.26"),
    "imputed": ("features", "[0.5]", "[0.6]"),
    "vocabulary": ("words", '["a", "b", "c"]', '["a", "c", "b"]'),
    "form": ("dense", '"SPARSE"', '"DENSE"'),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_planted_faults_are_found(tmp_path: Path, fault: str):
    name, right, wrong = FAULTS[fault]
    whole.fault_is_found(tmp_path, HEADER.format(3) + MODELS[name], right, wrong)


@pytest.mark.parametrize(
    ("op", "note"),
    [
        ("LabelEncoder", "key twice"),
        ("LinearRegressor", "one, LOGISTIC"),
        ("SVMClassifier", "linear, two"),
        ("SVMRegressor", "LOGISTIC"),
        ("TreeEnsemble", "SOFTMAX"),
        ("TreeEnsembleClassifier", "three, none above 0"),
        ("TreeEnsembleClassifier", "two, both"),
        ("TreeEnsembleRegressor", "one target, LOGISTIC"),
    ],
)
def test_what_onnxruntime_does_otherwise_is_its_own(tmp_path: Path, op: str, note: str):
    instance = next(i for i in INSTANCES.get((ML, op)) or () if i.note == note)
    graph, feeds = build((ML, op), instance, dtypes_of((ML, op), instance)[0])
    infer(graph)
    path = tmp_path / "model.onnx"
    onnx.save(to_proto(graph, make_target(17)), path)
    verdict = isomorph.verify(path, path, cases=20, samples=[feeds])
    assert verdict.status is Status.PASS, verdict
    assert Status.RUNTIME in {n.status for n in verdict.nodes}
