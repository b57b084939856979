"""text: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

STRINGS = ("string",)
LOCALE = "C.UTF-8"
"""One that every system has: onnxruntime's own, en_US.UTF-8, may not be installed."""


def _texts(*values: str, shape: tuple[int, ...] | None = None) -> Arg:
    return Arg((len(values),) if shape is None else shape, "string", values)


def _use(*args: Arg, outputs: int = 1, note: str = "", main: str = "T", **given: Any) -> Instance:
    return Instance(args, given, outputs=outputs, main=main, note=note, dtypes=STRINGS)


def _split(*args: Arg, note: str = "", **given: Any) -> Instance:
    return _use(*args, outputs=2, note=note, main="T1", **given)


def _match(pattern: str, *values: str, note: str = "") -> Instance:
    return _use(_texts(*values), note=note, main="T1", pattern=pattern)


def _normalized(
    note: str, *values: str, shape: tuple[int, ...] | None = None, **given: Any
) -> Instance:
    return _use(_texts(*values, shape=shape), note=note, main="tensor(string)", **given)


_POOL = {
    "min_gram_length": 1,
    "max_gram_length": 2,
    "ngram_counts": (0, 3),
    "ngram_indexes": (3, 0, 1, 2, 4),
}


def _tf_idf(arg: Arg, mode: str, note: str = "", skip: int = 0, **given: Any) -> Instance:
    """Of the words 2, 3, 7 and the pairs 2 3 and 3 7, or of the letters in their place."""
    pool: dict[str, Any] = {"pool_int64s": (2, 3, 7, 2, 3, 3, 7)}
    if arg.dtype == "string":
        pool = {"pool_strings": tuple("bcgbccg")}
    attributes = {**_POOL, "mode": mode, "max_skip_count": skip, **pool, **given}
    return Instance((arg,), attributes, note=note, dtypes=(arg.dtype,))


def _words(dtype: str, *rows: tuple[int, ...]) -> Arg:
    """One row, or several, of words; letters for strings."""
    flat = [n for row in rows for n in row]
    shape = (len(rows[0]),) if len(rows) == 1 else (len(rows), len(rows[0]))
    values = [chr(ord("a") + n - 1) for n in flat] if dtype == "string" else flat
    return Arg(shape, dtype, values)


_WEIGHTS = (0.5, 0.1, -3.0, 0.7, 1.3)
_ROWS = ((2, 3, 7, 2, 3), (3, 9, 7, 2, 9))

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "StringConcat"): (
        _use(_texts("a", "", "Bé"), _texts("x", "yz", "")),
        _use(_texts("a", "b", shape=(2, 1)), _texts("x", "y", "z"), note="broadcast"),
        _use(_texts("a", shape=()), _texts("b", shape=()), note="scalars"),
        _use(Arg((0, 2), "string"), Arg((2,), "string"), note="empty"),
    ),
    ("", "StringSplit"): (
        _split(_texts("a b  c", "", "  x ", "d"), note="spaces"),
        _split(_texts("a,b,,c", "x", ",", "é,f"), note="delimiter", delimiter=","),
        _split(_texts("a, b, c", "d", shape=(2, 1)), note="at most", delimiter=", ", maxsplit=1),
        _split(_texts(" a b c "), note="spaces, at most", maxsplit=1),
        _split(_texts("a b", "c"), note="empty delimiter", delimiter=""),
        _split(_texts("aaa", "aaaa"), note="overlapping delimiter", delimiter="aa"),
        _split(_texts("a b", shape=()), note="scalar"),
        _split(Arg((0, 2), "string"), note="empty"),
        _split(_texts("", ""), note="no parts"),
        _split(_texts("a\tb\nc", "d\u2003e"), note="other white space"),
        _split(_texts("", "a,"), note="empty texts", delimiter=","),
    ),
    ("", "RegexFullMatch"): (
        _match("[a-z]+@[a-z]+\\.com", "me@here.com", "me@here.org", "", "Me@here.com"),
        _match("(a|bc)*d?", "", "abcabcd", "abd", "dd", note="repetition"),
        _match("(?i)[^k]\\w", "ab", "kK", "\u212aa", "\u00e9a", note="classes and case"),
        _match("^\\pL+$", "a\u00e9", "a1", "", note="Unicode"),
        _use(_texts("a", shape=()), note="scalar", main="T1", pattern="."),
        _use(Arg((0, 2), "string"), note="empty", main="T1", pattern="a*"),
    ),
    ("", "StringNormalizer"): (
        _normalized("plain", "a", "B", "a", is_case_sensitive=1),
        _normalized("stop words", "Mon", "mon", "Tue", is_case_sensitive=1, stopwords=("mon", "x")),
        _normalized(
            "upper",
            *("mon", "\u00e9", "\u00df", "Tue"),
            is_case_sensitive=1,
            case_change_action="UPPER",
            locale=LOCALE,
            stopwords=("Tue",),
        ),
        _normalized(
            "lower, any case",
            *("Mon", "TUE", "\u00c9"),
            case_change_action="LOWER",
            locale=LOCALE,
            stopwords=("tue", "\u00e9"),
        ),
        _normalized("kept, any case", "Mon", "TUE", locale=LOCALE, stopwords=("tue",)),
        _normalized("row", "a", "b", shape=(1, 2), is_case_sensitive=1, stopwords=("a",)),
        _normalized("none left", "a", "a", shape=(1, 2), is_case_sensitive=1, stopwords=("a",)),
        _normalized("C", "\u00e9a", case_change_action="UPPER", is_case_sensitive=1, locale="C"),
        _normalized("own locale", "Mon", is_case_sensitive=1, case_change_action="LOWER"),
    ),
    ("", "TfIdfVectorizer"): (
        *(_tf_idf(_words(d, *_ROWS), "TF") for d in ("int64", "int32", "string")),
        _tf_idf(_words("int64", _ROWS[0]), "TF", "one row"),
        _tf_idf(_words("int64", *_ROWS), "TF", "skips", 3),
        _tf_idf(_words("string", *_ROWS), "TFIDF", "weights", weights=_WEIGHTS),
        _tf_idf(_words("int64", *_ROWS), "IDF", "weights, skips", 1, weights=_WEIGHTS),
        _tf_idf(_words("int32", *_ROWS), "TFIDF", "no weights"),
        _tf_idf(_words("int64", *_ROWS), "TF", "pairs alone", 1, min_gram_length=2),
        _tf_idf(_words("string", _ROWS[1]), "IDF", "words alone", max_gram_length=1),
        _tf_idf(Arg((2, 0), "int64"), "TF", "no words"),
    ),
}
