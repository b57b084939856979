"""Target passes that join ops into the groups that one kernel computes.

A group is the internal op `isomorph.Fused`, whose body holds its ops; it never reaches a file.
"""

from isomorph.passes.canonical.dce import DeadCode
from isomorph.passes.canonical.infer_shapes import InferShapes
from isomorph.passes.canonical.reshape_chains import RESHAPE_CHAINS
from isomorph.passes.fuse.attention import FUSE_ATTENTION
from isomorph.passes.fuse.elementwise import FuseElementwise
from isomorph.passes.fuse.epilogue import FuseEpilogues
from isomorph.passes.fuse.past import JOIN_PAST
from isomorph.passes.fuse.shapes import FOLD_SHAPES
from isomorph.passes.manager import Pipeline

SPECIALISE = Pipeline((InferShapes(), FOLD_SHAPES, JOIN_PAST))
"""What runs first on a graph whose input shapes have become numbers."""

FUSE = Pipeline((FUSE_ATTENTION, DeadCode(), RESHAPE_CHAINS, FuseElementwise(), FuseEpilogues()))
"""What runs last before lowering."""

__all__ = ["FOLD_SHAPES", "FUSE", "JOIN_PAST", "SPECIALISE", "FuseElementwise", "FuseEpilogues"]
