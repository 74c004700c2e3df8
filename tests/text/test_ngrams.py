"""The vectorised n-gram counts equal plain Counters on any text."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from plainly.core.evalset import EvalSet
from plainly.text import ngrams
from plainly.text.ngrams import ORDER
from plainly.text.tokenise import Vocabulary, tokens_13a

WORDS = st.lists(st.sampled_from(["a", "b", "c", "the", "cat", "A", "ß", "猫", "."]), max_size=12).map(" ".join)
ITEMS = st.lists(st.tuples(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=4)), min_size=1, max_size=6)


def _counts(text: str, order: int) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(tuple(words[i : i + order + 1]) for i in range(len(words) - order))


def _check(evalset: EvalSet, outputs: list[str]) -> None:
    for block in ngrams.prepare_blocks(evalset, tokenize="none", lowercase=False):
        match = ngrams.match(block, outputs[block.start : block.stop])
        source, total = block.source[match.where], block.reference_sum[match.where]
        most, texts = block.reference_most[match.where], block.reference_texts[match.where]
        shared = match.total(np.minimum(match.count, source))
        clipped = match.total(np.minimum(match.count, most))
        sums, present = match.total(np.minimum(match.count, total)), match.total(texts)
        new = match.total(source == 0) + match.others
        for item in range(len(block)):
            at = block.start + item
            for order in range(ORDER):
                of_output = _counts(outputs[at], order)
                of_source = _counts(evalset.sources[at], order)
                of_references = [_counts(text, order) for text in evalset.references[at]]
                union, together = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
                for counts in of_references:
                    union |= counts
                    together += counts
                assert shared[item, order] == (of_output & of_source).total()
                assert clipped[item, order] == (of_output & union).total()
                assert sums[item, order] == (of_output & together).total()
                assert present[item, order] == sum(gram in counts for gram in of_output for counts in of_references)
                assert new[item, order] == len(set(of_output) - set(of_source))


@given(ITEMS)
@settings(max_examples=100, deadline=None)
def test_counts_equal_counters(items: list[tuple[str, str, list[str]]]) -> None:
    sources, outputs, references = map(list, zip(*items, strict=True))
    _check(EvalSet(tuple(map(str, range(len(items)))), tuple(sources), tuple(map(tuple, references))), outputs)


def test_an_output_with_very_many_new_words() -> None:
    evalset = EvalSet.of(["a b c", "d e f"], references=[["a b"], ["d e", "d f"]])
    _check(evalset, ["a b " + " ".join(f"w{i}" for i in range(5000)) + " a b c", "d e"])


@pytest.mark.parametrize("words", [3000, 8000])
def test_items_too_long_for_a_shared_block(words: int) -> None:
    long = " ".join(f"w{i * 7919 % words}" for i in range(words + 50))
    evalset = EvalSet.of([long, "a b c", long], references=[["a b", long], ["a c"], [long + " x"]])
    _check(evalset, [long.replace("w1", "v1"), "a b", long])


def _check_tokens(words: Vocabulary, texts: list[str], tokens: list[list[str]]) -> None:
    """Raw text is split at white space alone and shares its ids with tokenised text."""
    ids, expected = words.encode(texts), words.encode(list(map(" ".join, tokens)), raw=True)
    assert ids.values.tolist() == expected.values.tolist()
    assert ids.offsets.tolist() == expected.offsets.tolist()


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_13a_equals_sacrebleu_on_any_text(text: str) -> None:
    expected = Tokenizer13a()(text.rstrip()).split()
    _check_tokens(Vocabulary("13a", lowercase=False), [text], [expected])


@given(st.text(alphabet="aZ09.,-–'\"&<>;/()[]{}%$#@!?:~ \n\t\u00a0é中", max_size=40))
@settings(max_examples=300, deadline=None)
def test_13a_equals_sacrebleu_on_punctuation(text: str) -> None:
    expected = Tokenizer13a()(text.rstrip().lower()).split()
    _check_tokens(Vocabulary("13a", lowercase=True), [text], [expected])


@given(st.lists(st.text(max_size=30), max_size=8), st.booleans())
@settings(max_examples=200, deadline=None)
def test_encoding_keeps_every_token(texts: list[str], lowercase: bool) -> None:
    words = Vocabulary("13a", lowercase=lowercase)
    expected = [Tokenizer13a()((text.lower() if lowercase else text).rstrip()).split() for text in texts]
    _check_tokens(words, texts, expected)
    _check_tokens(words, texts[::-1], expected[::-1])


def test_entities_and_abbreviations() -> None:
    assert tokens_13a("&quot;U.S.&quot;,") == ('"', "U", ".", "S", ".", '"', ",")
    assert tokens_13a("3,000.50-mile") == ("3,000.50", "-", "mile")
