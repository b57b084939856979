"""onnxruntime, wherever it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from isomorph.runtime.errors import RuntimeLoadError


def module() -> Any:
    """onnxruntime, imported when it is first needed; raises RuntimeLoadError when it is missing."""
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        raise RuntimeLoadError(
            f"onnxruntime cannot be imported ({error}); `isomorph doctor` says how to mend that"
        ) from None
