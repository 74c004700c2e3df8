"""What is trained on: levelled documents, and sentences rated on a second scale, prepared once and kept as one file.

Preparing needs the data sets and the readability formulas; training needs only this file, so that a machine with a GPU
but without a network can do it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import read_whole, write_whole
from plainly.metrics.readability import Fkgl
from plainly_lab.training.levels import LevelledSentences, cut
from plainly_lab.training.recipe import SHIPPED

# Texts of these sets are never trained on: metrics are judged on them.
NEVER_TRAINED_ON = (
    "asset/test", "asset/valid", "turkcorpus/test", "hsplit/test", "pwkp/test", "qats/test", "googlecomp/test",
)  # fmt: skip
_COLUMNS = ("article", "level", "text")
_CLOSE_UP = ((r" ([,.;:?!%)\]'’”])", r"\1"), (r"([(\[$£“‘]) ", r"\1"), (r" (n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1"))
_MARKS = re.compile(r"[\W_]+")
_QUOTES = ((r"`` ?", '"'), (r" ?''", '"'))


@dataclass(frozen=True)
class RatedSentences:
    """Sentences rated one by one on a scale of their own, with the part (train, dev, test) each belongs to.

    ``spaced`` are the same sentences as they were tokenised, or empty; outputs to be scored come in both forms.
    """

    name: str
    sentences: tuple[str, ...]
    spaced: tuple[str, ...]
    values: tuple[float, ...]
    parts: tuple[str, ...]

    def __getitem__(self, mask: Sequence[bool]) -> RatedSentences:
        columns: list[Any] = [self.sentences, self.spaced, self.values, self.parts]
        return RatedSentences(self.name, *(tuple(compress(column, mask)) for column in columns))

    @property
    def training(self) -> RatedSentences:
        """Those to train on."""
        return self[[part == "train" for part in self.parts]]


@dataclass(frozen=True)
class LevelledTexts:
    """Levelled sentences with their Flesch-Kincaid grades, and one second scale or none."""

    levelled: LevelledSentences
    grades: tuple[float, ...]
    rated: RatedSentences | None = None
    sources: tuple[str, ...] = ()

    @property
    def heads(self) -> tuple[str, ...]:
        """The scales that a model of these texts estimates; reading level is the first."""
        return ("sle",) if self.rated is None else ("sle", self.rated.name)

    def save(self, path: Path) -> None:
        """One JSON file with everything that training needs."""
        content = {
            "levelled": vars(self.levelled) | {"levels": self.levelled.levels.tolist()},
            "grades": [grade if np.isfinite(grade) else None for grade in self.grades],
            "rated": asdict(self.rated) if self.rated else None,
            "sources": self.sources,
        }
        write_whole(path, json.dumps(content, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> LevelledTexts:
        """What ``save`` wrote."""
        try:
            content = json.loads(read_whole(path).decode("utf-8"))
            columns, rated = content["levelled"], content["rated"]
            names = ("sentences", "spaced", "values", "parts")
            sentences, articles = (tuple(columns[name]) for name in ("sentences", "articles"))
            return cls(
                LevelledSentences(sentences, articles, np.array(columns["levels"], dtype=float)),
                tuple(np.nan if grade is None else grade for grade in content["grades"]),
                RatedSentences(rated["name"], *(tuple(rated[name]) for name in names)) if rated else None,
                tuple(content["sources"]),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise BadInput(
                f"{path} is not a prepared corpus ({error}). Make one: plainly train sle --prepare FILE"
            ) from None


def levelled_texts(
    documents: Any = None, *, levels: Mapping[str, float] | None = None, recipe: Any = None
) -> LevelledTexts:
    """What to train on: a table with the columns article, level and text, or texts that were prepared before.

    The table is a file, a frame or a mapping of columns; ``levels`` says what named levels stand for. Without documents
    the recipe ``"shipped"`` has its own, the open corpora.
    """
    if isinstance(documents, LevelledTexts):
        return documents
    if documents is None:
        if recipe == SHIPPED:
            return _shipped_texts()
        raise BadInput(
            f"No training data: pass a table of documents (documents=), or recipe={SHIPPED!r} for the open corpora."
        )
    if isinstance(documents, (str, Path)):
        from plainly.io import read_table

        sheet = read_table(documents)
        columns, where = {name: sheet.column(name) for name in _COLUMNS}, sheet.where
    else:
        if isinstance(documents, bytes) or not hasattr(documents, "__getitem__"):
            raise BadInput(f"documents= takes a table with the columns article, level and text, not {documents!r:.60}.")
        if absent := [name for name in _COLUMNS if name not in documents]:
            raise BadInput(f"The documents have no column {absent[0]!r}. They need article, level and text.")
        columns, where = {name: list(documents[name]) for name in _COLUMNS}, lambda row: f"Document {row + 1}"
    for name, column in columns.items():
        if None in column:
            raise BadInput(
                f"{where(column.index(None))}: no {name}. Each document needs an article, a level and a text."
            )
    names: list[Any] = columns["level"]
    return from_documents(list(map(str, columns["article"])), names, list(map(str, columns["text"])), scale=levels)


def from_documents(
    articles: Sequence[str],
    names: Sequence[float | str],
    texts: Sequence[str],
    *,
    scale: Mapping[str, float] | None = None,
    rated: RatedSentences | None = None,
    held_out: Iterable[str] = (),
    sources: Sequence[str] = (),
) -> LevelledTexts:
    """Texts from documents and the names of their levels; sentences that are among ``held_out`` are left out."""
    levelled = cut(articles, names, texts, scale=scale)
    secret = set(map(plain, held_out))
    levelled = levelled[np.array([plain(sentence) not in secret for sentence in levelled.sentences])]
    if rated is not None:
        rated = rated[[plain(sentence) not in secret for sentence in rated.sentences]]
    fkgl = Fkgl()
    rows = fkgl.measure(EvalSet.of(items=len(levelled)), levelled.sentences)
    return LevelledTexts(levelled, tuple(fkgl.score(rows)[:, 0].tolist()), rated, tuple(sources))


def _shipped_texts() -> LevelledTexts:
    """What the shipped model was trained on: OneStopEnglish, and the Wiki-Auto part of CEFR-SP as second scale."""
    from plainly import data

    texts = data.table("onestopenglish/texts")
    cefr = data.table("cefr-sp/wiki-auto")
    rated = RatedSentences(
        name="cefr",
        sentences=tuple(map(close_up, cefr["sentence"])),
        spaced=tuple(cefr["sentence"]),
        values=tuple((a + b) / 2 for a, b in zip(cefr["level_a"], cefr["level_b"], strict=True)),
        parts=tuple(cefr["part"]),
    )
    return from_documents(
        texts["article"],
        texts["level"],
        texts["text"],
        # The paper's levels lie 1 apart on 0–4; the three levels of OneStopEnglish take its ends and its middle.
        scale={"advanced": 0, "intermediate": 2, "elementary": 4},
        rated=rated,
        held_out=texts_of([*NEVER_TRAINED_ON, "wikisplit/test"]),
        sources=("onestopenglish/texts", "cefr-sp/wiki-auto"),
    )


def close_up(text: str) -> str:
    """Tokenised text as people write it: no space before a comma, none inside brackets."""
    for pattern, replacement in (*_QUOTES, *_CLOSE_UP):
        text = re.sub(pattern, replacement, text)
    return text


def texts_of(sets: Iterable[str]) -> Iterator[str]:
    """Every source and reference of named sets."""
    from plainly import data

    for evalset in map(data.load, sets):
        yield from (*evalset.sources, *chain.from_iterable(evalset.references))


def plain(text: str) -> str:
    """A text without case, spaces and punctuation: how texts are compared."""
    return _MARKS.sub("", text.casefold())
