"""What once escaped does not escape again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.regressions import REGRESSIONS
from tests.fuzz.seeds import FILES
from tests.fuzz.stages import check

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression(name: str, tmp_path: Path):
    for file, data in FILES.items():
        tmp_path.joinpath(file).write_bytes(data)
    _, escape = check(tmp_path / "m.onnx", REGRESSIONS[name]())
    assert escape is None, escape.detail
