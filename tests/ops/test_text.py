"""text: what is special about it: RE2's syntax, case, parts, n-grams; and strings elsewhere."""

from __future__ import annotations

import re
import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isomorph
from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.semantics.re2 import Pattern
from isomorph.ir.semantics.re2.sample import matching
from isomorph.ir.semantics.re2.syntax import PatternError
from isomorph.ir.text import parse
from isomorph.parity.verdict import Status
from tests.ops import whole

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph

HEADER = '<ir_version: {}, opset_import: ["" : {}]>\n'


def graph(text: str) -> Graph:
    return parse(HEADER.format(14, 28) + text)


def texts(*values: str) -> np.ndarray:
    return np.array(values, object)


# -- patterns -----------------------------------------------------------------------------------

MATCHES = [
    (r"a|bc", "a bc", "ab b"),
    (r"(a|b)*c?", "abab c bbc", "ca cc"),
    (r"a{2,3}", "aa aaa", "a aaaa"),
    (r"a{,2}", "a{,2}", "a aa"),
    (r"a{2", "a{2", "aa"),
    (r"[^\n]", "a", "ab"),
    (r"[]a]", "] a", "b"),
    (r"[a-]", "a -", "b"),
    (r"[a-b-d]", "a - d", "c"),
    (r"[[:alpha:]_]", "a _", "1 \u00e9"),
    (r"[[:^digit:]]", "a", "1"),
    (r"\d", "1", "\u0663"),
    (r"\w+", "a_1", "\u00e9"),
    (r"\pL+", "a\u00e9", "a1"),
    (r"\p{Lu}\P{Lu}", "Aa", "AA"),
    (r"\p{^Ll}", "A", "a"),
    (r"\x41\x{e9}\101", "A\u00e9A", "AAA"),
    (r"\Qa.b\E+", "a.b a.bb", "axb"),
    (r"(?i)\u00e9k".replace(r"\u00e9", "\u00e9"), "\u00c9K \u00e9\u212a", "ek"),
    (r"(?i:a)b", "Ab ab", "AB"),
    (r"a(?i)b|c", "aB C", "AB"),
    (r"(?P<x>a)(?<y>b)", "ab", "a"),
    (r"\bab\b", "ab", "a"),
    (r"a\Bb", "ab", "a"),
    (r"(a*)*", "a aaa", "b"),
    (r"(|a)+b", "b ab aab", "a"),
    (r"^a$", "a", "aa"),
    (r"\Aa\z", "a", "aa"),
]
"""A pattern, texts that match, texts that do not; separated by spaces."""


@pytest.mark.parametrize(("pattern", "good", "bad"), MATCHES)
def test_patterns_match_whole_texts(pattern: str, good: str, bad: str):
    made = Pattern(pattern)
    assert [t for t in good.split() if not made.matches(t)] == []
    assert [t for t in bad.split() if made.matches(t)] == []


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"a.b", "a\nb", False),
        (r"(?s)a.b", "a\nb", True),
        (r"a$\n?", "a\n", False),
        (r"(?m)a$\n?", "a\n", True),
        (r"(?m)a\n^b", "a\nb", True),
        (r"a\n^b", "a\nb", False),
        (r"\s", "\v", False),
        (r"[[:space:]]", "\v", True),
        (r"", "", True),
        (r"(?i)[^k]", "\u212a", False),
        (r"(?i)\u00df".replace(r"\u00df", "\u00df"), "\u1e9e", True),
    ],
)
def test_lines_spaces_and_case_are_those_of_re2(pattern: str, text: str, matches: bool):
    assert Pattern(pattern).matches(text) is matches


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(a", "missing )"),
        ("a)", "unexpected )"),
        ("*a", "no argument for repetition"),
        ("a**", "do not stack"),
        ("a{2}{3}", "do not stack"),
        ("a{1001}", "bad repetition size"),
        ("a{3,2}", "bad repetition size"),
        ("[a", "missing ]"),
        ("[b-a]", "invalid character class range"),
        ("[[:nope:]]", "invalid character class"),
        (r"\q", "invalid escape"),
        (r"(a)\1", "invalid escape"),
        (r"\x{110000}", "invalid escape"),
        ("(?=a)", "unsupported group"),
        ("(?<!a)b", "unsupported group"),
        (r"\p{Greek}", "a script"),
        ("a\\", "trailing"),
        ("(" * 200 + ")" * 200, "nested more than"),
        ("(" + "a{1000}" * 200 + "){100}", "instructions"),
    ],
)
def test_patterns_that_are_none_are_told_with_their_place(pattern: str, words: str):
    with pytest.raises(PatternError, match=re.escape(words)) as raised:
        Pattern(pattern)
    assert "pattern" in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*)*b", "a?" * 30 + "a" * 30])
def test_time_is_linear_in_the_text(pattern: str):
    """Patterns on which a search that goes back takes years."""
    made, started = Pattern(pattern), time.monotonic()
    for _ in range(20):
        made.matches("a" * 2000)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("pattern", ["[a-z]+@[a-z]+", "(a|bc)*d?", "(?i)[^k]\\w", "\\d{4}-\\d"])
def test_texts_are_drawn_to_match(pattern: str):
    found = matching(pattern, 10, Random(1))  # noqa: S311 - no secret is drawn
    assert len(found) > 2
    assert all(map(Pattern(pattern).matches, found))


# -- semantics ----------------------------------------------------------------------------------


def computed(op: str, attributes: str, *feeds: np.ndarray, outputs: int = 1) -> list[Any]:
    names = [f"x{i}" for i in range(len(feeds))]
    kinds = [
        f"{'string' if f.dtype.kind == 'O' else 'int64'}[{', '.join(map(str, f.shape))}] {n}"
        for f, n in zip(feeds, names, strict=True)
    ]
    made = [f"y{i}" for i in range(outputs)]
    results = ", ".join(f"string[] {n}" for n in made)
    text = f"g ({', '.join(kinds)}) => ({results}) {{ "
    text += f"{', '.join(made)} = {op}{attributes}({', '.join(names)}) }}"
    return interpret(graph(text), feeds)


@pytest.mark.parametrize(
    ("attributes", "text", "parts"),
    [
        ("", "  a\t b\u2003c ", ["a", "b", "c"]),
        ("<maxsplit = 1>", " a b c ", ["a", "b c"]),
        ("<maxsplit = 0>", " a b ", ["a b"]),
        ('<delimiter = ",">', "", [""]),
        ('<delimiter = ",", maxsplit = 1>', ",a,b", ["", "a,b"]),
        ('<delimiter = "">', " a  b", ["a", "b"]),
    ],
)
def test_texts_are_split(attributes: str, text: str, parts: list[str]):
    found, counts = computed("StringSplit", attributes, texts(text), outputs=2)
    assert (found.tolist(), counts.tolist()) == ([parts], [len(parts)])


@pytest.mark.parametrize(
    ("attributes", "given", "wanted"),
    [
        (
            '<case_change_action = "UPPER">',
            "\u00e9 \u00df \u0149 \u1fb3",
            "\u00c9 \u00df \u0149 \u1fbc",
        ),
        ('<case_change_action = "LOWER">', "\u0130 \u03a3\u03a3 \u01c5", "i \u03c3\u03c3 \u01c6"),
        ('<case_change_action = "UPPER", locale = "C">', "a\u00e9", "A\u00e9"),
        ('<stopwords = ["mon"]>', "Mon tue", "tue"),
        ('<stopwords = ["mon"], is_case_sensitive = 1>', "Mon mon", "Mon"),
    ],
)
def test_case_changes_character_by_character(attributes: str, given: str, wanted: str):
    (found,) = computed("StringNormalizer", attributes, texts(*given.split()))
    assert found.tolist() == wanted.split()


@pytest.mark.parametrize(
    ("op", "attributes", "feed", "words"),
    [
        ("StringNormalizer", '<locale = "tr_TR.UTF-8">', texts("i"), "rules of their own"),
        ("StringNormalizer", '<case_change_action = "TITLE">', texts("i"), "LOWER or UPPER"),
        ("StringNormalizer", "", texts("a", "b").reshape(2, 1), "a matrix of one row"),
        ("RegexFullMatch", "", texts("a"), "it has no pattern"),
        ("RegexFullMatch", '<pattern = "(?=a)">', texts("a"), "unsupported group"),
    ],
)
def test_what_is_not_defined_is_told(op: str, attributes: str, feed: np.ndarray, words: str):
    with pytest.raises(UnsupportedError, match=words):
        computed(op, attributes, feed)


TF_IDF = """<mode = "{}", min_gram_length = 1, max_gram_length = 2, max_skip_count = {},
    ngram_counts = [0, 2], ngram_indexes = {}, pool_int64s = [5, 6, 5, 6], weights = {}>"""


def weighed(
    mode: str, skips: int = 0, indexes: str = "[2, 0, 1]", weights: str = "[0.5, 2.0, 3.0]"
):
    words = np.array([5, 6, 5, 6, 6])
    (found,) = computed("TfIdfVectorizer", TF_IDF.format(mode, skips, indexes, weights), words)
    return found.tolist()


def test_weights_belong_to_n_grams_not_to_columns():
    assert weighed("TF") == [3, 2, 2]
    assert weighed("IDF") == [2, 3, 0.5]
    assert weighed("TFIDF") == [6, 6, 1]


def test_single_words_are_counted_once_whatever_is_skipped():
    assert weighed("TF", skips=3) == [3, 2 + 1 + 1 + 1, 2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"indexes": "[2, 0]"}, "2 ngram_indexes for the 3 n-grams"),
        ({"weights": "[1.0]"}, "1 weights for 3 n-grams"),
        ({"mode": "IFD"}, "TF, IDF or TFIDF"),
    ],
)
def test_pools_that_do_not_fit_are_told(given: dict[str, Any], words: str):
    with pytest.raises(UnsupportedError, match=words):
        weighed(**{"mode": "TFIDF", **given})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y = StringConcat(x, i)", "operand 1 is int64"),
        ("y = RegexFullMatch(i)", "texts were expected"),
        ("y = StringNormalizer(m)", "a matrix of one row"),
    ],
)
def test_types_that_do_not_fit_are_told(text: str, words: str):
    made = graph(f"g (string[2] x, int64[2] i, string[2, 3] m) => (string[] y) {{ {text} }}")
    made.outputs[0].type = None
    with pytest.raises(TypeInferenceError, match=words):
        infer(made)


@pytest.mark.parametrize("op", ["StringConcat(x, x)", 'RegexFullMatch<pattern = "a">(x)'])
def test_texts_are_taken_apart_from_opset_20_on(op: str):
    made = graph(f"g (string[n] x) => (string[] y) {{ y = {op} }}")
    made.outputs[0].type = None
    infer(made)
    (stuck,) = downgrade(made, 19)
    assert stuck.lowest == 20


# -- all the way --------------------------------------------------------------------------------

MODELS = {
    "join": "g (string[n] x, string[n] y) => (string[n] z) { z = StringConcat(x, y) }",
    "split": """g (string[n] x) => (string[n, p] y, int64[n] z) {
        y, z = StringSplit<delimiter = ",">(x)
    }""",
    "match": """g (string[n] x) => (bool[n] y) {
        y = RegexFullMatch<pattern = "[a-z]+[0-9]?">(x)
    }""",
    "normalize": """g (string[n] x) => (string[m] y) {
        y = StringNormalizer<case_change_action = "UPPER", locale = "C.UTF-8",
                             stopwords = ["mon", "Tue"]>(x)
    }""",
    "weigh": """g (string[n, 6] x) => (float[n, 3] y) {
        y = TfIdfVectorizer<mode = "TFIDF", min_gram_length = 1, max_gram_length = 2,
            max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [2, 0, 1],
            pool_strings = ["a", "b", "a", "b"], weights = [0.1, 2.0, 3.0]>(x)
    }""",
    "count": """g (int64[n] x) => (float[3] y) {
        y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 2,
            max_skip_count = 0, ngram_counts = [0, 2], ngram_indexes = [2, 0, 1],
            pool_int64s = [5, 6, 5, 6]>(x)
    }""",
    "number": "g (string[n] x) => (float[n] y) { z = Cast<to = 1>(x)\n y = Neg(z) }",
    "label": """g (int64[n] x) => (string[n] y) <int64 three = {3}> {
        labels = Constant<value_strings = ["cat", "dog", "ant"]>()
        m = Mod(x, three)
        p = Add(m, three)
        i = Mod(p, three)
        y = Gather(labels, i)
    }""",
    "choose": """g (bool[n] c, string[n] x) => (string[n] y, bool[n] e) <string[1] k = {"abc"}> {
        y = Where(c, x, k)
        e = Equal(y, k)
    }""",
    "loop": """g (string[n] x) => (string[m] y) <int64 trips = {2}, bool go = {1}> {
        y = Loop(trips, go, x) <body = b (int64 i, bool c, string[] s) => (bool d, string[] t) {
            d = Identity(c)
            t = Concat<axis = 0>(s, x)
        }>
    }""",
}


@pytest.mark.parametrize("name", list(MODELS))
def test_models_of_strings_go_all_the_way(tmp_path: Path, name: str):
    whole.goes_all_the_way(tmp_path, HEADER.format(10, 21) + MODELS[name])


FAULTS = {
    "order": ("join", "StringConcat(x, y)", "StringConcat(y, x)"),
    "delimiter": ("split", 'delimiter = ","', 'delimiter = ",,"'),
    "limit": ("split", 'delimiter = ","', 'delimiter = ",", maxsplit = 3'),
    "pattern": ("match", "[0-9]?", "[0-9]*"),
    "stop word": ("normalize", '"Tue"', '"Thu"'),
    "case": ("normalize", "UPPER", "LOWER"),
    "weight": ("weigh", "[0.1, 2.0", "[0.1001, 2.0"),
    "skips": ("weigh", "max_skip_count = 1", "max_skip_count = 2"),
    "pool": ("weigh", '"a", "b", "a", "b"', '"a", "b", "b", "a"'),
    "mode": ("count", '"TF"', '"IDF"'),
    "constant": ("choose", '{"abc"}', '{"abd"}'),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_planted_faults_are_found(tmp_path: Path, fault: str):
    name, right, wrong = FAULTS[fault]
    whole.fault_is_found(tmp_path, HEADER.format(10, 21) + MODELS[name], right, wrong)


def test_what_onnxruntime_splits_otherwise_is_its_own(tmp_path: Path):
    """It knows no white space but the space, and finds no part in an empty text."""
    text = "g (string[n] x) => (string[n, p] y, int64[n] z) {"
    text += ' y, z = StringSplit<delimiter = ",">(x) }'
    source = whole.saved(tmp_path / "source.onnx", HEADER.format(10, 21) + text)
    samples = [[texts("", "")], [texts("a,b", "")]]
    verdict = isomorph.verify(source, source, cases=20, samples=samples)
    assert verdict.status is Status.PASS
    assert verdict.outputs[0].status is Status.RUNTIME
