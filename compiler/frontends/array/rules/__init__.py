"""What numpy's functions become: one literal table per group, keyed by numpy's own name."""
