"""Models that can be read and ask for too much, and what each command makes of them: `HOSTILE`.

`python -m tests.cli.hostile` writes docs/hostile.md from this table; `test_hostile.py` runs it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tests.realmodels import ROOT

PAGE = ROOT / "docs" / "hostile.md"

BODY = "b (int64 i, bool c, float[n] s) => (bool d, float[n] r) { d = Identity(c) r = Neg(s) }"
SCANNED = "b (int64 i, bool c) => (bool d, float[262144] r) { d = Identity(c) r = Neg(x) }"
INNER = "a (int64 j, bool e, float[n] q) => (bool e, float[n] q) {}"
NESTED = (
    "b (int64 i, bool c, float[n] s) => (bool c, float[n] r)"
    f"{{ r = Loop <body = {INNER}> (k, , s) }}"
)
MANY, TRUE = "int64 k = {4611686018427387904}", "bool t = {1}"
TERA = "int64[1] s = {1099511627776}"
TOP = "ReduceMax <keepdims = 0>"
WINDOW = (
    "AveragePool <kernel_shape = [30000, 30000], pads = [15000, 15000, 15000, 15000], "
    "strides = [30000, 30000], count_include_pad = 1>"
)
RANGED = "int64 a = {0}, int64 b = {1099511627776}, int64 d = {1}"
ROWS = "int64 d = {68719476736}, float[2] v = {0, 1}"
LISTED = "float[2] y, float[2] x, float[2] w, float[2] y"


@dataclass(frozen=True)
class Model:
    """One model: its inputs, outputs, weights and nodes, and what comes of it.

    Attributes:
        text: of the graph, in ONNX's own syntax, without its name.
        check, export, verify: exit codes.
        words: what the last command that fails says; what `check` says, where none does.
        options: of the commands, where a model would take whatever it may.
    """

    text: str
    check: int
    export: int
    verify: int
    words: str
    options: tuple[str, ...] = ()


def steps(first: str, step: str, rounds: int) -> str:
    """Nodes, each applied to what the one before made, `{a}`, and the last one's name as `y`."""
    lines = [step.format(n=n, a=first if n == 0 else f"a{n - 1}") for n in range(rounds)]
    return " ".join([*lines, f"y = Identity(a{rounds - 1})"])


def costly(text: str, words: str, *options: str) -> Model:
    """One that is exportable, and too costly to verify."""
    return Model(text, 0, 2, 2, words, options)


SHORT = ("--max-seconds", "1")

HOSTILE: dict[str, dict[str, Model]] = {
    "time": {
        "a loop without end": costly(
            f"(float[n] x) => (float[n] y) <{TRUE}> {{ y = Loop <body = {BODY}> (, t, x) }}",
            "Loop 'y': not finished after 1 seconds; allow more with --max-seconds",
            *SHORT,
        ),
        "a loop of 2^62 rounds": costly(
            f"(float[n] x) => (float[n] y) <{MANY}> {{ y = Loop <body = {BODY}> (k, , x) }}",
            "Loop 'y': not finished after 1 seconds; allow more with --max-seconds",
            *SHORT,
        ),
        "a loop of 2^62 rounds in another, without a node": costly(
            f"(float[n] x) => (float[n] y) <{MANY}> {{ y = Loop <body = {NESTED}> (k, , x) }}",
            "Loop 'y', in its Loop 'r': not finished after 1 seconds",
            *SHORT,
        ),
        "products of large matrices": costly(
            "(float[1] x) => (float[3000, 3000] y) <int64[2] s = {3000, 3000}> { b = Expand(x, s) "
            + steps("b", "a{n} = MatMul({a}, b)", 30)
            + " }",
            "MatMul 'a0': it takes 2.7e+10 multiplications, more than fit into 1 seconds",
            *SHORT,
        ),
    },
    "memory": {
        "padding of gigabytes around one number": costly(
            "(float[n] x) => (float[1, 1, 1, 1] y) { c = Constant <value = float[1, 1, 1, 1] {1}>"
            f" () p = {WINDOW} (c) m = {TOP} (x) y = Add(p, m) }}",
            "AveragePool 'p': its result float64[1, 1, 1, 1], and what it pads, takes 6.71 GiB",
        ),
        "a constant of terabytes": costly(
            f"(float[n] x) => (float y) <{TERA}> {{ a = ConstantOfShape(s) m = {TOP} (a) "
            f"r = {TOP} (x) y = Add(m, r) }}",
            "ConstantOfShape 'a': its result float64[1,099,511,627,776] takes 8 TiB, 4 GiB may be "
            "taken at once; allow more with --max-memory",
        ),
        "a number, expanded": costly(
            f"(float[1] x) => (float[1099511627776] y) <{TERA}> {{ y = Expand(x, s) }}",
            "Expand 'y': its result float64[1,099,511,627,776] takes 8 TiB",
        ),
        "a number, repeated": costly(
            f"(float[1] x) => (float[1099511627776] y) <{TERA}> {{ y = Tile(x, s) }}",
            "Tile 'y': its result float64[1,099,511,627,776] takes 8 TiB",
        ),
        "a range of terabytes": costly(
            f"(float[n] x) => (int64[1099511627776] y) <{RANGED}> {{ y = Range(a, b, d) }}",
            "Range 'y': its result int64[1,099,511,627,776] takes 8 TiB",
        ),
        "one of 2^36": costly(
            f"(int64[1] x) => (float[1, 68719476736] y) <{ROWS}> {{ y = OneHot(x, d, v) }}",
            "OneHot 'y': its result float64[1, 68,719,476,736] takes 512 GiB",
        ),
        "padding of gigabytes": costly(
            "(float[2] x) => (float[68719476738] y) <int64[2] p = {0, 68719476736}> "
            "{ y = Pad(x, p) }",
            "Pad 'y': its result float64[68,719,476,738] takes 512 GiB",
        ),
        "an image, a million times as wide": costly(
            "(float[1, 1, 2, 2] x) => (float[1, 1, 2000000, 2000000] y) "
            "<float[4] z = {1, 1, 1000000, 1000000}> { y = Resize(x, , z) }",
            "Resize 'y': its result float64[1, 1, 2,000,000, 2,000,000] takes 29 TiB",
        ),
        "every pair of a row and a column": costly(
            "(float[131072, 1] x) => (float[131072, 131072] y) { r = Flatten <axis = 0> (x) "
            "y = Add(x, r) }",
            "Add 'y': its result float64[131,072, 131,072] takes 128 GiB",
        ),
        "a tensor, joined to itself 40 times": costly(
            "(float[2] x) => (float[2199023255552] y) { "
            + steps("x", "a{n} = Concat <axis = 0> ({a}, {a})", 40)
            + " }",
            "64 MiB may be taken at once",
            "--max-memory",
            "64MiB",
        ),
        "a loop that collects without end": costly(
            f"(float[262144] x) => (float[m, 262144] y) <{MANY}, {TRUE}> "
            f"{{ y = Loop <body = {SCANNED}> (k, t) }}",
            "MiB of others, 64 MiB may be taken at once",
            "--max-memory",
            "64MiB",
        ),
    },
    "inference": {
        "a number, squared 60 times": Model(
            "(int64[1] x) => (int64[1] y) <int64[1] w = {3}> { "
            + steps("w", "a{n} = Mul({a}, {a})", 60)
            + " }",
            0,
            0,
            0,
            "exportable",
        ),
        "a dim, squared 60 times": Model(
            "(float[n] x) => (int64[1] y) <int64[1] one = {1}> { s = Shape(x) "
            + steps("s", "b{n} = Add({a}, one) a{n} = Mul(b{n}, b{n})", 60)
            + " }",
            0,
            0,
            0,
            "exportable",
        ),
        "a size that no file can state": Model(
            "(float[3, 1] x) => (float[k, 1] y) { "
            + steps(
                "x",
                "r{n} = Flatten <axis = 0> ({a}) t{n} = MatMul({a}, r{n}) "
                "a{n} = Flatten <axis = 2> (t{n})",
                60,
            )
            + " }",
            2,
            2,
            2,
            "is larger than any tensor can be",
        ),
        "a range that never ends": Model(
            "(float[n] x) => (int64[k] y) <int64 a = {0}, int64 b = {9}, int64 d = {0}> "
            "{ y = Range(a, b, d) }",
            2,
            2,
            2,
            "delta is 0",
        ),
    },
    "form": {
        "no outputs": Model(
            "(float[n] x) => () { y = Neg(x) }", 1, 1, 2, "the model has no outputs"
        ),
        "an operator that nobody knows": Model(
            "(float[n] x) => (float[n] y) { y = acme.Fancy(x) }", 1, 1, 3, "acme.Fancy"
        ),
        "an operand that is left out": Model(
            "(float[n] x) => (float[n] y) { y = Sub(, x) }",
            2,
            2,
            2,
            "operand 0 (A) is absent, Sub needs it",
        ),
        "an input, a weight and a result, listed twice": Model(
            f"(float[2] x) => ({LISTED}) <float[2] w = {{1, 2}}> {{ y = Neg(x) }}",
            0,
            0,
            0,
            "exportable",
        ),
    },
}

INTRODUCTION = """\
# Hostile models: what they may cost

A few hundred bytes can ask for any time and any memory. Every command ends all the same, with exit
code 2 and one sentence that names the operator, its place, and the option that allows more. What a
file has to hold to be a model at all is told in [hostile-files.md](hostile-files.md).

## Limits

| | by default | for weights | more of it |
|---|---|---|---|
| time for all that is done with one set of inputs | 60 s | + 1 s for 4 MiB | `--max-seconds` |
| memory that results may take at once | 4 GiB | + 8 times their bytes | `--max-memory` |

0 lifts a limit. `check`, `export` and `verify` take both options; in Python they take
`limits=isomorph.Limits(seconds=…, memory=…)`, and `None` lifts a limit. They hold for
what is evaluated: constants that are folded, both models in float64 and in their own precision,
nodes as they are judged, and onnxruntime. `show` evaluates nothing. `run` and `compile(…)` are
asked for by somebody who wants the model run, and have no limits.

- **Before an operator is evaluated** its result is measured by the standard's own shape inference,
  from its operands' shapes and from the elements that decide sizes; what must be padded counts too.
  Results that are still needed count together, and so does what a loop collects. A product of
  matrices that takes more multiplications than 10¹⁰ a second allow is refused at once, since
  nothing can interrupt it.
- **Between operators, and between the rounds of loops,** the time is looked at. In a command an
  operator is interrupted while it is in Python.
- **onnxruntime** runs in a process of its own, which has the same limits: it is ended when it does
  not answer in time, and its memory is limited by the system (on Linux). Hanging on what the
  reference computes in less than half of the time is a FAIL; otherwise nothing is judged.
- **The process of a command** may take nine tenths of the memory that the machine, or the container
  around it, has free (on Linux): a request beyond fails, and is told, before the machine suffers.
- **Constants are folded** only where that takes at most 2³⁴ multiplications and 1 GiB, whatever the
  machine: the same model gives the same file everywhere.
- **Inference** does not calculate with dims of more than 4,096 terms, degree 64 or a million
  characters, nor with numbers beyond 2⁶⁴: they are unknown. A dim beyond 2⁶³ − 1 is an error.

Inputs that cost too much are no cases; where others were judged the verdict counts them in a note,
where none was it is INSUFFICIENT, exit code 2. Once there are cases, another may take 20 times as
long as the slowest of them, or 2 seconds. Where time runs out while nodes are judged, the case
counts and the verdict says that not every node was judged.

`check` tells results that are too large as risks, since they are known without running anything.

## What comes of them

`tests/cli/hostile.py` builds every model of this page, `test_hostile.py` there runs the commands on
each of them. `python -m tests.cli.hostile` writes the tables.
"""
TITLES = {
    "time": "Time without end",
    "memory": "Memory without measure",
    "inference": "What grows while it is looked at",
    "form": "Read, and not to be run",
}


def page() -> str:
    """The whole document."""
    parts = [INTRODUCTION]
    for group, models in HOSTILE.items():
        head = "| the model has | check | export | verify | it says |\n|---|---|---|---|---|\n"
        rows = "".join(
            f"| {name}{_with(m)} | {m.check} | {m.export} | {m.verify} | {m.words} |\n"
            for name, m in models.items()
        )
        parts.append(f"\n### {TITLES[group]}\n\n{head}{rows}")
    return "".join(parts)


def _with(model: Model) -> str:
    return f", `{' '.join(model.options)}`" if model.options else ""


def main() -> int:
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
