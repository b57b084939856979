"""The main job on a trained model: check, export, verify; then classify with source and export.

    python demo.py [FILE.onnx]     (default: build/digits.onnx below the current folder)

Exit 0 and a last line with PASS, or 1 and a last line with FAIL and the reason.
"""

import sys
from pathlib import Path

import numpy as np
from model import digits
from rich.console import Console
from rich.table import Table

import isomorph as iso
from isomorph.ir.errors import IsomorphError

HELD_OUT = Path(__file__).with_name("heldout.npz")
TARGET = 0.98


def demo(path: Path, out: Console) -> str | None:
    """Run the whole job; the reason of a failure, or None."""
    graph = iso.trace(digits, inputs=["images: float32[batch, 1, 8, 8] in 0..1"])

    out.rule("check")
    report = iso.check(graph)
    out.print(str(report), markup=False, highlight=False)
    if not report.ok:
        return "the findings above stand in the way of the export"

    out.rule("export")
    path.parent.mkdir(parents=True, exist_ok=True)
    result = iso.export(graph, path)
    out.print(
        f"{path}: opset {result.opset}, IR version {result.ir_version}, "
        f"{result.nodes} nodes, {result.bytes:,} bytes",
        highlight=False,
    )

    out.rule("verify")
    verdict = iso.verify(graph, path, cases=200, seed=1)
    out.print(str(verdict), markup=False, highlight=False)
    if verdict.exit_code != 0:
        return f"verification says {verdict.status}"

    out.rule("held-out images")
    return classify(path, out)


def classify(path: Path, out: Console) -> str | None:
    """Classify real images with the array function and with the file; compare the two."""
    with np.load(HELD_OUT) as held:
        images, labels = held["images"], held["labels"]
    run = iso.compile(iso.load(path), device="cpu")
    (exported,) = run(images)
    ours, theirs = (np.asarray(logits).argmax(axis=1) for logits in (digits(images), exported))

    table = Table("digit", "images", "source right", "ONNX right")
    for digit in range(10):
        mine = labels == digit
        rights = ((guess[mine] == digit).sum() for guess in (ours, theirs))
        table.add_row(*map(str, (digit, mine.sum(), *rights)))
    accuracy, kept = ((guess == labels).mean() for guess in (ours, theirs))
    table.add_section()
    table.add_row("all", str(len(labels)), f"{accuracy:.2%}", f"{kept:.2%}", style="bold")
    out.print(table)

    if changed := int((ours != theirs).sum()):
        return f"{changed} of {len(labels)} images are classified differently"
    if accuracy < TARGET:
        return f"the source is right on {accuracy:.2%} of the images, below {TARGET:.0%}"
    return None


def main() -> int:
    """Run the demo as a command."""
    out = Console()
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "build/digits.onnx")
    try:
        failure = demo(path, out)
    except IsomorphError as error:
        failure = str(error)
    if failure:
        out.print(f"FAIL: {failure}", style="bold red", markup=False, highlight=False)
        return 1
    out.print("PASS: the ONNX file is the same model as its source", style="bold green")
    return 0


if __name__ == "__main__":
    sys.exit(main())
