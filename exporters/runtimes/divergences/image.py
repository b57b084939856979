"""What onnxruntime does otherwise with images and places: measured on 1.31.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import i64, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op

NAN, INF = np.nan, np.inf


def _crops(op: Op, _: Graph) -> bool:
    return op.attr("coordinate_transformation_mode", "") == "tf_crop_and_resize"


ENTRIES = (
    Divergence(
        "deform-conv-nan",
        ai("DeformConv"),
        "NaN handling",
        "samples at places that are NaN are skipped",
        "DeformConv-22: what is interpolated at NaN is NaN",
        "onnxruntime/core/providers/cpu/nn/deform_conv.cc, measured",
        (
            Probe(
                "y = DeformConv (x, w, o)",
                "float[1, 1, 1, 1] x, float[1, 1, 1, 1] w, float[1, 2, 1, 1] o",
                "float[1, 1, 1, 1] y",
                (whole([[[[1]]]]), whole([[[[1]]]]), whole([[[[NAN]], [[0]]]])),
                Gives((whole([[[[0]]]]),)),
                (whole([[[[NAN]]]]),),
                (19, 23),
            ),
        ),
    ),
    Divergence(
        "affine-single-pixel",
        ai("AffineGrid"),
        "wrong value",
        "with corners aligned a single pixel lies at its far edge, 1; the standard does not say, "
        "PyTorch puts it in the middle",
        "AffineGrid-20 says nothing of a size of 1",
        "onnxruntime/core/providers/cpu/tensor/affine_grid.cc, Eigen's LinSpaced",
        (
            Probe(
                "s = Constant <value = int64[4] {1, 1, 1, 1}> () "
                "y = AffineGrid <align_corners = 1> (t, s)",
                "float[1, 2, 3] t",
                "float[1, 1, 1, 2] y",
                (whole([[[1, 0, 0], [0, 1, 0]]]),),
                Gives((whole([[[[1, 1]]]]),)),
                (whole([[[[0, 0]]]]),),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "unpool-indices",
        ai("MaxUnpool"),
        "wrong value",
        "indices count in output_shape, not in the shape that the attributes imply",
        "MaxUnpool-22: the indices are those that MaxPool gave",
        "onnxruntime/core/providers/cpu/nn/unpool.cc, measured",
        (
            Probe(
                "s = Constant <value = int64[4] {1, 1, 2, 3}> () "
                "y = MaxUnpool <kernel_shape = [1, 2], strides = [1, 2]> (x, i, s)",
                "float[1, 1, 2, 1] x, int64[1, 1, 2, 1] i",
                "float[1, 1, 2, 3] y",
                (whole([[[[1], [2]]]]), whole([[[[0], [2]]]], np.int64)),
                Gives((whole([[[[1, 0, 2], [0, 0, 0]]]]),)),
                (whole([[[[1, 0, 0], [2, 0, 0]]]]),),
                (13, 23),
            ),
        ),
        issue="https://github.com/onnx/onnx/issues/2398",
        limited=True,
    ),
    Divergence(
        "interpolated-infinity",
        ai("Resize", "DeformConv"),
        "NaN handling",
        "an infinity with a weight of 0, where nothing is beside it too, makes NaN, and so do two "
        "that a cubic weighs",
        "Resize-19 and DeformConv-22: a place that is an element's has the value of that element",
        "onnxruntime/core/providers/cpu/tensor/upsample.cc, nn/deform_conv.cc, measured",
        (
            Probe(
                "s = Constant <value = float[3] {1.0, 1.0, 2.0}> () "
                'y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> '
                "(x, , s)",
                "float[1, 1, 2] x",
                "float[1, 1, 4] y",
                (whole([[[1, INF]]]),),
                Gives((whole([[[NAN, INF, INF, INF]]]),)),
                (whole([[[1, INF, INF, INF]]]),),
                (13, 23),
            ),
            Probe(
                "y = DeformConv (x, w, o)",
                "float[1, 1, 1, 1] x, float[1, 1, 1, 1] w, float[1, 2, 1, 1] o",
                "float[1, 1, 1, 1] y",
                (whole([[[[INF]]]]), whole([[[[1]]]]), np.zeros((1, 2, 1, 1), np.float32)),
                Gives((whole([[[[NAN]]]]),)),
                (whole([[[[INF]]]]),),
                (19, 23),
            ),
        ),
    ),
    Divergence(
        "pool-lowest",
        ai("MaxPool", "GlobalMaxPool", "MaxRoiPool"),
        "NaN handling",
        "the maximum of nothing but -inf is the lowest number",
        "MaxPool-12, GlobalMaxPool-1 and MaxRoiPool-1: the maximum",
        "onnxruntime/core/mlas/lib/pooling.cpp, object_detection/roi_pool.cc, measured",
        (
            *(
                Probe(
                    f"y = {op} (x)",
                    "float[1, 1, 2] x",
                    "float[1, 1, 1] y",
                    (whole([[[-INF, -INF]]]),),
                    Gives((whole([[[np.finfo(np.float32).min]]]),)),
                    (whole([[[-INF]]]),),
                    (13, 23),
                )
                for op in ("MaxPool <kernel_shape = [2]>", "GlobalMaxPool")
            ),
            Probe(
                "y = MaxRoiPool <pooled_shape = [1, 1]> (x, r)",
                "float[1, 1, 1, 1] x, float[1, 5] r",
                "float[1, 1, 1, 1] y",
                (whole([[[[-INF]]]]), np.zeros((1, 5), np.float32)),
                Gives((whole([[[[np.finfo(np.float32).min]]]]),)),
                (whole([[[[-INF]]]]),),
                (13,),
            ),
        ),
    ),
    Divergence(
        "one-hot-fractions",
        ai("OneHot"),
        "wrong value",
        "indices that are floats select nothing unless they are whole",
        "OneHot-11: indices that are not integers are cast to int64 before use",
        "onnxruntime/core/providers/cpu/tensor/onehot.cc, measured",
        (
            Probe(
                "d = Constant <value = float {3.0}> () y = OneHot (x, d, v)",
                "float[2] x, float[2] v",
                "float[2, 3] y",
                (whole([-0.5, -1.5]), whole([0, 1])),
                Gives((np.zeros((2, 3), np.float32),)),
                (whole([[1, 0, 0], [0, 0, 1]]),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "gather-texts",
        ai("Gather"),
        "wrong value",
        "texts are empty where an index selects more than one element",
        "Gather-13 returns elements as they are",
        "onnxruntime/core/providers/cpu/tensor/gather.cc, measured",
        (
            Probe(
                "y = Gather (x, i)",
                "string[2, 2] x, int64[1] i",
                "string[1, 2] y",
                (np.array([["a", "b"], ["c", "d"]], object), i64(0)),
                Gives((np.array([["a", ""]], object),)),
                (np.array([["a", "b"]], object),),
                (13, 23),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "resize-region-kept",
        ai("Resize"),
        "wrong value",
        "along an axis whose size stays, tf_crop_and_resize reads all of it, whatever region is "
        "stated",
        "Resize-19: x_original = start · (length − 1) + x · (end − start) · (length − 1) / "
        "(length resized − 1)",
        "onnxruntime/core/providers/cpu/tensor/upsample.cc, which leaves axes of scale 1 out, "
        "measured",
        (
            Probe(
                "r = Constant <value = float[6] {0, 0, 0.5, 1, 1, 1}> () "
                "s = Constant <value = int64[3] {1, 2, 3}> () "
                'y = Resize <mode = "linear", '
                'coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , s)',
                "float[1, 1, 3] x",
                "float[1, 2, 3] y",
                (whole([[[0, 1, 2]]]),),
                Gives((whole([[[0, 1, 2], [0, 1, 2]]]),)),
                (whole([[[1, 1.5, 2], [1, 1.5, 2]]]),),
                (13, 23),
            ),
        ),
        when=_crops,
        remedy="cut the region out with Slice before",
    ),
)
