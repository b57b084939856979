"""Hypothesis without a clock: a slow machine is no failure."""

from hypothesis import settings

settings.register_profile("isomorph", deadline=None)
settings.load_profile("isomorph")
