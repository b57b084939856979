"""A few thousand mutated files per run; `python -m tests.fuzz_reader COUNT SEED` tries more."""

from tests.fuzz_reader import fuzz


def test_mutated_files_end_in_a_graph_or_a_typed_error():
    escapes = fuzz(1500)
    assert not escapes, "\n".join(escapes)
