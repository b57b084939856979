"""What the strategies can reach: what is never generated is named, with a reason, or a failure."""

from __future__ import annotations

import pytest

from isomorph.ir.types import DType
from isomorph.parity.strategies.uses import every_operator
from tests.parity.reach import (
    FEATURES,
    UNREACHED,
    reached_by_graphs,
    reached_by_inputs,
    specials_of,
)


def test_graphs_reach_every_operator_element_type_and_shape_of_graph():
    operators, dtypes, features = reached_by_graphs()
    every = {".".join(filter(None, key)) for key in every_operator()}
    assert sorted(every - operators) == []
    assert sorted({str(d) for d in DType} - dtypes) == []
    assert sorted(FEATURES - features) == []


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_inputs_reach_every_special_value(dtype: DType):
    excused, reason = UNREACHED.get(dtype, (frozenset[str](), "nothing is excused"))
    missing = set(specials_of(dtype)) - reached_by_inputs(dtype)
    assert missing == excused, f"{dtype}: {reason}"
