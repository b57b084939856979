"""Kills exports: `python killing.py FOLDER ROUNDS SEED` fails when one left something bad.

Each victim is a fork that writes one model after another over the same path. It dies either at the
k-th call into the file system, for every k, or after a random time.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from isomorph.exporters.onnx.writer import stage
from isomorph.exporters.target import Target
from isomorph.frontends.onnx.reader import read
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

SIZE = 1 << 16
TARGET = Target(21, 10)
CALLS = {"open", "os.rename", "os.remove", "os.listdir", "os.truncate", "fcntl.flock"}


def model(number: int) -> Graph:
    """A model all of whose weights are one number."""
    graph = Graph()
    value = graph.add_input("x", TensorType(DType.FLOAT32, (SIZE,)))
    for index in range(2):
        weight = Weight.of(np.full(SIZE + index, number, np.float32)[:SIZE])
        value = graph.add_op("Add", [value, graph.add_weight(weight, f"w{index}")]).output
    graph.outputs = [value]
    return graph


def write(number: int, path: Path) -> None:
    """One export; odd numbers have a data file."""
    with stage(model(number), path, TARGET, external=bool(number % 2)) as staged:
        check(staged.path)
        staged.commit()


def check(path: Path) -> int:
    """The number that all weights of a model are; every byte is looked at."""
    found = {float(n) for v in read(path).weights() for n in np.unique(v.weight.numpy())}
    if len(found) != 1:
        raise SystemExit(f"{path.name} is neither the old model nor the new one: {found}")
    return int(found.pop())


def die_at(call: int) -> None:
    """Kill this process at its k-th call into the file system."""
    left = [call]

    def hook(event: str, _: object) -> None:
        if event in CALLS:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def fork(path: Path, numbers: list[int], call: int | None) -> int:
    """A victim."""
    child = os.fork()
    if child:
        return child
    if call is not None:
        die_at(call)
    for number in numbers:
        write(number, path)
    os._exit(0)


def main() -> None:
    folder, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    path = folder / "m.onnx"
    rng = random.Random(seed)  # noqa: S311 - times to kill at
    write(0, path)
    killed = call = 0
    for old, new in ((0, 1), (1, 3), (3, 2)):
        call, status = 0, -1
        write(old, path)
        while status:
            _, status = os.waitpid(fork(path, [new], call), 0)
            number = check(path)
            if number not in (old, new):
                raise SystemExit(
                    f"killed at call {call}: {number} was read, {old} or {new} expected"
                )
            if number == new and status:
                write(old, path)
            killed += bool(status)
            call += 1
        clean(path)
    for _ in range(rounds):
        child = fork(path, [rng.randrange(2, 40) for _ in range(1000)], None)
        time.sleep(rng.uniform(0.001, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        check(path)
        killed += 1
    clean(path)
    print(f"killed {killed} times")


def clean(path: Path) -> None:
    """A run that is not killed leaves its own files and nothing else."""
    write(1, path)
    left = sorted(p.name for p in path.parent.iterdir())
    if len(left) != 2 or left[0] != path.name:
        raise SystemExit(f"litter: {left}")


if __name__ == "__main__":
    main()
