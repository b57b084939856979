"""text: n-grams of tokens that are numbers; texts themselves no device memory holds."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.codegen.spec import SECTOR, Block, KernelSpec, Launch
from isomorph.ir.semantics import Call
from isomorph.ir.semantics.text import pool
from isomorph.lowering.context import Group, Lowered, blocks, constant, ctype, itemsize, shape_of
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key


def _tf_idf(group: Group) -> Lowered:
    x, out, op = group.operand(0), group.output, group.main
    found = list(pool(Call(op)).items())
    indexes, weights = np.array(op.attr("ngram_indexes"), np.int64), op.attr("weights")
    mode = op.attr("mode")
    if mode not in {"TF", "IDF", "TFIDF"}:
        raise NoKernel(f"mode {mode!r}")
    if mode == "TF" or not weights:
        weights = (1.0,) * len(indexes)
    width = shape_of(out)[-1]
    found.sort(key=lambda item: int(indexes[item[1]]))
    owners = np.array([indexes[number] for _, number in found], np.int64)
    starts = np.cumsum([0, *(len(gram) for gram, _ in found)])[:-1]
    lengths = [len(gram) for gram, _ in found]
    tables = {
        "pool": np.array([word for gram, _ in found for word in gram], np.int64),
        "grams": np.stack([starts, lengths], 1).astype(np.int32),
        "weights": np.array([weights[number] for _, number in found], np.float32),
        "columns": np.searchsorted(owners, np.arange(width + 1)).astype(np.int32),
    }
    spec = KernelSpec(
        "tf_idf", (("T", ctype(x)),), (("SEEN_ONCE", mode == "IDF"),), sectors=SECTOR / itemsize(x)
    )
    n, limits = prod(shape_of(out)), ("min_gram_length", "max_gram_length", "max_skip_count")
    least, most, skips = (int(op.attr(name)) for name in limits)
    words = (n, width, (shape_of(x) or (1,))[-1], max(least, 1), most, skips)
    block = Block((x, *(constant(a, name) for name, a in tables.items()), out), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {("", "TfIdfVectorizer"): _tf_idf}
