"""Counts for readability formulas, as additive rows: sentences, words, syllables, letters."""

import functools
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from plainly.core.errors import BadSpec, DataUnavailable, require_package
from plainly.text import sentences, syllables
from plainly.text.arrays import ChunkMemo, Ints, Ragged
from plainly.text.languages import language as known_language
from plainly.text.tokenise import tokens_13a, unbroken
from plainly.text.words import words

# The columns of the rows of ``count``. Characters are letters and digits; a polysyllable has three syllables or more; a
# hard word is one that Gunning's fog index calls complex (in English); a long word has more than six letters.
COLUMNS = (
    "sentences", "words", "syllables", "letters", "characters", "polysyllables", "hard", "monosyllables", "long",
)  # fmt: skip

Sentences = Literal["rules", "punkt"]
Syllables = Literal["rules", "cmudict"]
AnySyllables = Literal["rules", "cmudict", "hyphenation"]


def count(texts: Sequence[str], *, split: str = "rules", syllable: str = "rules", language: str = "en") -> Ints:
    """Return one row per text, in the order of ``COLUMNS``. Sentences are found by ``split``: rules or punkt."""

    def read(block: Ragged) -> Ints:
        return np.column_stack((sentences.count_chunked(block), block.sums(slice(sentences.FACTS.stop, None))))

    rows = _memo(syllable, language).rows(texts, read)
    if split == "punkt" and len(texts):
        rows[:, 0] = punkt_counts(texts, language)
    return rows


@functools.cache
def _memo(syllable: str, language: str) -> ChunkMemo:
    counter = syllable_counter(syllable, language)

    def describe(chunk: str) -> tuple[int, ...]:
        in_chunk = words(chunk, language)
        sizes = list(map(counter, in_chunk))
        letters = [sum(map(str.isalpha, word)) for word in in_chunk]
        return (
            *sentences.facts(chunk, language),
            len(in_chunk),
            sum(sizes),
            sum(letters),
            sum(map(str.isalnum, "".join(in_chunk))),
            sum(size >= 3 for size in sizes),
            sum(size >= 3 and is_hard(word, counter) for word, size in zip(in_chunk, sizes, strict=True)),
            sizes.count(1),
            sum(number > 6 for number in letters),
        )

    return ChunkMemo(describe, clean=sentences.cleaner(language))


def syllable_counter(method: str, language: str) -> syllables.Counter:
    """Return a counter of syllables: by rules, by pronunciations (English) or by hyphenation (other languages)."""
    if method == "hyphenation":
        return syllables.by_hyphenation(language)
    if method == "rules":
        return syllables.count_rules if language == "en" else syllables.by_rules(language)
    if language != "en":
        raise BadSpec(f"syllables={method} has English pronunciations only. In other languages use: rules, hyphenation")
    return syllables.cmudict()


def is_hard(word: str, counter: syllables.Counter) -> bool:
    """Whether a word of three or more syllables is complex for Gunning (1952).

    He leaves out proper nouns, compounds of short words, and words that reach three syllables by -es, -ed or -ing.
    Without a tagger every capitalised word counts as a proper noun, also the first word of a sentence.
    """
    if word[0].isupper():
        return False
    if "-" in word:
        return any(counter(part) >= 3 for part in word.split("-") if part)
    ending = next(filter(word.endswith, ("es", "ed", "ing")), "")
    return not ending or counter(word.removesuffix(ending)) >= 3


_EASSE_STOPS = frozenset(".!?")
_EASSE_CLOSERS = frozenset("\"')]}‘’“”«»")


def count_easse(texts: Sequence[str], *, split: str = "rules") -> Ints:
    """Count sentences, tokens and syllables as EASSE does, one row per text: 13a, lower case, punctuation counts.

    ``split`` is punkt, as in EASSE, or rules: a sentence ends at a lone full stop, question or exclamation mark of
    the 13a text and includes one closing quotation mark or bracket after it. On 13a text Punkt does the same.
    """

    def read(block: Ragged) -> Ints:
        return np.column_stack((_lone_stops(block), block.sums(slice(0, 2))))

    rows = _easse_memo.rows(texts, read)
    if split == "punkt":
        tokens = ([token for chunk in text.split() for token in tokens_13a(chunk.lower())] for text in unbroken(texts))
        rows[:, 0] = punkt_counts(list(map(" ".join, tokens)))
    return rows


def _describe_easse(chunk: str) -> tuple[int, ...]:
    tokens = tokens_13a(chunk.lower())
    stops = [token in _EASSE_STOPS for token in tokens]
    ends_closed = len(tokens) > 1 and stops[-2] and set(tokens[-1]) <= _EASSE_CLOSERS
    is_closer = len(tokens) == 1 and set(tokens[0]) <= _EASSE_CLOSERS
    ends = bool(stops) and stops[-1]
    return len(tokens), sum(map(syllables.count_easse, tokens)), sum(stops), ends or ends_closed, ends, is_closer


_easse_memo = ChunkMemo(_describe_easse, clean=unbroken)


def _lone_stops(block: Ragged) -> Ints:
    """Return one sentence more than there are stops, but none after a stop (and a closer) that ends the text."""
    tokens, _, stops, ends, ends_bare, closer = block.values.T
    text = block.owners
    sentence_counts = np.bincount(text, weights=stops, minlength=len(block.offsets) - 1).astype(np.int64)
    has_tokens = tokens > 0  # a chunk may vanish: <skipped>
    text, ends, ends_bare, closer = (column[has_tokens] for column in (text, ends, ends_bare, closer))
    last = np.ones(len(text), dtype=bool)
    last[:-1] = text[1:] != text[:-1]
    follows_stop = np.zeros(len(text), dtype=bool)
    follows_stop[1:] = (ends_bare[:-1] == 1) & (text[1:] == text[:-1])
    sentence_counts[text[last]] += 1
    sentence_counts[text[last & ((ends == 1) | ((closer == 1) & follows_stop))]] -= 1
    return sentence_counts


def punkt_counts(texts: Sequence[str], language: str = "en") -> Ints:
    """Return how many sentences NLTK's Punkt model of a language finds in each text."""
    find = punkt(language)
    return np.fromiter((len(find(text)) for text in texts), dtype=np.int64, count=len(texts))


@functools.cache
def punkt(language: str = "en") -> Callable[[str], list[str]]:
    """Return NLTK's Punkt tokenizer with its model of a language, loaded once."""
    name = known_language(language).name
    with require_package("sentences=punkt", package="nltk", extra="punkt"):
        from nltk.tokenize.punkt import PunktTokenizer
    try:
        find: Callable[[str], list[str]] = PunktTokenizer(name.lower()).tokenize
    except LookupError:
        raise DataUnavailable(
            f"sentences=punkt needs NLTK's {name} Punkt model, which is not installed. "
            "Install it: python -m nltk.downloader punkt_tab"
        ) from None
    return find
