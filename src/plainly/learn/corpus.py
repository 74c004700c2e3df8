"""What is trained on: levelled documents, and sentences rated on a second scale, prepared once and kept as one file.

Preparing needs the data sets and the readability formulas; training needs only this file, so that a machine with a GPU
but without a network can do it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from plainly.errors import BadInput
from plainly.learn import levels
from plainly.learn.levels import Levelled

# Sentences of these sets are never trained on: metrics are judged on them.
HELD_OUT = (
    "asset/test",
    "asset/valid",
    "turkcorpus/test",
    "hsplit/test",
    "pwkp/test",
    "qats/test",
    "wikisplit/test",
    "googlecomp/test",
)
_CLOSE_UP = ((r" ([,.;:?!%)\]'’”])", r"\1"), (r"([(\[$£“‘]) ", r"\1"), (r" (n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1"))
_QUOTES = ((r"`` ?", '"'), (r" ?''", '"'))


@dataclass(frozen=True)
class Rated:
    """Sentences rated one by one on a scale of their own, with the part (train, dev, test) each belongs to.

    ``spaced`` are the same sentences as they were tokenised, or empty; outputs to be scored come in both forms.
    """

    name: str
    sentences: tuple[str, ...]
    spaced: tuple[str, ...]
    values: tuple[float, ...]
    parts: tuple[str, ...]

    def __getitem__(self, kept: Sequence[bool]) -> Rated:
        chosen = [at for at, keep in enumerate(kept) if keep]
        return Rated(
            name=self.name,
            sentences=tuple(self.sentences[at] for at in chosen),
            spaced=tuple(self.spaced[at] for at in chosen) if self.spaced else (),
            values=tuple(self.values[at] for at in chosen),
            parts=tuple(self.parts[at] for at in chosen),
        )


@dataclass(frozen=True)
class Corpus:
    """Levelled sentences with their Flesch-Kincaid grades, and one second scale or none."""

    levelled: Levelled
    grades: tuple[float, ...]
    rated: Rated | None = None
    sources: tuple[str, ...] = ()

    @property
    def heads(self) -> tuple[str, ...]:
        """The scales that a model of this corpus estimates; reading level is the first."""
        return ("sle",) if self.rated is None else ("sle", self.rated.name)

    def save(self, path: Path) -> None:
        """One JSON file with everything that training needs."""
        found = {
            "levelled": {
                "sentences": self.levelled.sentences,
                "articles": self.levelled.articles,
                "levels": self.levelled.levels.tolist(),
            },
            "grades": [grade if np.isfinite(grade) else None for grade in self.grades],
            "rated": asdict(self.rated) if self.rated else None,
            "sources": self.sources,
        }
        path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """What ``save`` wrote."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            columns = found["levelled"]
            rated = found["rated"]
            return cls(
                levelled=Levelled(
                    tuple(columns["sentences"]), tuple(columns["articles"]), np.array(columns["levels"], dtype=float)
                ),
                grades=tuple(np.nan if grade is None else grade for grade in found["grades"]),
                rated=Rated(rated["name"], *(tuple(rated[key]) for key in ("sentences", "spaced", "values", "parts")))
                if rated
                else None,
                sources=tuple(found["sources"]),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise BadInput(
                f"{path} is not a prepared corpus ({error}). Make one: plainly train sle --prepare FILE"
            ) from None


def from_documents(
    articles: Sequence[str],
    document_levels: Sequence[float | str],
    texts: Sequence[str],
    *,
    scale: Mapping[str, float] | None = None,
    rated: Rated | None = None,
    held_out: Iterable[str] = (),
    sources: Sequence[str] = (),
) -> Corpus:
    """A corpus from anyone's levelled documents; sentences that are among ``held_out`` are left out."""
    levelled = levels.from_texts(articles, document_levels, texts, scale=scale)
    secret = {_plain(sentence) for sentence in held_out}
    levelled = levelled[np.array([_plain(sentence) not in secret for sentence in levelled.sentences])]
    if rated is not None:
        rated = rated[[_plain(sentence) not in secret for sentence in rated.sentences]]
    return Corpus(levelled, tuple(levels.grades(levelled.sentences).tolist()), rated, tuple(sources))


def open_corpus() -> Corpus:
    """What the shipped model was trained on: OneStopEnglish, and the Wiki-Auto part of CEFR-SP as second scale."""
    from plainly import data

    texts = data.table("onestopenglish/texts")
    cefr = data.table("cefr-sp/wiki-auto")
    rated = Rated(
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
        held_out=_held_out(),
        sources=("onestopenglish/texts", "cefr-sp/wiki-auto"),
    )


def close_up(text: str) -> str:
    """Tokenised text as people write it: no space before a comma, none inside brackets."""
    for pattern, replacement in (*_QUOTES, *_CLOSE_UP):
        text = re.sub(pattern, replacement, text)
    return text


def _held_out() -> Iterable[str]:
    from plainly import data

    for name in HELD_OUT:
        evalset = data.load(name)
        yield from evalset.sources
        for references in evalset.references:
            yield from references


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
