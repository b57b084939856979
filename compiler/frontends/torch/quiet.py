"""Libraries that log what they then raise, made silent for a while."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def quiet(name: str) -> Generator[None, None, None]:
    """No log records of a library below CRITICAL, whatever handlers it has set up."""
    loggers = [v for n, v in logging.root.manager.loggerDict.items() if _within(n, name)]
    found = [logging.getLogger(name), *(v for v in loggers if isinstance(v, logging.Logger))]
    before = [(v, v.disabled) for v in found]
    for logger in found:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, state in before:
            logger.disabled = state


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
