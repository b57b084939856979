"""What became of the node cases of ONNX's own suite, each written for every opset: the counts.

`python -m tests.backend.reexport --write`, in the repository, measures them.
"""

from __future__ import annotations

import json
from pathlib import Path

PATH = Path(__file__).with_name("suite.json")
OUTCOMES = ("onnxruntime", "reference", "refused", "not compared", "mismatch")

_HEAD = """\
## The cases of ONNX's own suite at every opset

Each of the {cases:,} node cases of onnx {onnx} that no random number decides was read, optimized,
and written for every opset. *onnxruntime*: equal to what the suite wants (or within the bounds
that parity testing derives for the operator), as onnxruntime {onnxruntime} runs it; *reference*:
equal as onnx's reference interpreter runs it, where that release does not load the opset or has no
kernel. *Refused*: not expressible there; each refusal names the reason, and, where some opset can
express it, the lowest, at which it was then written. *Not compared*: that interpreter alone could
run it, and fails the case even as the suite has it. *Mismatch*: anything else.

| opset | {outcomes} |
|--:|{lines}|
"""


def suite_section() -> str:
    """The matrix's section on them."""
    found = json.loads(PATH.read_text(encoding="utf-8"))
    rows = found["opsets"]
    head = _HEAD.format(
        **found["releases"],
        cases=found["cases"],
        outcomes=" | ".join(OUTCOMES),
        lines="|".join(["--:"] * len(OUTCOMES)),
    )
    total = {o: sum(row[o] for row in rows.values()) for o in OUTCOMES}
    body = [_row(opset, row) for opset, row in [*rows.items(), ("all", total)]]
    return "\n".join([head + "\n".join(body), ""])


def _row(name: str, counts: dict[str, int]) -> str:
    return f"| {name} | " + " | ".join(f"{counts[o]:,}" for o in OUTCOMES) + " |"
