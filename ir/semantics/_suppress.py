"""NonMaxSuppression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isomorph.ir.semantics import Call


def non_max_suppression(
    call: Call,
    boxes: np.ndarray,
    scores: np.ndarray,
    max_output_boxes_per_class: Any = None,
    iou_threshold: Any = None,
    score_threshold: Any = None,
) -> np.ndarray:
    """Rows [batch, class, box] in that order, boxes by falling score, the lower of equals first."""
    most = int(_number(max_output_boxes_per_class, 0))
    overlap = _number(iou_threshold, 0.0)
    least = None if score_threshold is None else _number(score_threshold, 0.0)
    found: list[tuple[int, int, int]] = []
    for batch, (corners, classes) in enumerate(zip(_corners(call, boxes), scores, strict=True)):
        for kind, given in enumerate(classes):
            candidates = np.argsort(-given, kind="stable")
            if least is not None:
                candidates = candidates[given[candidates] > least]
            chosen = _chosen(corners, candidates, most, overlap)
            found.extend((batch, kind, int(box)) for box in chosen)
    return np.array(found, np.int64).reshape(-1, 3)


def _number(value: Any, default: float) -> Any:
    return default if value is None else np.asarray(value).reshape(-1)[0]


def _corners(call: Call, boxes: np.ndarray) -> np.ndarray:
    """[..., (low x, low y, high x, high y)], whichever way boxes are given."""
    if call.attr("center_point_box"):
        centre, half = boxes[..., :2], boxes[..., 2:] / 2
        return np.concatenate([centre - half, centre + half], axis=-1)
    one, other = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(one, other), np.maximum(one, other)], axis=-1)


def _chosen(corners: np.ndarray, candidates: np.ndarray, most: int, overlap: Any) -> list[Any]:
    chosen: list[Any] = []
    for box in candidates:
        if len(chosen) >= most:
            break
        if not chosen or not (_overlaps(corners[box], corners[chosen]) > overlap).any():
            chosen.append(box)
    return chosen


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union; -1 (never suppressed) where an area is empty."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    sides = high - low
    common = sides[:, 0] * sides[:, 1]
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    union = area + areas - common
    meaningful = (sides > 0).all(axis=1) & (common > 0) & (area > 0) & (areas > 0) & (union > 0)
    return np.where(meaningful, common / np.where(meaningful, union, 1), -1)
