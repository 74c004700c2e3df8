"""What the judge of source and output learns from: sound pairs, pairs that people rated, and what harm makes of them.

Preparing needs the data sets; training needs only the file that ``save`` writes, so that a machine with a GPU but no
network can do it. No source and no output of a set that metrics are judged on is in a sound pair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly_lab.training.documents import NEVER_TRAINED_ON, close_up, plain, texts_of
from plainly_lab.training.harm import Stock, harm
from plainly_lab.training.recipe import JudgeRecipe

HEADS = ("overall", "fluency", "meaning", "simplicity", "fact")
_LONGEST = 2500  # characters of source and output together; longer pairs do not fit into the window


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs of source and output with a row of targets for each, one per head; NaN where there is none."""

    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    targets: Floats

    def __len__(self) -> int:
        return len(self.sources)

    def __add__(self, other: JudgedPairs) -> JudgedPairs:
        targets = np.concatenate([self.targets, other.targets])
        return JudgedPairs(self.sources + other.sources, self.outputs + other.outputs, targets)

    def __getitem__(self, places: Sequence[int] | Floats) -> JudgedPairs:
        at = np.asarray(places)
        chosen = (np.flatnonzero(at) if at.dtype == bool else at).tolist()
        return JudgedPairs(
            tuple(self.sources[i] for i in chosen), tuple(self.outputs[i] for i in chosen), self.targets[chosen]
        )

    def columns(self) -> list[Any]:
        """Sources, outputs and targets as JSON holds them; ``of`` reads them again."""
        targets = [[value if np.isfinite(value) else None for value in row] for row in self.targets.tolist()]
        return [self.sources, self.outputs, targets]

    @classmethod
    def of(cls, columns: Sequence[Any]) -> JudgedPairs:
        sources, outputs, targets = columns
        return cls(tuple(sources), tuple(outputs), np.array(targets, dtype=float).reshape(len(sources), len(HEADS)))


def no_pairs() -> JudgedPairs:
    return JudgedPairs((), (), np.empty((0, len(HEADS))))


@dataclass(frozen=True)
class PairCorpus:
    """Sound pairs (the first is harder to read than the second), contradictions, and rated pairs with their sets.

    ``reworded`` are texts said again in other words, with what they keep of the meaning known to their writers.
    """

    sound: tuple[tuple[str, str], ...]
    contradictions: tuple[tuple[str, str], ...]
    rated: JudgedPairs
    sets: tuple[str, ...]
    reworded: JudgedPairs = field(default_factory=no_pairs)

    def save(self, path: Path) -> None:
        """One JSON file with everything that training needs."""
        content = {
            "sound": self.sound,
            "contradictions": self.contradictions,
            "rated": self.rated.columns(),
            "sets": self.sets,
            "reworded": self.reworded.columns(),
        }
        write_whole(path, json.dumps(content, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> PairCorpus:
        """What ``save`` wrote."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            sound, contradictions = (tuple(map(tuple, content[name])) for name in ("sound", "contradictions"))
            rated, reworded = (JudgedPairs.of(content[name]) for name in ("rated", "reworded"))
            return cls(sound, contradictions, rated, tuple(content["sets"]), reworded)
        except (KeyError, ValueError, TypeError) as error:
            raise BadInput(
                f"{path} holds no prepared pairs ({error}). Make them: plainly train quality --prepare FILE"
            ) from None

    def split(self, *, held_out: float, seed: int) -> tuple[PairCorpus, JudgedPairs]:
        """The corpus without the rated pairs of a share of the sources, and those pairs."""
        keys = [plain(source) for source in self.rated.sources]
        names = sorted(set(keys))
        chosen = np.random.default_rng(seed).permutation(len(names))[: round(held_out * len(names))]
        secret = {names[at] for at in chosen}
        out = np.array([key in secret for key in keys], dtype=bool)
        return replace(self, rated=self.rated[~out]), self.rated[out]


def prepare(recipe: JudgeRecipe) -> PairCorpus:
    """The corpus from the sets that a recipe names; what metrics are judged on is left out of the sound pairs."""
    from plainly import data

    for name in recipe.ratings:
        if name not in RATINGS:
            raise BadInput(f"The recipe names ratings {name!r}. A judge learns from these: {', '.join(RATINGS)}")
    secret = set(map(plain, texts_of(name for name in NEVER_TRAINED_ON if name not in recipe.pairs)))
    secret |= set(map(plain, data.table("simplicity-da/averages")["orig_sent"]))
    sound = [pair for name in recipe.pairs for pair in _sound(name)]
    sound = [pair for pair in sound if not secret & set(map(plain, pair)) and len(pair[0]) + len(pair[1]) <= _LONGEST]
    tables = map(data.table, recipe.contradictions)
    against = [pair for table in tables for pair in zip(table["sentence"], table["negated"], strict=True)]
    rated = [RATINGS[name](data.table(name)) for name in recipe.ratings]
    return PairCorpus(
        tuple(dict.fromkeys(sound)),
        tuple(dict.fromkeys(pair for pair in against if plain(pair[0]) not in secret)),
        sum(rated, no_pairs()),
        (*recipe.pairs, *recipe.contradictions, *recipe.ratings),
        written() if recipe.reworded > 0 else no_pairs(),
    )


def written() -> JudgedPairs:
    """The texts of ``reworded.jsonl``, which were written for this project: all said, something left out, or wrong.

    What is wrong is said once in the words of the source and once in those of the right version: words tell nothing.
    """
    lines = (Path(__file__).parent / "reworded.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    # How much of the meaning is kept, and whether a fact is wrong.
    known = {"same": (1.0, 0.0), "less": (0.75, 0.0), "wrong": (0.4, 1.0), "off": (0.4, 1.0)}
    rows = [(item["source"], item[name], *known[name]) for item in items for name in known if name in item]
    sources, outputs, meaning, fact = zip(*rows, strict=True)
    return _rated(sources, outputs, fluency=np.ones(len(rows)), meaning=np.array(meaning), fact=np.array(fact))


def _sound(name: str) -> Iterable[tuple[str, str]]:
    from plainly import data

    if name == "onestopenglish/pairs":
        table = data.table(name)
        for levels, source, target in zip(table["levels"], table["source"], table["target"], strict=True):
            yield (target, source) if levels == "elementary-intermediate" else (source, target)
    elif name == "cefr-sp/wiki-auto":  # single sentences: a copy is the only sound pair they give
        table = data.table(name)
        train = (text for text, part in zip(table["sentence"], table["part"], strict=True) if part == "train")
        yield from ((text, text) for text in map(close_up, train))
    else:
        evalset = data.load(name)
        for source, references in zip(evalset.sources, evalset.references, strict=True):
            yield from ((source, reference) for reference in references)


def _past(table: Any) -> JudgedPairs:
    """SimpEval-past: the mean of five raters' z-scores; −2 and lower is 0, 1.25 and higher is 1."""
    ratings = np.mean([np.array(table[f"rating_{rater}_z_score"], dtype=float) for rater in range(1, 6)], axis=0)
    return _rated(table["original"], table["processed_generation"], overall=np.clip((ratings + 2) / 3.25, 0, 1))


def _acl2018(table: Any) -> JudgedPairs:
    """The ACL 2018 ratings: grammaticality and meaning from 1 to 5, simplicity from −2 to 2, the mean of three raters.

    The outputs are those of the authors, tokenised and in lower case; spaces are closed up. Identity is the source.
    """
    from plainly import data

    first70 = data.load("hsplit/first70")
    written = {"Identity": tuple(first70.sources)}
    for file in data.card("outputs/acl2018-first70").files:
        written[file.system] = tuple(data.outputs("hsplit/first70", file.system))
    values: dict[tuple[str, int], dict[str, list[float]]] = {}
    columns = (table[name] for name in ("system", "item", "dimension", "rating"))
    for system, item, dimension, rating in zip(*columns, strict=True):
        if system in written and np.isfinite(rating):
            values.setdefault((system, item - 1), {}).setdefault(dimension, []).append(rating)
    asked = (("grammaticality", 1.0), ("meaning", 1.0), ("simplicity", -2.0))
    complete = [key for key, rated in values.items() if all(name in rated for name, _ in asked)]
    fluency, meaning, simplicity = (
        np.array([(np.mean(values[key][name]) - least) / 4 for key in complete]) for name, least in asked
    )
    sources = [close_up(first70.sources[item]) for _, item in complete]
    outputs = [close_up(written[system][item]) for system, item in complete]
    return _rated(sources, outputs, fluency=fluency, meaning=meaning, simplicity=simplicity)


def _by_rater(table: Any) -> JudgedPairs:
    """ASSET's ratings: fluency, meaning and simplicity from 0 to 100, a row for each rater and question."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    columns = (table[name] for name in ("original", "simplification", "aspect", "rating"))
    for source, output, aspect, rating in zip(*columns, strict=True):
        values.setdefault((source, output), {}).setdefault(aspect, []).append(float(rating))
    means = {
        aspect: np.array([np.mean(by_aspect[aspect]) / 100 for by_aspect in values.values()])
        for aspect in ("fluency", "meaning", "simplicity")
    }
    return _rated([source for source, _ in values], [output for _, output in values], **means)


def _rated(sources: Sequence[str], outputs: Sequence[str], **ratings: Floats) -> JudgedPairs:
    targets = np.full((len(sources), len(HEADS)), np.nan)
    for name, values in ratings.items():
        targets[:, HEADS.index(name)] = values
    return JudgedPairs(tuple(sources), tuple(outputs), targets)


RATINGS: Mapping[str, Callable[[Any], JudgedPairs]] = {
    "simpeval/past": _past,
    "acl2018/ratings": _acl2018,
    "asset/ratings": _by_rater,
}


@dataclass(frozen=True)
class HarmedPairs:
    """Pairs with what is known of each: fluency and meaning kept, whether a fact is wrong, and whether it is sound."""

    sources: tuple[str, ...]
    outputs: tuple[str, ...]
    known: Floats  # (n, 3): fluency, meaning, fact; NaN where nobody knows
    sound: Floats  # whether the output is undamaged English, whose reading level means something
    origin: npt.NDArray[np.str_]  # "rated" where people rated the pair as it stands, "reworded", or ""


def harmed(
    corpus: PairCorpus, *, copies: float, rng: np.random.Generator, offered: Sequence[tuple[str, str]] = ()
) -> HarmedPairs:
    """Every sound pair, some turned round, some joined with others, copies of sources; and each harmed several times.

    Pairs that people rated are shown and harmed too, since they are what systems write; what is known of them is only
    that harm made them worse. Of what a rewriter ``offered`` nothing is known.
    """
    stock = Stock.of([output for _, output in corpus.sound])
    rows = [*_from_sound(corpus, stock, copies, rng), *_from_contradictions(corpus, stock, rng)]
    rows += _from_rated(corpus, stock, copies, rng)
    rows += _from_reworded(corpus, stock, copies, rng)
    rows += [(source, output, np.nan, np.nan, np.nan, True, "") for source, output in offered]
    sources, outputs, *known, sound, origin = zip(*rows, strict=True)
    return HarmedPairs(
        sources, outputs, np.array(known, dtype=float).T, np.array(sound, dtype=float), np.array(origin, dtype=np.str_)
    )


_Row = tuple[str, str, float, float, float, bool, str]


def _from_sound(corpus: PairCorpus, stock: Stock, copies: float, rng: np.random.Generator) -> Iterator[_Row]:
    pairs = list(corpus.sound)
    for _ in range(len(pairs) // 6):  # paragraphs
        chosen = [corpus.sound[at] for at in rng.integers(0, len(corpus.sound), size=int(rng.integers(2, 5)))]
        source, output = (" ".join(texts) for texts in zip(*chosen, strict=True))
        if len(source) + len(output) <= _LONGEST:
            pairs.append((source, output))
    for source, output in pairs:
        yield source, output, 1.0, 1.0, 0.0, True, ""
        if rng.random() < 0.25:
            yield source, source, 1.0, 1.0, 0.0, True, ""
        if rng.random() < 0.25:
            yield output, source, 1.0, 1.0, np.nan, True, ""  # what was left out is now put in
        for _ in range(rng.poisson(copies)):
            begun = source if rng.random() < 0.3 else output
            if (result := harm(begun, stock, rng)) is None:
                continue
            kind, text = result
            fluency, meaning, fact = 1 - text.fluency, 1 - text.meaning, text.fact
            if rng.random() < 0.25 and (more := harm(text.text, stock, rng)) is not None:
                text = more[1]
                fluency, meaning = fluency * (1 - text.fluency), meaning * (1 - text.meaning)
                fact = max(fact, text.fact) if np.isfinite(fact) and np.isfinite(text.fact) else np.nan
                kind = ""
            yield source, text.text, fluency, meaning, fact, kind in ("aside_lost", "sentence_lost"), ""


def _from_reworded(corpus: PairCorpus, stock: Stock, copies: float, rng: np.random.Generator) -> Iterator[_Row]:
    written = corpus.reworded
    for source, output, (_, fluency, meaning, _, fact) in zip(
        written.sources, written.outputs, written.targets, strict=True
    ):
        yield source, output, fluency, meaning, fact, True, "reworded"
        if meaning == 1:
            yield output, source, 1.0, 1.0, 0.0, True, "reworded"
            yield source, source, 1.0, 1.0, 0.0, True, ""
        for _ in range(rng.poisson(copies / 2)):
            if (result := harm(output, stock, rng)) is not None:
                text, lost, changed, wrong = result[1]
                wrong = max(fact, wrong) if np.isfinite(wrong) else np.nan
                yield source, text, fluency * (1 - lost), meaning * (1 - changed), wrong, False, ""


def _from_contradictions(corpus: PairCorpus, stock: Stock, rng: np.random.Generator) -> Iterator[_Row]:
    few = rng.permutation(len(corpus.contradictions))[: len(corpus.sound) // 2]
    for sentence, negated in (corpus.contradictions[at] for at in few.tolist()):
        yield sentence, negated, 0.95, 0.5, 1.0, False, ""
        if rng.random() < 0.5:
            yield sentence, sentence, 1.0, 1.0, 0.0, False, ""
        if (kept := harm(negated, stock, rng)) is not None and kept[0] in ("bare", "aside_lost", "sentence_lost"):
            yield sentence, kept[1].text, 0.9, 0.45, 1.0, False, ""


def _from_rated(corpus: PairCorpus, stock: Stock, copies: float, rng: np.random.Generator) -> Iterator[_Row]:
    for source, output in zip(corpus.rated.sources, corpus.rated.outputs, strict=True):
        yield source, output, np.nan, np.nan, np.nan, True, "rated"
        for _ in range(rng.poisson(copies / 2)):
            if (result := harm(output, stock, rng)) is not None:
                yield source, result[1].text, np.nan, np.nan, 1.0 if result[1].fact == 1 else np.nan, False, ""
