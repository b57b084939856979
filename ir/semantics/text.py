"""text: what each operator computes, on arrays of str."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.semantics import Call, Impl
from isomorph.ir.semantics.re2 import compiled
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.ir.opdef import Key


def _problem(call: Call, message: str) -> UnsupportedError:
    return UnsupportedError(f"{call.op}: {message}")


def _texts(x: Any) -> np.ndarray:
    return np.asarray(x, object)


def _concat(_: Call, x: Any, y: Any) -> np.ndarray:
    return np.array(np.add(_texts(x), _texts(y)), object)


# -- StringSplit ----------------------------------------------------------------------------------


def _split(call: Call, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows of parts, padded with empty texts.

    Without a delimiter, white space at both ends goes first: the definition wants it removed,
    which str.split leaves behind the last part that maxsplit allows.
    """
    texts, delimiter = _texts(x), call.attr("delimiter") or None
    most = -1 if call.attr("maxsplit") is None else int(call.attr("maxsplit"))
    rows = [
        (text if delimiter else text.strip()).split(delimiter, most) for text in texts.reshape(-1)
    ]
    parts = np.full((len(rows), max(map(len, rows), default=0)), "", object)
    for index, row in enumerate(rows):
        parts[index, : len(row)] = row
    counts = np.array([len(row) for row in rows], np.int64).reshape(texts.shape)
    return parts.reshape(*texts.shape, parts.shape[1]), counts


# -- StringNormalizer -----------------------------------------------------------------------------


def _normalize(call: Call, x: Any) -> np.ndarray:
    """Stop words go, then the rest change case; one empty text is left where nothing is."""
    texts = _texts(x)
    if texts.ndim not in {1, 2} or (texts.ndim == 2 and texts.shape[0] != 1):
        raise _problem(call, f"shape {texts.shape}; a vector or a matrix of one row was expected")
    action = call.attr("case_change_action", "NONE")
    if action not in {"NONE", "LOWER", "UPPER"}:
        raise _problem(call, f"case_change_action {action!r}; NONE, LOWER or UPPER was expected")
    lower, upper = _cases(call)
    plain: Callable[[str], str] = _same if call.attr("is_case_sensitive", 0) else lower
    stopped = {plain(word) for word in call.attr("stopwords") or ()}
    kept = [text for text in texts.reshape(-1) if plain(text) not in stopped]
    change = {"NONE": _same, "LOWER": lower, "UPPER": upper}[action]
    found = _texts([change(text) for text in kept] or [""])
    return found.reshape(*texts.shape[:-1], len(found))


def _cases(call: Call) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """How texts become lower and upper: one character for one, and in C's locale ASCII alone."""
    locale = str(call.attr("locale") or "en_US")
    language = locale.partition(".")[0]
    if locale in {"C", "POSIX"}:
        return (lambda t: _ascii(t, str.lower)), (lambda t: _ascii(t, str.upper))
    if language.partition("_")[0] in {"tr", "az", "lt"}:
        raise _problem(call, f"the letters of locale {locale!r} change case by rules of their own")
    return (lambda t: "".join(map(_lower, t))), (lambda t: "".join(map(_upper, t)))


def _same(text: str) -> str:
    return text


def _ascii(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(c) if c.isascii() else c for c in text)


def _lower(char: str) -> str:
    """Unicode's simple lowercase mapping."""
    found = char.lower()
    return found if len(found) == 1 else "i" if char == "\u0130" else char


def _upper(char: str) -> str:
    """Unicode's simple uppercase mapping; where the full one is longer, titlecase may have it."""
    return next((t for t in (char.upper(), char.title()) if len(t) == 1), char)


# -- RegexFullMatch -------------------------------------------------------------------------------


def _match(call: Call, x: Any) -> np.ndarray:
    pattern = call.attr("pattern")
    if pattern is None:
        raise _problem(call, "it has no pattern")
    texts, found = _texts(x), compiled(str(pattern))
    matches = [isinstance(t, str) and found.matches(t) for t in texts.reshape(-1)]
    return np.array(matches, bool).reshape(texts.shape)


# -- TfIdfVectorizer ------------------------------------------------------------------------------


def _tf_idf(call: Call, x: Any) -> np.ndarray:
    tokens = np.asarray(x)
    if tokens.ndim not in {1, 2}:
        raise _problem(call, f"shape {tokens.shape}; a vector or a matrix was expected")
    grams, indexes = pool(call), np.array(call.attr("ngram_indexes"), np.int64)
    rows = tokens.reshape(1, -1) if tokens.ndim == 1 else tokens
    counts = np.zeros((len(rows), len(indexes)))
    for row, words in enumerate(rows.tolist()):
        for gram in _grams(call, words):
            number = grams.get(gram)
            if number is not None:
                counts[row, number] += 1
    columns = np.zeros((int(indexes.max()) + 1, len(rows)))
    np.add.at(columns, indexes, _weighted(call, counts).T)
    dtype = call.float_dtype(DType.FLOAT32)
    return columns.T.astype(dtype).reshape(*tokens.shape[:-1], len(columns))


def _weighted(call: Call, counts: np.ndarray) -> np.ndarray:
    """The counts of each n-gram of the pool as the mode weighs them."""
    mode = call.attr("mode")
    if mode not in {"TF", "IDF", "TFIDF"}:
        raise _problem(call, f"mode {mode!r}; TF, IDF or TFIDF was expected")
    if mode == "TF":
        return counts
    weights = call.attr("weights") or (1.0,) * counts.shape[1]
    if len(weights) != counts.shape[1]:
        raise _problem(call, f"{len(weights)} weights for {counts.shape[1]} n-grams")
    return (np.minimum(counts, 1) if mode == "IDF" else counts) * np.array(weights)


def pool(call: Call) -> dict[tuple[Any, ...], int]:
    """The n-grams that are counted, and the number of each."""
    items: Sequence[Any] = call.attr("pool_strings") or call.attr("pool_int64s") or ()
    starts = [*call.attr("ngram_counts"), len(items)]
    found: dict[tuple[Any, ...], int] = {}
    number = 0
    for length, (start, end) in enumerate(pairwise(starts), start=1):
        if not 0 <= start <= end <= len(items) or (end - start) % length:
            raise _problem(call, f"ngram_counts {starts[:-1]} do not fit a pool of {len(items)}")
        for at in range(start, end, length):
            found.setdefault(tuple(items[at : at + length]), number)
            number += 1
    if number != len(call.attr("ngram_indexes")):
        many = len(call.attr("ngram_indexes"))
        raise _problem(call, f"{many} ngram_indexes for the {number} n-grams of its pool")
    return found


def _grams(call: Call, words: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Every n-gram of a row; those of one word once, others with each distance between words."""
    least = max(call.attr("min_gram_length"), 1)
    for length in range(least, min(call.attr("max_gram_length"), len(words)) + 1):
        reach = (len(words) - 1) // (length - 1) if length > 1 else 1
        for distance in range(1, min(call.attr("max_skip_count") + 1, reach) + 1):
            for start in range(len(words) - distance * (length - 1)):
                yield tuple(words[start : start + distance * length : distance])


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "StringConcat"): (Impl(_concat),),
    ("", "StringSplit"): (Impl(_split),),
    ("", "StringNormalizer"): (Impl(_normalize),),
    ("", "RegexFullMatch"): (Impl(_match),),
    ("", "TfIdfVectorizer"): (Impl(_tf_idf),),
}
