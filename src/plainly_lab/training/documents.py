"""What the simplicity estimate learns from: sentences of levelled documents, softened labels, a second scale.

Levelled documents are the same articles at several reading levels. A document's level is wrong for many of its
sentences. Softening (Cripwell et al. 2023, section 2) spreads the labels of a level by the readability of each
sentence, so that the labels of neighbouring levels overlap and a model can tell the sentences of one level apart.

Preparing needs the data sets and the readability formulas; training needs only the file that ``LevelledTexts.save``
writes, so that a machine with a GPU but without a network can do it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.files import read_whole, write_whole
from plainly.core.metric import Floats
from plainly.metrics.readability import Fkgl
from plainly.text.sentences import split
from plainly_lab.training.harm import damage
from plainly_lab.training.recipe import SHIPPED, Recipe

# Texts of these sets are never trained on: metrics are evaluated on them.
NEVER_TRAINED_ON = (
    "asset/test", "asset/valid", "turkcorpus/test", "hsplit/test", "pwkp/test", "qats/test", "googlecomp/test",
)  # fmt: skip
_COLUMNS = ("article", "level", "text")
_CLOSE_UP = ((r" ([,.;:?!%)\]'’”])", r"\1"), (r"([(\[$£“‘]) ", r"\1"), (r" (n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1"))
_MARKS = re.compile(r"[\W_]+")
_QUOTES = ((r"`` ?", '"'), (r" ?''", '"'))
_LETTERS = re.compile(r"[^\W\d_]")
_FEWEST_WORDS = 3  # shorter sentences are left out
_CLAUSES = re.compile(r"(?:,|;|—| – |: )\s*|\s(?=(?:and|but|because|which|who|although|while|when|so)\s)")


@dataclass(frozen=True)
class LevelledSentences:
    """Sentences in columns: the article each comes from, and the level of its document."""

    sentences: tuple[str, ...]
    articles: tuple[str, ...]
    levels: Floats

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> LevelledSentences:
        sentences, articles = (tuple(compress(column, mask)) for column in (self.sentences, self.articles))
        return LevelledSentences(sentences, articles, self.levels[mask])

    @property
    def documents(self) -> tuple[tuple[str, float], ...]:
        """The document of each sentence: an article at a level."""
        return tuple(zip(self.articles, self.levels.tolist(), strict=True))


@dataclass(frozen=True)
class Parts:
    """Train, validation and test sentences; no article is in two of them."""

    train: LevelledSentences
    valid: LevelledSentences
    test: LevelledSentences


def cut_sentences(
    articles: Sequence[str],
    levels: Sequence[float | str],
    texts: Sequence[str],
    *,
    scale: Mapping[str, float] | None = None,
) -> LevelledSentences:
    """Split documents into sentences. ``scale`` maps names of levels to numbers."""
    rows: list[tuple[str, str, float]] = []
    for number, (article, name, text) in enumerate(zip(articles, levels, texts, strict=True), 1):
        try:
            level = float((scale or {}).get(str(name), name))
        except ValueError:
            raise BadInput(
                f"Document {number} has the level {name!r}, which is neither a number nor in the scale "
                f"({', '.join(scale or ()) or 'none'}). Pass its number: levels={{'advanced': 0, 'elementary': 4}}"
            ) from None
        for paragraph in text.splitlines():
            rows += (
                (" ".join(sentence.split()), article, level)
                for sentence in split(paragraph)
                if len(sentence.split()) >= _FEWEST_WORDS and _LETTERS.search(sentence)
            )
    if not rows:
        raise BadInput("The levelled texts have no sentences. Pass a text for each document.")
    sentences, articles, numbers = zip(*rows, strict=True)
    return LevelledSentences(sentences, articles, np.array(numbers, dtype=np.float64))


def split_by_article(levelled: LevelledSentences, *, valid: float, test: float, seed: int = 0) -> Parts:
    """Split by article, so that no version of a validation or test article is trained on."""
    names = sorted(set(levelled.articles))
    order = np.random.default_rng(seed).permutation(len(names))
    cuts = [round(len(names) * valid), round(len(names) * (valid + test))]
    if min(cuts[0], cuts[1] - cuts[0], len(names) - cuts[1]) < 1:
        raise BadInput(
            f"{len(names)} articles cannot be split into training, validation ({valid:.0%}) and test ({test:.0%}): "
            "each needs at least one. Pass more articles or larger shares."
        )
    part_of = {names[at]: part for part, indices in enumerate(np.split(order, cuts)) for at in indices}
    part = np.array([part_of[article] for article in levelled.articles])
    return Parts(train=levelled[part == 2], valid=levelled[part == 0], test=levelled[part == 1])


def soften(levels: Floats, grades: Floats, *, span: float = 2.0, exclude: float = 1.0) -> Floats:
    """Spread the labels of each level over ``span``, the most readable sentences highest.

    ``grades`` are Flesch-Kincaid grades. Sentences in the lowest and highest ``exclude`` percent of a level's grades,
    and sentences without a grade, get NaN. The paper's levels lie 1 apart and its span is 2, so that each level reaches
    its neighbours; use a larger span for levels that lie farther apart.
    """
    if span < 0 or not 0 <= exclude < 50:
        raise BadInput(f"Softening needs span ≥ 0 and 0 ≤ exclude < 50, not span {span} and exclude {exclude}.")
    labels = np.full(len(levels), np.nan)
    for level in np.unique(levels):
        members = np.flatnonzero((levels == level) & np.isfinite(grades))
        if not len(members):
            continue
        low, high = np.percentile(grades[members], [exclude, 100 - exclude])
        members = members[(grades[members] >= low) & (grades[members] <= high)]
        readability = -grades[members]
        reach = readability.max() - readability.min()
        # Eq. 2; where all grades are equal there is nothing to spread.
        offsets = span * (readability - readability.min()) / reach if reach > 0 else np.zeros(len(members))
        labels[members] = offsets - offsets.mean() + level  # Eq. 3
    return labels


@dataclass(frozen=True, slots=True)
class HeldOutQuality:
    """The paper's three measures. Errors are against the documents' own levels, never against softened labels."""

    mae: float
    doc_mae: float
    f1: float
    sentences: int
    documents: int


def quality(estimates: Floats, levels: Floats, documents: Sequence[Hashable]) -> HeldOutQuality:
    """Return mean absolute errors of sentences and of document averages, and weighted F1 of the nearest level."""
    scale = np.unique(levels)
    nearest = scale[np.abs(estimates[:, None] - scale).argmin(axis=1)]

    def weighted_f1(level: float) -> float:
        hits = ((nearest == level) & (levels == level)).sum()
        positives, size = (nearest == level).sum(), (levels == level).sum()
        return float(size * (2 * hits / (positives + size)))

    numbers = {document: at for at, document in enumerate(dict.fromkeys(documents))}
    owners = np.array([numbers[document] for document in documents])
    sizes = np.bincount(owners)
    average, truth = (np.bincount(owners, weights=values) / sizes for values in (estimates, levels))
    return HeldOutQuality(
        mae=float(np.abs(estimates - levels).mean()),
        doc_mae=float(np.abs(average - truth).mean()),
        f1=float(sum(map(weighted_f1, scale)) / len(levels)),
        sentences=len(levels),
        documents=len(sizes),
    )


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
        """The sentences to train on."""
        return self[[part == "train" for part in self.parts]]


class PreparedCorpus:
    """A corpus that is saved as one JSON file with everything that training needs; NaN is null."""

    command: ClassVar[str]  # that prepares it

    def save(self, path: Path) -> None:
        """Write the corpus to a file."""
        write_whole(path, msgspec.json.encode(self, enc_hook=lambda array: array.tolist()))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what ``save`` wrote."""
        try:
            return msgspec.json.decode(
                read_whole(path), type=cls, dec_hook=lambda _, values: np.array(values, dtype=float)
            )
        except ValueError as error:
            raise BadInput(
                f"{path} is not a prepared corpus ({error}). Prepare one: {cls.command} --prepare FILE"
            ) from None


@dataclass(frozen=True)
class LevelledTexts(PreparedCorpus):
    """Levelled sentences with their Flesch-Kincaid grades, and possibly a second scale."""

    levelled: LevelledSentences
    grades: Floats
    rated: RatedSentences | None = None
    sources: tuple[str, ...] = ()

    command: ClassVar[str] = "plainly train sle"

    @property
    def heads(self) -> tuple[str, ...]:
        """The scales that a model of these texts estimates; reading level is the first."""
        return ("sle",) if self.rated is None else ("sle", self.rated.name)


def levelled_texts(
    documents: Any = None, *, levels: Mapping[str, float] | None = None, recipe: Any = None
) -> LevelledTexts:
    """Read a table with the columns article, level and text; return texts that were prepared before as they are.

    The table is a file, a frame or a mapping of columns; ``levels`` maps named levels to numbers. Without documents,
    the recipe ``"shipped"`` uses the open corpora.
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
            row = where(column.index(None))
            raise BadInput(f"{row}: no {name}. Each document needs an article, a level and a text.")
    articles, texts = (list(map(str, columns[name])) for name in ("article", "text"))
    names: list[Any] = columns["level"]
    return from_documents(articles, names, texts, scale=levels)


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
    """Build a corpus from documents and the names of their levels, without the sentences in ``held_out``."""
    levelled = cut_sentences(articles, names, texts, scale=scale)
    secret = set(map(plain, held_out))
    levelled = levelled[np.array([plain(sentence) not in secret for sentence in levelled.sentences])]
    if rated is not None:
        rated = rated[[plain(sentence) not in secret for sentence in rated.sentences]]
    fkgl = Fkgl()
    rows = fkgl.measure(EvalSet.of(items=len(levelled)), levelled.sentences)
    return LevelledTexts(levelled, fkgl.score(rows)[:, 0], rated, tuple(sources))


def _shipped_texts() -> LevelledTexts:
    """Load the training data of the shipped model: OneStopEnglish, and as second scale CEFR-SP's Wiki-Auto part."""
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
        # The paper's levels lie 1 apart on 0–4; the three levels of OneStopEnglish are its ends and its middle.
        scale={"advanced": 0, "intermediate": 2, "elementary": 4},
        rated=rated,
        held_out=texts_of([*NEVER_TRAINED_ON, "wikisplit/test"]),
        sources=("onestopenglish/texts", "cefr-sp/wiki-auto"),
    )


def close_up(text: str) -> str:
    """Undo tokenisation: no space before a comma, none inside brackets."""
    for pattern, replacement in (*_QUOTES, *_CLOSE_UP):
        text = re.sub(pattern, replacement, text)
    return text


def texts_of(sets: Iterable[str]) -> Iterator[str]:
    """Yield every source and reference of named sets."""
    from plainly import data

    for evalset in map(data.load, sets):
        yield from (*evalset.sources, *chain.from_iterable(evalset.references))


def plain(text: str) -> str:
    """Return a text without case, spaces and punctuation, for comparisons."""
    return _MARKS.sub("", text.casefold())


@dataclass(frozen=True)
class Examples:
    """Texts and a row of targets for each, one per head; NaN where a text has none."""

    texts: tuple[str, ...]
    targets: Floats

    @classmethod
    def on_head(cls, texts: Iterable[str], values: Sequence[float] | Floats, *, head: int, heads: int) -> Examples:
        """Build examples with targets on one head."""
        targets = np.full((len(values), heads), np.nan)
        targets[:, head] = values
        return cls(tuple(texts), targets)

    def __add__(self, other: Examples) -> Examples:
        return Examples(self.texts + other.texts, np.concatenate([self.targets, other.targets]))


def labelled_examples(corpus: LevelledTexts, parts: Parts, recipe: Recipe, *, rng: np.random.Generator) -> Examples:
    """Return the training sentences with their labels, those of the second scale, joined and damaged ones."""
    grade = dict(zip(corpus.levelled.sentences, corpus.grades, strict=True))
    train, heads = parts.train, len(corpus.heads)
    labels = train.levels
    if recipe.softened:
        grades = np.array([grade[sentence] for sentence in train.sentences])
        labels = soften(train.levels, grades, span=recipe.span, exclude=recipe.exclude)
    indices: list[int] = np.flatnonzero(np.isfinite(labels)).tolist()
    rows = Examples.on_head((train.sentences[at] for at in indices), labels[indices], head=0, heads=heads)
    if corpus.rated is not None:
        rows += rated_examples(corpus, times=recipe.repeats)
    pairs = _neighbours(train, indices)
    if recipe.joined and pairs:
        pairs = [pairs[at] for at in rng.choice(len(pairs), size=int(recipe.joined * len(pairs)), replace=False)]
        means = [(labels[a] + labels[b]) / 2 - recipe.joined_cost for a, b in pairs]
        rows += Examples.on_head(_join(train.sentences, pairs), means, head=0, heads=heads)
    return rows + damage_examples(rows, share=recipe.noise, rng=rng)


def rated_examples(corpus: LevelledTexts, *, times: int) -> Examples:
    """Return the training sentences of the second scale ``times`` times, every second time in tokenised form."""
    if corpus.rated is None:
        raise BadInput("These texts have no second scale to learn from.")
    scale, heads = corpus.rated.training, len(corpus.heads)
    texts = [scale.spaced if turn % 2 and scale.spaced else scale.sentences for turn in range(times)]
    return Examples.on_head(chain.from_iterable(texts), scale.values * times, head=1, heads=heads)


def unlabelled_texts(
    corpus: LevelledTexts, parts: Parts, recipe: Recipe, *, rng: np.random.Generator
) -> tuple[str, ...]:
    """Return texts for teachers to label: sentences, clauses and, if they learnt from such, joined neighbours."""
    train = parts.train
    texts = list(train.sentences)
    if recipe.joined:
        texts += _join(train.sentences, _neighbours(train, range(len(train))))
    if corpus.rated is not None:
        scale = corpus.rated.training
        texts += [*scale.sentences, *scale.spaced]
        if recipe.joined:
            texts += _join(scale.sentences, enumerate(rng.permutation(len(scale.sentences))))
    for sentence in tuple(texts):
        clauses = [clause.strip() for clause in _CLAUSES.split(sentence)]
        clauses = [clause for clause in clauses if 4 <= len(clause.split()) <= 25]
        if len(clauses) > 1 and rng.random() < 0.4:
            clause = clauses[rng.integers(len(clauses))]
            texts.append(f"{clause[0].upper()}{clause[1:].rstrip('.!?')}.")
    return tuple(texts)


def damage_examples(rows: Examples, *, share: float, rng: np.random.Generator) -> Examples:
    """Return a share of the rows with damaged texts and the same targets."""
    whole, rest = divmod(share, 1.0)
    indices = list(range(len(rows.texts))) * int(whole)
    indices += rng.choice(len(rows.texts), size=int(rest * len(rows.texts)), replace=False).tolist()
    return Examples(tuple(damage(rows.texts[at], rng) for at in indices), rows.targets[indices])


def _neighbours(levelled: LevelledSentences, indices: Sequence[int]) -> list[tuple[int, int]]:
    documents = levelled.documents
    return [(a, b) for a, b in pairwise(indices) if b == a + 1 and documents[a] == documents[b]]


def _join(sentences: Sequence[str], pairs: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{sentences[a]} {sentences[b]}" for a, b in pairs]
