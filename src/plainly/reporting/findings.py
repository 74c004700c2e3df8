"""Findings beside the scores: habits of systems and people, how scores spread over the items, reasons to distrust a
score (such as what cheap tricks on outputs would gain), and operations and sentence links located in the texts.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from plainly.auditing import audit
from plainly.auditing.verdicts import Effect
from plainly.core.evalset import ABSENT, EvalSet, find_present
from plainly.core.files import read_shipped
from plainly.core.formatting import listed, number, short
from plainly.core.metric import Metric
from plainly.core.progress import Progress, no_progress
from plainly.core.registry import display_name
from plainly.core.result import Note
from plainly.core.sampling import Sampling
from plainly.factcheck.facts import FactChecks, facts
from plainly.io.faults.corpus_faults import UNNAMED
from plainly.io.faults.output_faults import SEEN
from plainly.people.results import HumanResults
from plainly.scoring.evaluate import evaluate
from plainly.scoring.sanity import find_incomparable
from plainly.scoring.scores import Evaluation, ScoreTable
from plainly.text import sentences
from plainly.text.sentence_alignment import OUTCOMES, Alignment, PlacedSentence, align
from plainly.typology.annotation import Pair
from plainly.typology.labeller import labeller as labeller_named
from plainly.typology.vocabulary import operations as vocabulary

# Key, title, unit, metric, output.
HABITS = (
    ("split", "Sentences split", "% of outputs", "splits", "split"),
    ("copied", "Copied unchanged", "% of outputs", "edits", "copies"),
    ("compression", "Length compared with the source", "output / source", "compression", "compression"),
    ("added", "Words added", "% of words", "edits", "added_of_output"),
    ("deleted", "Words deleted", "% of words", "edits", "deleted_of_source"),
    ("sentence", "Words per sentence", "words", "length", "words_per_sentence"),
)
# People's habits are measured on at most this many references, spread over the set.
MOST_REFERENCES = 5000


@dataclass(frozen=True)
class Habit:
    """One property of outputs, by system; beside it that of the references, and its range over reference writers."""

    key: str
    title: str
    unit: str
    systems: Mapping[str, float]
    people: float = math.nan
    people_range: tuple[float, float] | None = None

    @property
    def is_share(self) -> bool:
        return self.unit.startswith("%")

    @property
    def values(self) -> dict[str, float]:
        """The values of the systems for which it is defined."""
        return {system: value for system, value in self.systems.items() if not math.isnan(value)}

    def format(self, value: float) -> str:
        """Format a value of this habit."""
        return f"{number(value, 0, page=True)} %" if self.is_share else number(value, page=True)


def habits(evalset: EvalSet, outputs: Mapping[str, Sequence[str]]) -> tuple[Habit, ...]:
    """Measure every habit, of systems and of people."""
    metrics = list(dict.fromkeys(metric for *_, metric, _ in HABITS))
    of_systems = evaluate(evalset, outputs, metrics, sampling=None)
    # References as if a system had written them: item and number of each.
    keys = [(item, number) for item, row in enumerate(evalset.references) for number in range(len(row))]
    if len(keys) > MOST_REFERENCES:
        keep = set(np.linspace(0, len(evalset) - 1, max(1, MOST_REFERENCES * len(evalset) // len(keys))).astype(int))
        keys = [key for key in keys if key[0] in keep]
    of_people = None
    if keys:
        sources = EvalSet.of([evalset.sources[item] for item, _ in keys])
        texts = [evalset.references[item][number] for item, number in keys]
        of_people = evaluate(sources, {"people": texts}, metrics, sampling=None)["people"]
    numbers, counts = np.array([number for _, number in keys]), evalset.reference_counts
    writers = int(counts.min()) if len(counts) and counts.min() == counts.max() else 0
    results = []
    for key, title, unit, metric, output in HABITS:
        scale = 100.0 if unit.startswith("%") else 1.0
        systems = {system: scale * of_systems[system][metric].corpus[output] for system in outputs}
        people, spread = math.nan, None
        if of_people is not None:
            people = scale * of_people[metric].corpus[output]
            # The first reference of every item, the second, …: sets often have one writer for each.
            parts = [scale * of_people[metric].subset(numbers == writer).corpus[output] for writer in range(writers)]
            spread = (min(parts), max(parts)) if writers > 1 else None
        results.append(Habit(key, title, unit, systems, people, spread))
    return tuple(results)


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LENGTH_BINS = 4
# With fewer items than these a distribution, or groups of items by length, are not informative.
FEWEST_ITEMS, FEWEST_IN_BINS = 5, 40

Five = tuple[float, ...]


@dataclass(frozen=True)
class LengthScores:
    """Scores on items with short, longer and long sources: by metric and system, a value for each bin."""

    bins: tuple[str, ...]  # words in the source: "3–12", …
    scores: Mapping[str, Mapping[str, tuple[float, ...]]]


def item_spreads(evaluation: ScoreTable) -> dict[str, dict[str, Five]]:
    """Return five quantiles of the items' scores, by metric and system (best first), for metrics whose scores vary."""
    if evaluation.n < FEWEST_ITEMS:
        return {}
    spreads = {}
    for spec, metric in evaluation.metrics.items():
        headline = metric.outputs[0]
        segments = {system: evaluation[system][spec].segments[headline] for system in evaluation.ranking(spec)}
        finite = {system: values[np.isfinite(values)] for system, values in segments.items()}
        fives = {name: tuple(np.quantile(values, QUANTILES).tolist()) for name, values in finite.items() if len(values)}
        # Yes or no for each item: a distribution would show nothing.
        is_yes_or_no = {five[2] for five in fives.values()} <= {0.0, 1.0}
        if not is_yes_or_no and any(five[0] != five[-1] for five in fives.values()):
            spreads[spec] = fives
    return spreads


def length_scores(evaluation: ScoreTable) -> LengthScores | None:
    """Score items by length of the source, in groups of about equal size."""
    from plainly.text.words import words

    evalset = evaluation.evalset
    if not evalset.has_sources or len(evalset) < FEWEST_IN_BINS:
        return None
    lengths = np.array([len(words(source)) for source in evalset.sources], dtype=np.float64)
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTH_BINS + 1)))
    if len(edges) < 3:
        return None
    part = np.clip(np.searchsorted(edges, lengths, side="right") - 1, 0, len(edges) - 2)
    masks = [part == number for number in np.unique(part)]
    scores = {
        spec: {
            system: tuple(float(evaluation[system][spec].subset(mask)) for mask in masks)
            for system in evaluation.ranking(spec)
        }
        for spec in evaluation.specs
    }
    return LengthScores(tuple(f"{lengths[mask].min():.0f}–{lengths[mask].max():.0f}" for mask in masks), scores)


# Tricks are tried on this many items, spread over the set: a slow metric must not make the reader wait.
MOST_TRIED = 100
TRICKS = ("random-period", "random-the", "replace-longest", "random-period+replace-longest")


@dataclass(frozen=True)
class Alarm:
    """A reason to distrust a score: a metric, the systems it concerns, and a sentence with the numbers."""

    metric: str
    systems: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class _Rule:
    """When a habit makes a metric misleading: for which metrics, how far from people, and the message."""

    metrics: tuple[str, ...]
    habit: str
    verbs: tuple[str, str]
    message: str
    at_least: float = math.nan
    above_people: float = math.nan
    below_people: float = math.nan

    def applies(self, system: float, people: float) -> bool:
        """Whether a system crosses a limit; an unknown limit or value of people is NaN, which is never crossed."""
        return system >= self.at_least or system > people + self.above_people or system < people - self.below_people


_RULES = tuple(_Rule(**rule) for rule in read_shipped(__file__, "findings.toml")["rule"])


def alarms(metrics: Mapping[str, Metric], habits: Sequence[Habit]) -> tuple[Alarm, ...]:
    """Apply the rules to metrics, given by spec, and habits."""
    by_key = {habit.key: habit for habit in habits}
    results = []
    for spec, rule in product(metrics, _RULES):
        habit = by_key.get(rule.habit)
        if habit is None or metrics[spec].name not in rule.metrics:
            continue
        systems = [system for system, value in habit.systems.items() if rule.applies(value, habit.people)]
        if systems:
            names = listed([f"{short(system)} ({habit.format(habit.systems[system])})" for system in systems])
            message = rule.message.format(spec=display_name(spec), people=habit.format(habit.people))
            results.append(Alarm(spec, tuple(systems), f"{names} {rule.verbs[len(systems) > 1]} {message}"))
    return tuple(results)


@dataclass(frozen=True)
class Doubt:
    """Something that may be wrong with outputs: a key, what it is, what follows, and by system the items' positions."""

    key: str
    title: str
    items: Mapping[str, tuple[int, ...]]
    meaning: str = ""
    example: str = ""  # words of one output


# Doubts that the page states before any score: what is counted, by which codes of warnings, and what follows.
_GRAVE = {
    "missing": ("missing", (), "Scores and plots are about the {shared} items that every system has."),
    "reference": (
        "copied from a reference, word for word",
        ("output-is-reference",),
        "Scores against references say nothing about {names}.",
    ),
    "wrapped": (
        "wrapped in chat phrases or markup",
        ("reasoning", "preamble", "sign-off", "markdown", "wrapper", "prompt-leak", "several-answers"),
        "The extra words are scored as if they were part of the text. plainly doctor --fix DIR removes most of them.",
    ),
    "refused": ("refusals or questions instead of a text", ("refusal",), "Metrics of simplicity reward short answers."),
    "empty": ("empty", ("empty-outputs",), "Some metrics leave empty outputs out, others give them the worst score."),
}


# What the codes of other faults mean, without the numbers that stand beside them.
REMARKS = {
    **SEEN,
    "truncated": "no sign of the end of a sentence",
    "same-output": "the same text for different sources",
    "other-source": "the source of another item, word for word",
    "copies": "the source, word for word",
    "misaligned": "closer to another source than to its own",
    "double-tokenisation": "tokenised twice",
}


def find_doubts(evaluation: ScoreTable, warnings: Sequence[Note], shared: int) -> tuple[Doubt, ...]:
    """Return the grave doubts about the outputs, from the texts and from warnings about them."""
    by_code: dict[str, list[Note]] = {}
    for note in warnings:
        by_code.setdefault(note.code, []).append(note)
    doubts = []
    for key, (title, codes, meaning) in _GRAVE.items():
        items = _items_of(evaluation, [note for code in codes for note in by_code.get(code, ())])
        if key == "missing" and evaluation.outputs:
            absent = {system: np.flatnonzero(~find_present(texts)) for system, texts in evaluation.outputs.items()}
            items = {system: tuple(places.tolist()) for system, places in absent.items() if len(places)}
        if items:
            names = listed([short(system) for system in items])
            doubts.append(Doubt(key, title, items, meaning.format(shared=shared, names=names)))
    return tuple(doubts)


def find_remarks(evaluation: ScoreTable, warnings: Sequence[Note]) -> tuple[tuple[Doubt, ...], tuple[Note, ...]]:
    """Return less grave faults of outputs, each code once with its items by system, and the warnings that are left."""
    grave = {"missing-outputs", *(code for _, codes, _ in _GRAVE.values() for code in codes)}
    rest = [note for note in warnings if note.code not in grave]
    doubts, left = [], []
    for code in dict.fromkeys(note.code for note in rest):
        notes = [note for note in rest if note.code == code]
        items = _items_of(evaluation, notes)
        if not items:
            left += notes
            continue
        first = notes[0]
        quote = re.search("“(.*)”", first.message) if code in REMARKS else None
        message = first.message.removeprefix(f"{first.where}: ").rstrip(".")
        title = REMARKS.get(code) or re.sub(r", in items? .*$", "", message)  # the items stand beside it
        doubts.append(Doubt(code, title, items, example=quote[1] if quote else ""))
    return tuple(doubts), tuple(left)


def _items_of(evaluation: ScoreTable, notes: Iterable[Note]) -> dict[str, tuple[int, ...]]:
    """Return the positions of the items that notes name, by system."""
    places = {identifier: place for place, identifier in enumerate(evaluation.evalset.ids)}
    systems = {system or UNNAMED: system for system in evaluation}
    by_system: dict[str, set[int]] = {}
    for note in notes:
        if note.where in systems:
            by_system.setdefault(systems[note.where], set()).update(places[each] for each in note.ids if each in places)
    return {system: tuple(sorted(by_system[system])) for system in evaluation if by_system.get(system)}


# Facts are checked in at most this many outputs, of items spread over the set: a report must not take minutes.
MOST_CHECKED = 1000


def check_facts(evalset: EvalSet, outputs: Mapping[str, Sequence[str]], progress: Progress = no_progress) -> FactChecks:
    """Check the facts of the items that every system has, or of as many as there is time for."""
    shared = np.flatnonzero(np.logical_and.reduce([find_present(texts) for texts in outputs.values()]))
    count = min(len(shared), max(1, MOST_CHECKED // len(outputs)))
    sample = set(shared[np.unique(np.linspace(0, len(shared) - 1, count).astype(int))].tolist())
    texts = {
        system: [text if place in sample else ABSENT for place, text in enumerate(lines)]
        for system, lines in outputs.items()
    }
    return facts(evalset=evalset, outputs=texts, incomplete="skip", model=None, progress=progress)


@dataclass(frozen=True)
class Tricks:
    """What tricks gain, in units of the distance between the worst and the best of all systems, and on which systems'
    outputs they were tried.
    """

    gains: tuple[Effect, ...] = ()
    systems: tuple[str, ...] = ()


def tricks(evaluation: ScoreTable, progress: Progress = no_progress) -> Tricks:
    """Try tricks from the literature on the outputs of the best, the middle and the worst system.

    Systems that copy references do not count by a metric that compares with references.
    """
    specs = [spec for spec in evaluation.measurable if evaluation.metrics[spec].better != "neither"]
    if not specs or evaluation.outputs is None:
        return Tricks()
    ranking = [name for name in evaluation.ranking(specs[0]) if name not in find_incomparable(evaluation, specs[0])]
    if not ranking:
        return Tricks()
    systems = tuple(dict.fromkeys((ranking[0], ranking[len(ranking) // 2], ranking[-1])))
    n = len(evaluation.evalset)
    items = np.unique(np.linspace(0, n - 1, min(MOST_TRIED, n)).astype(int))
    result = audit(
        evalset=evaluation.evalset[items],
        outputs={system: [evaluation.outputs[system][item] for item in items] for system in systems},
        metrics=specs,
        attacks=TRICKS,
        levels=(1.0,),
        trials=1,
        seed=(evaluation.sampling or Sampling()).seed,
        progress=progress,
    )
    gains: list[Effect] = []
    for spec, verdict in result.verdicts.items():
        excluded = find_incomparable(evaluation, spec)
        scores = {name: float(of) for name, of in evaluation.of_metric(spec).items() if name not in excluded}
        values = [value for value in scores.values() if not math.isnan(value)]
        distance = (max(values) - min(values) if values else 0.0) or math.nan
        gains += [
            replace(effect, spreads=effect.gain / distance, wrong_spreads=effect.wrong / distance)
            for effect in verdict.effects
        ]
    return Tricks(tuple(gains), systems)


Span = tuple[int, int]
# People's operations are counted on one reference of each item, by turns, and on at most this many items.
MOST_LABELLED = 500


@dataclass(frozen=True)
class PlacedGroup:
    """One operation between a source and an output, as spans of characters: ((start, end), …) in each text."""

    label: str
    source: tuple[Span, ...]
    output: tuple[Span, ...]


@dataclass(frozen=True)
class PlacedOperations:
    """The operations in every output, and the share of outputs with each operation, for systems and people."""

    labels: Mapping[str, str]  # label → title
    kinds: Mapping[str, str]  # label → add, delete, replace or other
    groups: Mapping[str, Sequence[tuple[PlacedGroup, ...]]]  # system → item → groups
    shares: Mapping[str, Mapping[str, float]]  # label → system → share of outputs
    people: Mapping[str, float]  # label → share of references; empty where not known
    labeller: str
    notice: str = ""


def place_operations(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], *, labeller: str, progress: Progress = no_progress
) -> PlacedOperations:
    """Label every output, and count how often each operation occurs in the outputs and in the references."""
    labelling = labeller_named(labeller)
    groups: dict[str, tuple[tuple[PlacedGroup, ...], ...]] = {}
    shares: dict[str, dict[str, float]] = {}
    with progress("labelling operations", total=len(evalset) * len(outputs), unit="outputs") as tell:
        for system, texts in outputs.items():
            pairs = labelling.label(evalset.sources, list(texts), ids=evalset.ids, part=system)
            groups[system] = tuple(map(place_groups, pairs, evalset.sources, texts))
            shares[system] = _shares(pairs)
            tell(len(pairs))
    rows = [(item, row) for item, row in enumerate(evalset.references) if row][:MOST_LABELLED]
    by_turns = [row[item % len(row)] for item, row in rows]
    people = _shares(labelling.label([evalset.sources[item] for item, _ in rows], by_turns)) if rows else {}
    labels = {label for of_system in (*shares.values(), people) for label in of_system}
    by_label = {operation.label: operation for operation in vocabulary() if operation.label in labels}
    return PlacedOperations(
        labels={label: operation.title for label, operation in by_label.items()},
        kinds={label: operation.computational for label, operation in by_label.items()},
        groups=groups,
        shares={label: {system: shares[system].get(label, 0.0) for system in outputs} for label in by_label},
        people={label: people.get(label, 0.0) for label in by_label} if people else {},
        labeller=labelling.name,
        notice=labelling.notice,
    )


def place_groups(pair: Pair, source: str, output: str) -> tuple[PlacedGroup, ...]:
    """Locate a pair's groups in the original texts; a token that tokenisation has changed has no span."""
    left, right = _offsets(pair.source_tokens, source), _offsets(pair.output_tokens, output)
    groups = (PlacedGroup(group.label, _join(left, group.source), _join(right, group.output)) for group in pair.groups)
    return tuple(group for group in groups if group.source or group.output)


def _offsets(tokens: Iterable[str], text: str) -> list[Span | None]:
    offsets: list[Span | None] = []
    end = 0
    for token in tokens:
        start = text.find(token, end)
        # A match far away is another occurrence of the word.
        is_next = 0 <= start <= end + 40
        end = start + len(token) if is_next else end
        offsets.append((start, end) if is_next else None)
    return offsets


def _join(offsets: Sequence[Span | None], tokens: Iterable[int]) -> tuple[Span, ...]:
    """Return the spans of some tokens; neighbours with at most a space between them become one."""
    spans: list[Span] = []
    for start, end in filter(None, (offsets[token] for token in sorted(set(tokens)) if token < len(offsets))):
        if spans and start - spans[-1][1] <= 1:
            start, _ = spans.pop()
        spans.append((start, end))
    return tuple(spans)


def _shares(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the share of pairs with each operation, in percent."""
    counts = Counter(label for pair in pairs for label in pair.labels)
    return {label: 100.0 * count / len(pairs) for label, count in counts.items()}


SEVERAL = 3  # sources with at least this many sentences are shown side by side with the output
# One link: flat spans of characters in the source and in the output; an index into HAPPENED; whether it moved.
PlacedLink = tuple[list[int], list[int], int, int]
# The links of every output, by system and item; an item that is a single sentence has None.
PlacedLinks = Mapping[str, Sequence[list[PlacedLink] | None]]


def place_links(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], progress: Progress = no_progress
) -> PlacedLinks | None:
    """Align the sentences of sources and outputs; return None if all items are single sentences."""
    long = sentences.counts(evalset.sources) >= SEVERAL
    if not long.any():
        return None
    by_system: dict[str, list[list[PlacedLink] | None]] = {}
    with progress("aligning sentences", total=int(long.sum()) * len(outputs), unit="outputs") as tell:
        for system, texts in outputs.items():
            by_system[system] = [None] * len(evalset)
            for item in np.flatnonzero(long).tolist():
                by_system[system][item] = _place_links(align(evalset.sources[item], texts[item], encoder=False))
                tell(1)
    return by_system


def _place_links(alignment: Alignment) -> list[PlacedLink]:
    def edges(sentences: Sequence[PlacedSentence], indices: Sequence[int]) -> list[int]:
        return [edge for index in indices for edge in (sentences[index].start, sentences[index].end)]

    spans = [(edges(alignment.source, link.source), edges(alignment.output, link.output)) for link in alignment.links]
    outcomes = [(OUTCOMES.index(link.happened), int(link.moved)) for link in alignment.links]
    return [(*span, *outcome) for span, outcome in zip(spans, outcomes, strict=True)]


_MOST_ITEMS = 5  # behind a disagreement


@dataclass(frozen=True)
class Disagreement:
    """Two systems that a metric puts in the other order than people do, and the items in which it does so most."""

    metric: str
    dimension: str
    better: str  # by people, who tell the two apart
    other: str
    difference: float
    items: tuple[str, ...]

    @property
    def text(self) -> str:
        better, other = short(self.better), short(self.other)
        return (
            f"{display_name(self.metric)} puts {other} above {better}, but people find {better} better "
            f"({self.dimension}, by {self.difference:.2f} points)."
        )


def find_disagreements(evaluation: ScoreTable, human: HumanResults) -> tuple[Disagreement, ...]:
    """Return the pairs of systems that people tell apart and a metric orders the other way, the clearest first."""
    disagreements = []
    for pair in human.comparisons.comparisons:
        if pair.winner is None or not {pair.system, pair.baseline} <= set(evaluation):
            continue
        better, other = pair.winner, pair.baseline if pair.winner == pair.system else pair.system
        for spec, metric in evaluation.metrics.items():
            sign = {"higher": 1, "lower": -1, "neither": 0}[metric.better]
            if sign * (float(evaluation[better][spec]) - float(evaluation[other][spec])) < 0:
                items = _opposite_items(evaluation, human, spec, sign, pair.metric, better, other)
                disagreements.append(
                    Disagreement(spec, pair.metric, better, other, abs(pair.difference), items[:_MOST_ITEMS])
                )
    return tuple(sorted(disagreements, key=lambda each: -each.difference))


def _opposite_items(
    evaluation: ScoreTable, human: HumanResults, spec: str, sign: int, dimension: str, better: str, other: str
) -> tuple[str, ...]:
    """Return the items that people rate higher for the better system and the metric does not, the clearest first."""
    if not isinstance(evaluation, Evaluation):
        return ()
    headline = evaluation.metrics[spec].outputs[0]
    scores = sign * (evaluation[better][spec].segments[headline] - evaluation[other][spec].segments[headline])
    by_metric = dict(zip(evaluation.evalset.ids, scores, strict=True))
    ratings = human.judgements[dimension]
    means = ratings.means[[ratings.systems.index(better), ratings.systems.index(other)]]
    gaps = {item: gap for item, gap in zip(ratings.items, means[0] - means[1], strict=True) if gap > 0}
    opposite = [item for item in gaps if by_metric.get(item, math.nan) < 0]
    return tuple(sorted(opposite, key=lambda item: -gaps[item]))
