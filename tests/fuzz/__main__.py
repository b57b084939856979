"""`python -m tests.fuzz COUNT [SEED]`: so many mutants; exit code 1 when something escapes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.fuzz.mutate import mutant
from tests.fuzz.run import fuzz
from tests.fuzz.seeds import seeds

KEPT = Path(".cache/fuzz")
"""Where files that escaped are put."""


def main(count: int, seed: int) -> int:
    start = time.monotonic()
    result = fuzz(count, seed, say=True)
    total = sum(result.outcomes.values())
    for key, (escape, index) in result.escapes.items():
        KEPT.mkdir(parents=True, exist_ok=True)
        KEPT.joinpath(f"{seed}-{index}.onnx").write_bytes(mutant(seeds(), seed, index))
        print(f"{key} ({result.seen[key]} times, first {seed}-{index}.onnx)\n{escape.detail}\n")
    took = time.monotonic() - start
    shown = ", ".join(f"{n:,} {outcome}" for outcome, n in result.outcomes.most_common())
    print(f"{total:,} files of seed {seed} in {took:.0f} s: {shown}")
    print(f"{len(result.escapes)} kinds of escape")
    return 1 if result.escapes or total < count else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
