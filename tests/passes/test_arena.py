"""The static arena: no two tenants that live together overlap, and the peak is what they reach."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isomorph.passes.plan import ALIGNMENT, Tenant, lay_out

SPANS = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(-1, 12), st.integers(0, 6)), max_size=24
)


@given(SPANS)
def test_tenants_of_one_step_lie_apart(spans):
    tenants = [Tenant(n, size, first, first + more) for n, (size, first, more) in enumerate(spans)]
    found = lay_out(tenants)
    for a in tenants:
        begin = found.offsets[a.key]
        assert begin % ALIGNMENT == 0
        assert begin + a.size <= found.peak_bytes
        for b in tenants[: a.key]:
            apart = a.last < b.first or b.last < a.first
            other = found.offsets[b.key]
            assert apart or begin + a.size <= other or other + b.size <= begin
    ends = [found.offsets[t.key] + t.size for t in tenants]
    assert found.peak_bytes == -(-max(ends, default=0) // ALIGNMENT) * ALIGNMENT


def test_room_is_used_again():
    tenants = [Tenant("a", 1000, 0, 1), Tenant("b", 1000, 1, 2), Tenant("c", 1000, 2, 3)]
    assert lay_out(tenants).peak_bytes == 2048
