"""Are two models the same function, and does the run time compute it well?

`verify` gives a verdict, `assert_parity` raises on a bad one, `strategies` makes inputs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.parity import strategies
    from isomorph.parity.engine import assert_parity, verify
    from isomorph.parity.verdict import Status, Verdict

_WHERE = {
    "verify": "isomorph.parity.engine",
    "assert_parity": "isomorph.parity.engine",
    "Verdict": "isomorph.parity.verdict",
    "Status": "isomorph.parity.verdict",
}

__all__ = ["Status", "Verdict", "assert_parity", "strategies", "verify"]


def __getattr__(name: str) -> Any:
    if name == "strategies":
        return import_module("isomorph.parity.strategies")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'isomorph.parity' has no attribute {name!r}")
