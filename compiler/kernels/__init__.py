"""Hand-written CUDA kernels, one `.cu` per kernel, in the dialect of `dialect/*.cuh`."""

from pathlib import Path

FOLDER = Path(__file__).parent
