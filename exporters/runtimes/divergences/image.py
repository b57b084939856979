"""What onnxruntime does otherwise with images and places: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences.arrays import i64, whole
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

NAN = np.nan

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
        judged="PASS",
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
)
