"""These tests need torch; without it each of them says so."""

import importlib.util
from typing import Any

collect_ignore_glob: list[str] = []
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]


def pytest_report_header() -> Any:
    if collect_ignore_glob:
        return "tests/frontends/torch: not run, torch is not installed (pip install torch)"
    return None
