"""Are two models the same function, and does the run time compute it well?

`verify` gives a verdict, `assert_parity` raises on a bad one, `parity_test` makes a test of two
models, `strategies` makes inputs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.parity import strategies
    from isomorph.parity.engine import verify
    from isomorph.parity.testing import ParityFailure, assert_parity, parity_test
    from isomorph.parity.verdict import Status, Verdict

_WHERE = {
    "verify": "isomorph.parity.engine",
    "ParityFailure": "isomorph.parity.testing",
    "assert_parity": "isomorph.parity.testing",
    "parity_test": "isomorph.parity.testing",
    "Verdict": "isomorph.parity.verdict",
    "Status": "isomorph.parity.verdict",
}

__all__ = [
    "ParityFailure",
    "Status",
    "Verdict",
    "assert_parity",
    "parity_test",
    "strategies",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "strategies":
        return import_module("isomorph.parity.strategies")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'isomorph.parity' has no attribute {name!r}")
