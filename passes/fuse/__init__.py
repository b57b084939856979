"""Target passes that join ops into the groups that one kernel computes.

A group is the internal op `isomorph.Fused`, whose body holds its ops; it never reaches a file.
"""

from isomorph.passes.fuse.elementwise import FuseElementwise
from isomorph.passes.fuse.epilogue import FuseEpilogues
from isomorph.passes.manager import Pipeline

FUSE = Pipeline((FuseElementwise(), FuseEpilogues()))
"""What lowering runs on a graph whose shapes are numbers."""

__all__ = ["FUSE", "FuseElementwise", "FuseEpilogues"]
