"""From text to token ids. 13a is decided chunk by chunk, so every distinct chunk is looked at once, ever.

The 13a rules never look across white space, so the tokens of a text are the tokens of its white-space chunks; a
memo from chunk to token ids turns tokenising into dictionary look-ups and one gather. Tokenisers whose rules do look
across white space (Moses, intl, zh, char) are run on whole texts.
"""

from __future__ import annotations

import functools
import importlib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from plainly.errors import BadSpec, MissingExtra, did_you_mean

Ints = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.int32]

CHUNKWISE = ("13a", "none", "spaces")
TOKENISERS = (*CHUNKWISE, "intl", "char", "zh", "moses", "moses-escaped")

# A vocabulary is replaced by a fresh one when it has seen this many distinct chunks, which bounds memory on streams.
VOCABULARY_LIMIT = 1_000_000


@dataclass(frozen=True)
class Encoded:
    """Texts as token ids: text i is ``tokens[offsets[i]:offsets[i + 1]]``."""

    tokens: Tokens
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)


class Vocabulary:
    """Token ids of one tokeniser and case setting; ids are dense and mean nothing outside this object."""

    def __init__(self, tokenize: str, *, lowercase: bool, blank_token: bool = False) -> None:
        if tokenize not in TOKENISERS:
            known = ", ".join(TOKENISERS)
            raise BadSpec(f"tokenize={tokenize!r} is not known.{did_you_mean(tokenize, TOKENISERS)} It may be: {known}")
        self._split = _splitter(tokenize, lowercase=lowercase, blank_token=blank_token)
        self._chunk_tokens = _chunk_rule(tokenize, lowercase=lowercase)
        self._token_ids: dict[str, int] = {}
        self._entries = 0
        self._chunk_ids = _ChunkIds(lambda chunk: self._intern(self._chunk_tokens(chunk)))
        self._raw_ids = _ChunkIds(lambda chunk: self._intern((chunk.lower() if lowercase else chunk,)))
        self._pending_tokens: list[int] = []
        self._pending_sizes: list[int] = []
        self._tokens = np.empty(0, dtype=np.int32)
        self._starts = np.empty(0, dtype=np.int64)
        self._sizes = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return self._entries

    def encode(self, texts: Sequence[str], *, as_it_stands: bool = False) -> Encoded:
        """The token ids of each text, new tokens getting new ids. ``as_it_stands`` only splits at white space."""
        chunked = list(map(str.split if as_it_stands else self._split_for(texts), texts))
        counts = np.fromiter(map(len, chunked), dtype=np.int64, count=len(chunked))
        total = int(counts.sum())
        chunks = _looked_up(self._raw_ids if as_it_stands else self._chunk_ids, list(chain.from_iterable(chunked)))
        self._absorb()
        sizes = self._sizes[chunks]
        ends = np.cumsum(sizes)
        chunk_offsets = np.concatenate(([0], np.cumsum(counts)))
        offsets = np.concatenate(([0], ends))[chunk_offsets]
        if total and int(ends[-1]) == total and sizes.all():
            return Encoded(tokens=self._tokens[self._starts[chunks]], offsets=offsets)
        length = int(ends[-1]) if total else 0
        where = np.repeat(self._starts[chunks] - (ends - sizes), sizes) + np.arange(length)
        return Encoded(tokens=self._tokens[where], offsets=offsets)

    def _split_for(self, texts: Sequence[str]) -> Callable[[str], list[str]]:
        # str.split itself is twice as fast as a function that calls it; only line breaks inside a text need more.
        if self._split is _split_13a and not any("\n" in text for text in texts):
            return str.split
        return self._split

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens themselves, for what cannot be computed from ids."""
        return [list(chain.from_iterable(map(self._chunk_tokens, self._split(text)))) for text in texts]

    def _intern(self, tokens: Sequence[str]) -> int:
        ids = self._token_ids
        self._pending_tokens.extend(ids.setdefault(token, len(ids)) for token in tokens)
        self._pending_sizes.append(len(tokens))
        self._entries += 1
        return self._entries - 1

    def _absorb(self) -> None:
        if not self._pending_sizes:
            return
        sizes = np.array(self._pending_sizes, dtype=np.int64)
        starts = len(self._tokens) + np.cumsum(sizes) - sizes
        self._tokens = np.concatenate((self._tokens, np.array(self._pending_tokens, dtype=np.int32)))
        self._starts = np.concatenate((self._starts, starts))
        self._sizes = np.concatenate((self._sizes, sizes))
        self._pending_tokens, self._pending_sizes = [], []


class _ChunkIds(dict[str, int]):
    """Chunk → entry of the vocabulary; a chunk that was never seen is interned on the way."""

    def __init__(self, intern: Callable[[str], int]) -> None:
        super().__init__()
        self._intern = intern

    def __missing__(self, chunk: str) -> int:
        self[chunk] = entry = self._intern(chunk)
        return entry


def _looked_up(memo: _ChunkIds, chunks: list[str]) -> Ints:
    """The entries of many chunks; itemgetter does it in one C loop, in half the time of a comprehension."""
    if len(chunks) < 2:
        return np.array([memo[chunk] for chunk in chunks], dtype=np.int64)
    return np.array(operator.itemgetter(*chunks)(memo), dtype=np.int64)


_current: dict[tuple[str, bool, bool], Vocabulary] = {}


def vocabulary(tokenize: str, *, lowercase: bool, blank_token: bool = False) -> Vocabulary:
    """The vocabulary in use for these settings. Hold on to it for as long as its ids matter: it may be replaced."""
    key = (tokenize, lowercase, blank_token)
    found = _current.get(key)
    if found is None or len(found) > VOCABULARY_LIMIT:
        found = _current[key] = Vocabulary(tokenize, lowercase=lowercase, blank_token=blank_token)
    return found


def _splitter(tokenize: str, *, lowercase: bool, blank_token: bool) -> Callable[[str], list[str]]:
    """How a text falls into the chunks that are looked up. ``blank_token``: an empty text is one empty token."""
    split: Callable[[str], list[str]]
    if tokenize == "13a":
        split = _split_13a
    elif tokenize == "none":
        split = str.split
    elif tokenize == "spaces":
        return _split_spaces
    else:
        whole = _whole_text(tokenize)

        def split(text: str) -> list[str]:
            return whole(text.lower() if lowercase else text).split()

    if blank_token:
        return lambda text: split(text) or [""]
    return split


def _chunk_rule(tokenize: str, *, lowercase: bool) -> Callable[[str], Sequence[str]]:
    if tokenize == "13a":
        return (lambda chunk: tokens_13a(chunk.lower())) if lowercase else tokens_13a
    if lowercase and tokenize in CHUNKWISE:
        return lambda chunk: (chunk.lower(),)
    return lambda chunk: (chunk,)


def _split_spaces(text: str) -> list[str]:
    return text.split(" ")


def _split_13a(text: str) -> list[str]:
    if "\n" in text:
        # mteval-v13a joins words hyphenated at the end of a line; the only rule that sees white space.
        text = text.rstrip().replace("-\n", "")
    return text.split()


_PUNCTUATION = re.compile(r"([{-~\[-` -&(-+:-@/])")
_STOP_AFTER_NON_DIGIT = re.compile(r"([^0-9])([.,])")
_STOP_BEFORE_NON_DIGIT = re.compile(r"([.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")
_ENTITIES = (("<skipped>", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def tokens_13a(chunk: str) -> tuple[str, ...]:
    """The tokens of one white-space chunk under mteval-v13a, as sacrebleu applies it."""
    if chunk.isalpha() or not chunk:
        return (chunk,)
    if "&" in chunk or "<" in chunk:
        for entity, character in _ENTITIES:
            chunk = chunk.replace(entity, character)
    spaced = _PUNCTUATION.sub(r" \1 ", f" {chunk} ")
    spaced = _STOP_AFTER_NON_DIGIT.sub(r"\1 \2 ", spaced)
    spaced = _STOP_BEFORE_NON_DIGIT.sub(r" \1 \2", spaced)
    return tuple(_DASH_AFTER_DIGIT.sub(r"\1 \2 ", spaced).split())


_SACREBLEU = {
    "intl": "sacrebleu.tokenizers.tokenizer_intl:TokenizerV14International",
    "char": "sacrebleu.tokenizers.tokenizer_char:TokenizerChar",
    "zh": "sacrebleu.tokenizers.tokenizer_zh:TokenizerZh",
}


@functools.cache
def _whole_text(tokenize: str) -> Callable[[str], str]:
    if tokenize in _SACREBLEU:
        module, _, name = _SACREBLEU[tokenize].partition(":")
        sacrebleu_tokeniser = getattr(importlib.import_module(module), name)()
        return lambda text: str(sacrebleu_tokeniser(text.rstrip()))
    try:
        from sacremoses import MosesTokenizer
    except ImportError:
        raise MissingExtra(f"tokenize={tokenize}", package="sacremoses", extra="moses") from None
    moses = MosesTokenizer(lang="en")
    escape = tokenize == "moses-escaped"
    return lambda text: str(moses.tokenize(text, return_str=True, escape=escape))
