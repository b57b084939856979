"""Where every intermediate lies: one static arena."""

from isomorph.passes.plan.arena import ALIGNMENT, Layout, Tenant, lay_out

__all__ = ["ALIGNMENT", "Layout", "Tenant", "lay_out"]
