"""Losses: what the sweep over instances does not ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.interpret import interpret
from tests.ops import harness as h
from tests.ops.test_attention import fed, graph_of

SCORES = np.random.default_rng(0).normal(0, 2, (4, 5, 3)).astype(np.float32)
LABELS = np.array([[0, 4, 2], [1, 1, 3], [2, 0, 4], [3, 2, 2]])
WEIGHTS = np.array([0.5, 2, 1, 0.25, 3], np.float32)


def textbook(
    scores: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, ignored: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Loss and weight of every label, one at a time, in long double."""
    long = scores.astype(np.longdouble)
    log = np.log(np.exp(long) / np.exp(long).sum(1, keepdims=True))
    loss, share = np.zeros(labels.shape, np.longdouble), np.zeros(labels.shape, np.longdouble)
    for at in np.ndindex(*labels.shape):
        label = labels[at]
        if label == ignored:
            continue
        share[at] = 1 if weights is None else weights[label]
        loss[at] = -log[(at[0], label, *at[1:])] * share[at]
    return loss, share


@pytest.mark.parametrize("ignored", [None, 2, -1, 255])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropy_is_the_textbook_s(
    reduction: str, weights: np.ndarray | None, ignored: int | None
):
    labels = LABELS.copy()
    if ignored is not None and not 0 <= ignored < 5:
        labels[1] = ignored
    kinds = ["float32[4, 5, 3]", "int64[4, 3]", *(["float32[5]"] if weights is not None else [])]
    given = {} if ignored is None else {"ignore_index": ignored}
    graph = graph_of("SoftmaxCrossEntropyLoss", kinds, reduction=reduction, **given)
    feeds = [SCORES, labels, *([] if weights is None else [weights])]
    loss, share = textbook(SCORES, labels, weights, ignored)
    wanted = {"none": loss, "sum": loss.sum(), "mean": loss.sum() / share.sum()}[reduction]
    found = interpret(graph, feeds, wide=True)[0]
    np.testing.assert_allclose(found, wanted.astype(np.float64), rtol=1e-13)
    for opset in (26, 12, 11):
        moved = copy_graph(graph)[0]
        assert not downgrade(moved, opset)
        by_runtime = h.by_runtime(h.encode(moved, opset), feeds)[0]
        np.testing.assert_allclose(by_runtime, found, rtol=1e-5, err_msg=f"opset {opset}")


def test_what_is_ignored_is_not_even_read():
    scores = SCORES.copy()
    scores[0, :, 0] = np.nan
    labels = LABELS.copy()
    labels[0, 0] = -1
    kinds = ["float32[4, 5, 3]", "int64[4, 3]"]
    graph = graph_of("NegativeLogLikelihoodLoss", kinds, ignore_index=-1)
    wanted = interpret(graph, [scores, labels])[0]
    assert np.isfinite(wanted)
    assert not downgrade(graph, 11)
    np.testing.assert_allclose(interpret(graph, [scores, labels])[0], wanted, rtol=1e-6)


def test_all_ignored_is_a_mean_of_nothing():
    labels = np.full((4, 3), -1)
    graph = graph_of(
        "SoftmaxCrossEntropyLoss", ["float32[4, 5, 3]", "int64[4, 3]"], ignore_index=-1
    )
    assert np.isnan(interpret(graph, [SCORES, labels])[0])


@pytest.mark.parametrize("label", [5, -1])
def test_a_label_that_is_no_class(label: int):
    labels = LABELS.copy()
    labels[2, 1] = label
    graph = graph_of("NegativeLogLikelihoodLoss", ["float32[4, 5, 3]", "int64[4, 3]"])
    with pytest.raises(TypeInferenceError, match=f"label {label} is none of 5 classes"):
        interpret(graph, [SCORES, labels])


def test_labels_that_are_not_one_each():
    graph = graph_of("NegativeLogLikelihoodLoss", ["float32[n, c, d]", "int64[m, d]"])
    with pytest.raises(TypeInferenceError, match=r"labels of shape \(3, 3\), \(4, 3\)"):
        interpret(graph, [SCORES, LABELS[:3]])


@pytest.mark.parametrize(
    ("operands", "attributes", "message"),
    [
        (["float32[4]", "int64[4]"], {}, "scores of rank 1"),
        (["float32[4, 5]", "int64[4, 1]"], {}, r"labels should have shape \(4\)"),
        (["float32[4, 5, n]", "int64[3, n]"], {}, r"labels should have shape \(4, n\)"),
        (["float32[4, 5]", "int64[4]", "float32[4]"], {}, "a vector of 5 numbers"),
        (["float32[4, 5]", "int64[4]"], {"reduction": "max"}, "'max'; none, sum, mean"),
    ],
)
def test_operands_that_do_not_fit(operands: list[str], attributes: dict[str, Any], message: str):
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        with pytest.raises(TypeInferenceError, match=message):
            graph_of(op, operands, **attributes)


def test_symbolic_dims_survive():
    kinds = ["float32[n, 4, h, w]", "int64[n, h, w]", "float32[4]"]
    graph = graph_of("SoftmaxCrossEntropyLoss", kinds, 2, reduction="none", ignore_index=0)
    assert [str(v.type) for v in graph.outputs] == ["float32[n, h, w]", "float32[n, 4, h, w]"]
    feeds = fed(graph, {"n": 2, "h": 3, "w": 1})
    wanted = interpret(graph, feeds)
    assert not downgrade(graph, 11)
    assert [str(v.type) for v in graph.outputs] == ["float32[n, h, w]", "float32[n, 4, h, w]"]
    for found in (interpret(graph, feeds), h.by_runtime(h.encode(graph, 11), feeds)):
        for f, w in zip(found, wanted, strict=True):
            np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-6)
