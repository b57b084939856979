"""Portable passes: they keep a graph valid ONNX."""

from isomorph.passes.canonical.cast_like import CAST_LIKE
from isomorph.passes.canonical.clean import CLEAN
from isomorph.passes.canonical.conv_batchnorm import CONV_BATCHNORM
from isomorph.passes.canonical.cse import CommonSubexpressions
from isomorph.passes.canonical.dce import DeadCode
from isomorph.passes.canonical.explicit_windows import EXPLICIT_WINDOWS
from isomorph.passes.canonical.fold import FoldConstants
from isomorph.passes.canonical.gemm import SPLIT_GEMM
from isomorph.passes.canonical.gradient import ExpandGradients
from isomorph.passes.canonical.infer_shapes import InferShapes
from isomorph.passes.canonical.reshape_chains import RESHAPE_CHAINS
from isomorph.passes.canonical.sequences import SEQUENCES
from isomorph.passes.canonical.transpose_chains import TRANSPOSE_CHAINS
from isomorph.passes.manager import Pipeline

CANONICAL = Pipeline(
    (
        ExpandGradients(),
        DeadCode(),
        InferShapes(),
        CAST_LIKE,
        FoldConstants(),
        CLEAN,
        SEQUENCES,
        TRANSPOSE_CHAINS,
        RESHAPE_CHAINS,
        SPLIT_GEMM,
        EXPLICIT_WINDOWS,
        CONV_BATCHNORM,
        CommonSubexpressions(),
        DeadCode(),
    ),
    rounds=3,
)
"""What `export` runs on every graph, after the upgrade."""

__all__ = ["CANONICAL"]
