"""isomorph: trained models to ONNX and back, with proof that they are still the same models.

The public interface and nothing else; every name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.api import (
        check,
        compile,  # noqa: A004 - the name that the interface fixes
        export,
        load,
        trace,
        verify,
    )
    from isomorph.frontends import array
    from isomorph.ir.budget import Limits

__version__ = "0.1.0"

_WHERE = {
    "trace": "isomorph.api",
    "load": "isomorph.api",
    "check": "isomorph.api",
    "export": "isomorph.api",
    "verify": "isomorph.api",
    "compile": "isomorph.api",
    "Limits": "isomorph.ir.budget",
    "array": "isomorph.frontends",
}

__all__ = ["Limits", "array", "check", "compile", "export", "load", "trace", "verify"]


def __getattr__(name: str) -> Any:
    if name == "array":
        return import_module("isomorph.frontends.array")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'isomorph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
