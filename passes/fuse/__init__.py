"""Target passes that join ops into the groups that one kernel computes.

A group is the internal op `isomorph.Fused`, whose body holds its ops; it never reaches a file.
"""

from isomorph.passes.canonical.infer_shapes import InferShapes
from isomorph.passes.fuse.elementwise import FuseElementwise
from isomorph.passes.fuse.epilogue import FuseEpilogues
from isomorph.passes.fuse.shapes import FOLD_SHAPES
from isomorph.passes.manager import Pipeline

SPECIALISE = Pipeline((InferShapes(), FOLD_SHAPES))
"""What runs first on a graph whose input shapes have become numbers."""

FUSE = Pipeline((FuseElementwise(), FuseEpilogues()))
"""What runs last before lowering."""

__all__ = ["FOLD_SHAPES", "FUSE", "SPECIALISE", "FuseElementwise", "FuseEpilogues"]
