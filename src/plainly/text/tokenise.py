"""Tokenisers, from text to token ids. 13a works chunk by chunk, so every distinct chunk is tokenised once.

The 13a rules never look across white space, so the tokens of a text are the tokens of its white-space chunks; a
memo from chunk to token ids makes tokenising a matter of look-ups and one gather. Tokenisers whose rules do look
across white space (Moses, intl, zh, char) are run on whole texts.
"""

import functools
import importlib
import re
from collections.abc import Callable, Sequence

import numpy as np

from plainly.core.errors import require_package
from plainly.core.metric import unknown_value
from plainly.text.arrays import ChunkIndex, Ragged
from plainly.text.languages import CODES

CHUNKWISE = ("13a", "none", "spaces")
_MOSES = {"moses": "en", "moses-escaped": "en"} | {f"moses-{code}": code for code in CODES if code != "en"}
TOKENISERS = (*CHUNKWISE, "intl", "char", "zh", *_MOSES)

# A vocabulary is replaced by a fresh one when it has seen this many distinct chunks, which bounds memory on streams.
VOCABULARY_LIMIT = 300_000


class Vocabulary:
    """Token ids of one tokeniser and case setting; ids are dense and mean nothing outside this object."""

    def __init__(self, tokenize: str, *, lowercase: bool, blank_token: bool = False) -> None:
        if tokenize not in TOKENISERS:
            raise unknown_value("tokenize", tokenize, TOKENISERS)
        self._tokenize, self._lowercase, self._blank_token = tokenize, lowercase, blank_token
        self._token_ids: dict[str, int] = {}
        rule = tokens_13a if tokenize == "13a" else None
        fold = lowercase and tokenize in CHUNKWISE  # for the others the whole text is lower-cased before
        self._tokenised = _Entries(self._token_ids, rule=rule, lowercase=fold)
        self._raw = _Entries(self._token_ids, rule=None, lowercase=lowercase)
        self._index, self._raw_index = ChunkIndex(self._tokenised.learn), ChunkIndex(self._raw.learn)

    def __len__(self) -> int:
        return len(self._index) + len(self._raw_index)

    def encode(self, texts: Sequence[str], *, raw: bool = False) -> Ragged:
        """Return the token ids of each text; new tokens get new ids. ``raw`` only splits at white space."""
        if raw:
            return self._raw.expand(self._raw_index.read(texts))
        return self._tokenised.expand(self._chunks(texts))

    def _chunks(self, texts: Sequence[str]) -> Ragged:
        if self._tokenize == "spaces":
            return self._index.read_split([text.split(" ") for text in texts])
        if self._tokenize == "13a":
            texts = unbroken(texts)
        elif self._tokenize not in CHUNKWISE:
            whole = _whole_text(self._tokenize)
            texts = [whole(text.lower() if self._lowercase else text) for text in texts]
        chunks = self._index.read(texts)
        empty = chunks.lengths == 0
        if not self._blank_token or not empty.any():
            return chunks
        numbers = np.insert(chunks.values, chunks.offsets[:-1][empty], self._index.numbers([""])[0])
        return Ragged(numbers, chunks.offsets + np.concatenate(([0], np.cumsum(empty))))


class _Entries:
    """The token ids of each chunk, end to end, so that many chunks are looked up by one gather."""

    def __init__(
        self, token_ids: dict[str, int], *, rule: Callable[[str], Sequence[str]] | None, lowercase: bool
    ) -> None:
        self._token_ids, self._rule, self._lowercase = token_ids, rule, lowercase
        self._new_tokens: list[int] = []
        self._new_sizes: list[int] = []
        self._tokens = Ragged(np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def learn(self, chunks: Sequence[str]) -> None:
        ids, rule = self._token_ids, self._rule
        for chunk in map(str.lower, chunks) if self._lowercase else chunks:
            if rule is None or chunk.isalnum():
                self._new_tokens.append(ids.setdefault(chunk, len(ids)))
                self._new_sizes.append(1)
            else:
                tokens = rule(chunk)
                self._new_tokens += [ids.setdefault(token, len(ids)) for token in tokens]
                self._new_sizes.append(len(tokens))

    def expand(self, chunks: Ragged) -> Ragged:
        """Return texts as token ids, from texts as chunk numbers."""
        if self._new_sizes:
            new = np.array(self._new_tokens, dtype=np.int64)
            ends = self._tokens.offsets[-1] + np.cumsum(self._new_sizes)
            self._tokens = Ragged(
                np.concatenate((self._tokens.values, new)), np.concatenate((self._tokens.offsets, ends))
            )
            self._new_tokens, self._new_sizes = [], []
        tokens = self._tokens.select(chunks.values)
        return Ragged(tokens.values, tokens.offsets[chunks.offsets])


_current: dict[tuple[str, bool, bool], Vocabulary] = {}


def vocabulary(tokenize: str, *, lowercase: bool, blank_token: bool = False) -> Vocabulary:
    """Return the current vocabulary for these settings. Keep it as long as its ids matter: it may be replaced."""
    key = (tokenize, lowercase, blank_token)
    current = _current.get(key)
    if current is None or len(current) > VOCABULARY_LIMIT:
        current = _current[key] = Vocabulary(tokenize, lowercase=lowercase, blank_token=blank_token)
    return current


def unbroken(texts: Sequence[str]) -> Sequence[str]:
    """Join words that are hyphenated at the end of a line, the one rule of 13a that looks across white space."""
    if not any("\n" in text for text in texts):
        return texts
    return [text.rstrip().replace("-\n", "") if "\n" in text else text for text in texts]


_PUNCTUATION = re.compile(r"([{-~\[-` -&(-+:-@/])")
_STOP_AFTER_NON_DIGIT = re.compile(r"([^0-9])([.,])")
_STOP_BEFORE_NON_DIGIT = re.compile(r"([.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")
# Characters that the rules always split from a word of letters; most chunks need no other rule.
_SPLIT_OFF = frozenset('!"#$%()*+,./:;<=>?@[\\]^_`{|}~')
_ENTITIES = (("<skipped>", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def tokens_13a(chunk: str) -> tuple[str, ...]:
    """Return the tokens of one white-space chunk by mteval-v13a, as sacrebleu applies it."""
    if chunk.isalnum() or not chunk:
        return (chunk,)
    if chunk[-1] in _SPLIT_OFF and chunk[:-1].isalpha():
        return (chunk[:-1], chunk[-1])
    if "&" in chunk or "<" in chunk:
        for entity, character in _ENTITIES:
            chunk = chunk.replace(entity, character)
    chunk = _PUNCTUATION.sub(r" \1 ", f" {chunk} ")
    chunk = _STOP_AFTER_NON_DIGIT.sub(r"\1 \2 ", chunk)
    chunk = _STOP_BEFORE_NON_DIGIT.sub(r" \1 \2", chunk)
    return tuple(_DASH_AFTER_DIGIT.sub(r"\1 \2 ", chunk).split())


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
    with require_package(f"tokenize={tokenize}", package="sacremoses", extra="moses"):
        from sacremoses import MosesTokenizer
    moses = MosesTokenizer(lang=_MOSES[tokenize])
    escape = tokenize == "moses-escaped"
    return lambda text: str(moses.tokenize(text, return_str=True, escape=escape))
