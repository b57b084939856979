"""The pytest files of replays, as text to be formatted."""

from __future__ import annotations

from pprint import pformat
from typing import Any


def text_of(
    reason: str,
    names: dict[str, Any],
    *,
    device: str | None,
    dies: bool,
    optimize: bool,
    interpret: bool,
    settings: bool = False,
) -> str:
    """The test of one replay.

    Args:
        reason: why it fails.
        names: what the arrays beside it are.
        device: of our own kernels, where it takes these.
        dies: whether the run time kills its process.
        optimize: whether the run time's optimizer is needed.
        interpret: whether onnx's reference interpreter shows it.
        settings: whether options of the user's own lie beside it, in `SESSION`.
    """
    needs, runs = "onnxruntime", DYING if dies else ONNXRUNTIME
    if device is not None:
        needs, runs = "isomorph", KERNELS
    elif interpret:
        needs, runs = "onnx", INTERPRETER
    imports = [*(["json"] if settings else []), *(["subprocess", "sys"] if dies else [])]
    how, level = ("with", "ORT_ENABLE_ALL") if optimize else ("without", "ORT_DISABLE_ALL")
    return TEST.format(
        reason=reason,
        names=pformat(names, width=96, sort_dicts=False),
        needs="onnx.reference" if interpret else needs,
        imports="".join(f"import {m}\n" for m in imports),
        runs=runs.format(how=how, device=device, session=_session(level, settings, optimize)),
    )


def _session(level: str, settings: bool, optimize: bool) -> str:
    """The function that makes the session."""
    own = ""
    if settings:
        own = OWN.format(file=SESSION, skip="" if optimize else LEVEL)
    return MAKES.format(level=level, own=own)


SESSION = "session.json"
"""Where a replay keeps the user's own options of the session."""

TEST = '''"""Shows a failed parity case again: run it with pytest, {needs} and numpy."""

{imports}from pathlib import Path

import numpy as np
import {needs}

HERE = Path(__file__).parent
REASON = {reason!r}
NAMES = {names}


def value(how, case):
    """An input: an array by name, or a sequence, a map (keys and values), or nothing."""
    if isinstance(how, str):
        array = case[how]
        return array.astype(object) if array.dtype.kind == "U" else array
    if isinstance(how, list):
        return [value(item, case) for item in how]
    if how is None:
        return None
    return dict(zip(how["keys"], value(how["values"], case).tolist()))


def tensors(got):
    """The arrays and maps that an output holds, in order."""
    if isinstance(got, list):
        return [array for item in got for array in tensors(item)]
    return [] if got is None else [got]


def test_replay():
    """The model's outputs lie within rounding of what the reference gives in float64."""
    case = np.load(HERE / "case.npz", allow_pickle=False)
    given = {{name: value(how, case) for name, how in NAMES["inputs"].items()}}
    results = run(str(HERE / "model.onnx"), given)
    assert len(results) == NAMES["outputs"], f"{{len(results)}} outputs. {{REASON}}"
    for i, result in enumerate(results):
        count = NAMES["tensors"][i]
        if count is None:
            continue
        found = tensors(result)
        assert len(found) == count, f"output {{i}} holds {{len(found)}} tensors. {{REASON}}"
        for n, got in enumerate(found):
            compare(f"{{i}}_{{n}}" if isinstance(result, list) else str(i), got, case)


def compare(place, got, case):
    """One tensor of an output, or the values of a map by key, against the reference's."""
    wanted, allowed = case[f"wanted_{{place}}"], case[f"allowed_{{place}}"]
    dtype = NAMES["dtypes"][place]
    if isinstance(got, dict):
        got = np.array([got[key] for key in sorted(got)], dtype)
    assert got.shape == wanted.shape, f"output {{place}}: shape {{got.shape}}. {{REASON}}"
    assert str(got.dtype) == dtype, f"output {{place}}: {{got.dtype}}. {{REASON}}"
    if got.dtype.kind not in "fV":
        assert np.array_equal(got, wanted), f"output {{place}} differs. {{REASON}}"
        return
    got = got.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        good = same | (np.abs(got - wanted) <= allowed)
        if NAMES["signs"]:
            good &= (got != 0) | (wanted != 0) | (np.signbit(got) == np.signbit(wanted))
    assert good.all(), f"output {{place}}: {{int((~good).sum())}} elements are off. {{REASON}}"


{runs}'''

ONNXRUNTIME = '''def run(model, given):
    """What onnxruntime gives, {how} its optimizer."""
    return session(model).run(None, given)


{session}'''

MAKES = """def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.{level}
    providers = ["CPUExecutionProvider"]
{own}    return onnxruntime.InferenceSession(model, options, providers=providers)
"""

LEVEL = """        if name == "graph_optimization_level":
            continue
"""
OWN = """    own = json.loads((HERE / "{file}").read_text("utf-8"))
    kinds = {{
        "graph_optimization_level": onnxruntime.GraphOptimizationLevel,
        "execution_mode": onnxruntime.ExecutionMode,
    }}
    for name, value in own["attributes"].items():
{skip}        setattr(options, name, getattr(kinds[name], value) if name in kinds else value)
    for key, value in own["config"].items():
        options.add_session_config_entry(key, value)
    for path in own["custom_ops"]:
        if not Path(path).is_file():
            raise FileNotFoundError(
                f"{{path}}: the library of custom operators is not there; put it there, or write "
                "where it is into {file}"
            )
        options.register_custom_ops_library(path)
    providers = [(name, given) if given else name for name, given in own["providers"]] or providers
"""

INTERPRETER = '''def run(model, given):
    """What onnx's reference interpreter gives for a model of float64: float32 hides the fault."""
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, given)
'''

DYING = '''def run(model, given):
    """What onnxruntime gives, {how} its optimizer, in a process of its own, for it may die."""
    child = subprocess.run([sys.executable, __file__], check=False)
    assert child.returncode == 0, f"onnxruntime ended with {{child.returncode}}. {{REASON}}"
    return compute(model, given)


def compute(model, given):
    return session(model).run(None, given)


{session}

if __name__ == "__main__":
    arrays = np.load(HERE / "case.npz", allow_pickle=False)
    feeds = {{name: value(how, arrays) for name, how in NAMES["inputs"].items()}}
    compute(str(HERE / "model.onnx"), feeds)
'''

KERNELS = '''def run(model, given):
    """What the kernels give, once each of them is within its bounds on its own operands."""
    compiled = isomorph.compile(model, device={device!r})
    verdict = isomorph.verify(model, compiled, samples=[list(given.values())], cases=1)
    assert verdict.exit_code == 0, f"{{verdict}}. {{REASON}}"
    return [*compiled(**given)]
'''
