"""The passes of onnxruntime's graph optimizer by the names that `disabled_optimizers` takes.

A session that logs in full names each transformer as it runs, and whether it changed anything.
Rules of its two rule-based transformers are not logged: these names are read from its sources
(onnxruntime/core/optimizer/graph_transformer_utils.cc), and a test finds them in the library.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 20.0
RULE_BASED = "_RuleBasedTransformer"
RULES = (
    "DivMulFusion",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "NotWhereFusion",
    "ConvAddFusion",
    "ConvMulFusion",
    "ConvBNFusion",
    "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion",
    "LabelEncoderFusion",
    "ClipQuantRewrite",
    "ReluQuantRewrite",
    "CastChainElimination",
    "CastElimination",
    "ExpandElimination",
    "UnsqueezeElimination",
    "PreShapeNodeElimination",
    "NoopElimination",
    "EliminateDropout",
    "EliminateSlice",
    "EliminateIdentity",
)
"""Those that change what is computed before those that only tidy up."""
PREPARING = ("ConstantFolding", "CommonSubexpressionElimination", "ConstantSharing")
"""They make room for others, which without them do not apply; they are named last."""

_RAN = re.compile(r"GraphTransformer (\w+) modified: ([01])")
_LISTING = (
    "import sys, onnxruntime as ort; o = ort.SessionOptions(); o.log_severity_level = 0; "
    "o.intra_op_num_threads = 1; "
    "ort.InferenceSession(sys.argv[1], o, providers=['CPUExecutionProvider'])"
)


def transformers(model: Path) -> dict[str, bool]:
    """Each transformer that runs on a model, in order → whether it changed anything.

    Empty where the session dies, takes too long, or logs nothing of the kind.
    """
    command = [sys.executable, "-c", _LISTING, str(model)]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, our own code
            command, capture_output=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return {}
    found: dict[str, bool] = {}
    for name, changed in _RAN.findall(done.stderr.decode("utf-8", "replace")):
        found[name] = found.get(name, False) or changed == "1"
    return found


def passes(model: Path) -> list[str]:
    """Passes that may have changed a model, the most telling first.

    Rules where a rule-based transformer changed something; all rules where nothing was logged.
    """
    ran = transformers(model)
    changed = [name for name, did in ran.items() if did]
    rules = [*RULES] if not ran or any(n.endswith(RULE_BASED) for n in changed) else []
    own = [n for n in changed if n not in PREPARING and not n.endswith(RULE_BASED)]
    rest = [n for n in changed if n in PREPARING or n.endswith(RULE_BASED)]
    return [*rules, *own, *rest]
