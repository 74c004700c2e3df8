"""What the model of ``quality`` learns from: sound pairs, rated pairs, and harmed versions of both.

Preparing needs the data sets; training needs only the file that ``save`` writes, so that a machine with a GPU but no
network can do it. No source and no output of a set that metrics are evaluated on is in a sound pair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.metric import Floats
from plainly_lab.training.documents import NEVER_TRAINED_ON, PreparedCorpus, close_up, plain, texts_of
from plainly_lab.training.harm import Stock, harm
from plainly_lab.training.recipe import JudgeRecipe

HEADS = ("overall", "fluency", "meaning", "simplicity", "fact")
_LONGEST = 2500  # characters of source and output together; longer pairs do not fit into the window


class JudgedPairs(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """Pairs of source and output with a row of targets for each, one per head; NaN where there is none."""

    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    targets: Floats

    @classmethod
    def of(cls, sources: Sequence[str], outputs: Sequence[str], **ratings: Floats) -> JudgedPairs:
        """Build pairs from the ratings of some heads."""
        targets = np.full((len(sources), len(HEADS)), np.nan)
        for name, values in ratings.items():
            targets[:, HEADS.index(name)] = values
        return cls(tuple(sources), tuple(outputs), targets)

    def __post_init__(self) -> None:
        targets = self.targets.reshape(len(self.sources), len(HEADS))
        msgspec.structs.force_setattr(self, "targets", targets)

    def __len__(self) -> int:
        return len(self.sources)

    def __add__(self, other: JudgedPairs) -> JudgedPairs:
        targets = np.concatenate([self.targets, other.targets])
        return JudgedPairs(self.sources + other.sources, self.outputs + other.outputs, targets)

    def __getitem__(self, indices: Sequence[int] | npt.NDArray[Any]) -> JudgedPairs:
        rows = np.arange(len(self))[indices].tolist()
        sources, outputs = (tuple(texts[at] for at in rows) for texts in (self.sources, self.outputs))
        return JudgedPairs(sources, outputs, self.targets[rows])


@dataclass(frozen=True)
class PairCorpus(PreparedCorpus):
    """Sound pairs (the first text is harder to read than the second), contradictions, rated pairs, and their sets.

    ``reworded`` are texts and versions of them whose writers stated how much of the meaning they keep.
    """

    sound: tuple[tuple[str, str], ...]
    contradictions: tuple[tuple[str, str], ...]
    rated: JudgedPairs
    sets: tuple[str, ...]
    reworded: JudgedPairs = field(default_factory=lambda: JudgedPairs.of((), ()))

    command: ClassVar[str] = "plainly train quality"

    def split(self, *, held_out: float, seed: int) -> tuple[PairCorpus, JudgedPairs]:
        """Return the corpus without the rated pairs of a share of the sources, and those pairs."""
        keys = [plain(source) for source in self.rated.sources]
        names = sorted(set(keys))
        order = np.random.default_rng(seed).permutation(len(names))
        secret = {names[at] for at in order[: round(held_out * len(names))]}
        is_secret = np.array([key in secret for key in keys], dtype=bool)
        return replace(self, rated=self.rated[~is_secret]), self.rated[is_secret]


def prepare(recipe: JudgeRecipe) -> PairCorpus:
    """Build the corpus from the sets that a recipe names, without sound pairs that metrics are evaluated on."""
    from plainly import data

    for name in recipe.ratings:
        if name not in RATINGS:
            raise BadInput(f"The recipe names unknown ratings {name!r}. Allowed: {', '.join(RATINGS)}")
    secret = set(map(plain, texts_of(name for name in NEVER_TRAINED_ON if name not in recipe.pairs)))
    secret |= set(map(plain, data.table("simplicity-da/averages")["orig_sent"]))
    sound = [pair for name in recipe.pairs for pair in _load_sound(name)]
    sound = [pair for pair in sound if not secret & set(map(plain, pair)) and len(pair[0]) + len(pair[1]) <= _LONGEST]
    tables = map(data.table, recipe.contradictions)
    against = [pair for table in tables for pair in zip(table["sentence"], table["negated"], strict=True)]
    rated = [RATINGS[name](data.table(name)) for name in recipe.ratings]
    return PairCorpus(
        tuple(dict.fromkeys(sound)),
        tuple(dict.fromkeys(pair for pair in against if plain(pair[0]) not in secret)),
        sum(rated, JudgedPairs.of((), ())),
        (*recipe.pairs, *recipe.contradictions, *recipe.ratings),
        load_reworded() if recipe.reworded > 0 else JudgedPairs.of((), ()),
    )


def load_reworded() -> JudgedPairs:
    """Load ``reworded.jsonl``, written for this project: complete versions, incomplete ones and wrong ones.

    Each error occurs once in the words of the source and once in those of the right version, so that words alone do not
    reveal it.
    """
    lines = (Path(__file__).parent / "reworded.jsonl").read_text(encoding="utf-8").splitlines()
    # How much of the meaning is kept, and whether a fact is wrong.
    truth = {"same": (1.0, 0.0), "less": (0.75, 0.0), "wrong": (0.4, 1.0), "off": (0.4, 1.0)}
    items = map(json.loads, lines)
    rows = [(item["source"], item[name], *truth[name]) for item in items for name in truth if name in item]
    sources, outputs, meaning, fact = zip(*rows, strict=True)
    return JudgedPairs.of(sources, outputs, fluency=np.ones(len(rows)), meaning=np.array(meaning), fact=np.array(fact))


def _load_sound(name: str) -> Iterable[tuple[str, str]]:
    from plainly import data

    if name == "onestopenglish/pairs":
        table = data.table(name)
        for levels, source, target in zip(table["levels"], table["source"], table["target"], strict=True):
            yield (target, source) if levels == "elementary-intermediate" else (source, target)
    elif name == "cefr-sp/wiki-auto":  # single sentences: their only sound pair is a copy
        table = data.table(name)
        train = (text for text, part in zip(table["sentence"], table["part"], strict=True) if part == "train")
        yield from ((text, text) for text in map(close_up, train))
    else:
        evalset = data.load(name)
        for source, references in zip(evalset.sources, evalset.references, strict=True):
            yield from ((source, reference) for reference in references)


def _read_simpeval(table: Any) -> JudgedPairs:
    """Read SimpEval-past: the mean of five raters' z-scores; −2 and lower is 0, 1.25 and higher is 1."""
    ratings = np.mean([np.array(table[f"rating_{rater}_z_score"], dtype=float) for rater in range(1, 6)], axis=0)
    overall = np.clip((ratings + 2) / 3.25, 0, 1)
    return JudgedPairs.of(table["original"], table["processed_generation"], overall=overall)


def _read_acl2018(table: Any) -> JudgedPairs:
    """Read the ACL 2018 ratings: grammaticality and meaning from 1 to 5, simplicity from −2 to 2, by three raters.

    The outputs are those of the authors, tokenised and in lower case; spaces are closed up. Identity is the source.
    """
    from plainly import data

    first70 = data.load("hsplit/first70")
    outputs = {"Identity": tuple(first70.sources)}
    for file in data.card("outputs/acl2018-first70").files:
        outputs[file.system] = tuple(data.outputs("hsplit/first70", file.system))
    columns = (table[name] for name in ("system", "item", "dimension", "rating"))
    ratings = (
        ((system, item - 1), dimension, rating)
        for system, item, dimension, rating in zip(*columns, strict=True)
        if system in outputs and np.isfinite(rating)
    )
    keys, (fluency, meaning, simplicity) = _average(ratings, ("grammaticality", "meaning", "simplicity"))
    return JudgedPairs.of(
        [close_up(first70.sources[item]) for _, item in keys],
        [close_up(outputs[system][item]) for system, item in keys],
        fluency=(fluency - 1) / 4,
        meaning=(meaning - 1) / 4,
        simplicity=(simplicity + 2) / 4,
    )


def _read_asset(table: Any) -> JudgedPairs:
    """Read ASSET's ratings: fluency, meaning and simplicity from 0 to 100, a row for each rater and question."""
    columns = (table[name] for name in ("original", "simplification", "aspect", "rating"))
    ratings = (
        ((source, output), aspect, float(rating)) for source, output, aspect, rating in zip(*columns, strict=True)
    )
    pairs, (fluency, meaning, simplicity) = _average(ratings, ("fluency", "meaning", "simplicity"))
    sources, outputs = zip(*pairs, strict=True)
    return JudgedPairs.of(sources, outputs, fluency=fluency / 100, meaning=meaning / 100, simplicity=simplicity / 100)


def _average(ratings: Iterable[tuple[Any, str, float]], names: Sequence[str]) -> tuple[list[Any], list[Floats]]:
    """Average ratings (item, dimension, value) over raters; return the items rated on all dimensions, and the means."""
    by_item: dict[Any, dict[str, list[float]]] = {}
    for item, name, value in ratings:
        by_item.setdefault(item, {}).setdefault(name, []).append(value)
    complete = [item for item, values in by_item.items() if all(name in values for name in names)]
    return complete, [np.array([np.mean(by_item[item][name]) for item in complete]) for name in names]


RATINGS: Mapping[str, Callable[[Any], JudgedPairs]] = {
    "simpeval/past": _read_simpeval,
    "acl2018/ratings": _read_acl2018,
    "asset/ratings": _read_asset,
}


@dataclass(frozen=True)
class HarmedPairs:
    """Pairs with the truth about each: fluency and meaning that are left, and whether a fact is wrong."""

    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    truth: Floats  # (n, 3): fluency, meaning, fact; NaN where it is unknown
    is_sound: Floats  # whether the output is undamaged English, whose reading level is meaningful
    origin: npt.NDArray[np.str_]  # "rated" where people rated the pair as it is, "reworded", or ""


def harm_pairs(
    corpus: PairCorpus, *, copies: float, rng: np.random.Generator, rewrites: Sequence[tuple[str, str]] = ()
) -> HarmedPairs:
    """Return every sound pair, some reversed, some joined with others, copies of sources, and harmed versions of each.

    Rated pairs are included and harmed too, since they are real outputs of systems; the only truth about them is that
    harm made them worse. Nothing is known about the ``rewrites`` of a language model.
    """
    stock = Stock.of([output for _, output in corpus.sound])
    rows = [*_from_sound(corpus, stock, copies, rng), *_from_contradictions(corpus, stock, rng)]
    rows += _from_rated(corpus, stock, copies, rng)
    rows += _from_reworded(corpus, stock, copies, rng)
    rows += [(source, output, np.nan, np.nan, np.nan, True, "") for source, output in rewrites]
    sources, outputs, *truth, is_sound, origin = zip(*rows, strict=True)
    numbers, sound = np.array(truth, dtype=float).T, np.array(is_sound, dtype=float)
    return HarmedPairs(sources, outputs, numbers, sound, np.array(origin, dtype=np.str_))


_Row = tuple[str, str, float, float, float, bool, str]  # source, output, fluency, meaning, fact, is_sound, origin


def _from_sound(corpus: PairCorpus, stock: Stock, copies: float, rng: np.random.Generator) -> Iterator[_Row]:
    pairs = list(corpus.sound)
    for _ in range(len(pairs) // 6):  # paragraphs
        sample = [corpus.sound[at] for at in rng.integers(0, len(corpus.sound), size=int(rng.integers(2, 5)))]
        source, output = (" ".join(texts) for texts in zip(*sample, strict=True))
        if len(source) + len(output) <= _LONGEST:
            pairs.append((source, output))
    for source, output in pairs:
        yield source, output, 1.0, 1.0, 0.0, True, ""
        if rng.random() < 0.25:
            yield source, source, 1.0, 1.0, 0.0, True, ""
        if rng.random() < 0.25:
            yield output, source, 1.0, 1.0, np.nan, True, ""  # reversed, what was left out is now an addition
        for _ in range(rng.poisson(copies)):
            if (result := harm(source if rng.random() < 0.3 else output, stock, rng)) is None:
                continue
            kind, text = result
            fluency, meaning, fact = 1 - text.fluency, 1 - text.meaning, text.fact
            if rng.random() < 0.25 and (more := harm(text.text, stock, rng)) is not None:
                kind, text = "", more[1]
                fluency, meaning = fluency * (1 - text.fluency), meaning * (1 - text.meaning)
                fact = max(fact, text.fact) if np.isfinite(fact) and np.isfinite(text.fact) else np.nan
            yield source, text.text, fluency, meaning, fact, kind in ("drop_aside", "drop_sentence"), ""


def _from_reworded(corpus: PairCorpus, stock: Stock, copies: float, rng: np.random.Generator) -> Iterator[_Row]:
    pairs = corpus.reworded
    for source, output, (_, fluency, meaning, _, fact) in zip(pairs.sources, pairs.outputs, pairs.targets, strict=True):
        yield source, output, fluency, meaning, fact, True, "reworded"
        if meaning == 1:
            yield output, source, 1.0, 1.0, 0.0, True, "reworded"
            yield source, source, 1.0, 1.0, 0.0, True, ""
        for _ in range(rng.poisson(copies / 2)):
            if (result := harm(output, stock, rng)) is not None:
                text = result[1]
                wrong = max(fact, text.fact) if np.isfinite(text.fact) else np.nan
                yield source, text.text, fluency * (1 - text.fluency), meaning * (1 - text.meaning), wrong, False, ""


def _from_contradictions(corpus: PairCorpus, stock: Stock, rng: np.random.Generator) -> Iterator[_Row]:
    order = rng.permutation(len(corpus.contradictions))[: len(corpus.sound) // 2]
    for sentence, negation in (corpus.contradictions[at] for at in order.tolist()):
        yield sentence, negation, 0.95, 0.5, 1.0, False, ""
        if rng.random() < 0.5:
            yield sentence, sentence, 1.0, 1.0, 0.0, False, ""
        if (result := harm(negation, stock, rng)) and result[0] in ("strip_case", "drop_aside", "drop_sentence"):
            yield sentence, result[1].text, 0.9, 0.45, 1.0, False, ""


def _from_rated(corpus: PairCorpus, stock: Stock, copies: float, rng: np.random.Generator) -> Iterator[_Row]:
    for source, output in zip(corpus.rated.sources, corpus.rated.outputs, strict=True):
        yield source, output, np.nan, np.nan, np.nan, True, "rated"
        for _ in range(rng.poisson(copies / 2)):
            if (result := harm(output, stock, rng)) is not None:
                yield source, result[1].text, np.nan, np.nan, 1.0 if result[1].fact == 1 else np.nan, False, ""
