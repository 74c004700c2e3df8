"""Rankings of outputs, and the systems that people prefer: win rates, strengths and best–worst scores."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from plainly.core.errors import BadInput, UnknownName
from plainly.core.evalset import EvalSet
from plainly.core.formatting import listed, number
from plainly.core.result import Note, Record, Result, Table
from plainly.core.sampling import Sampling
from plainly.people.choices import Choice
from plainly.people.rating_comparisons import (
    Contrasts,
    MeanRating,
    RatingTable,
    Reliability,
    compare_table,
    measure_reliability,
    note_on_excluded,
)
from plainly.people.rating_tables import usual_name
from plainly.people.ratings import Judgements, Rating
from plainly.scoring.comparisons import Comparisons, claims
from plainly.scoring.scores import Scores, Signature
from plainly.stats.preferences import Meeting, Preference, PreferenceModel, best_worst, fit_preferences
from plainly.stats.resample import Estimate

SCHEMA = "plainly.preferences/1"
_DIMENSION = "preference"
_FEW = 4  # with at most this many systems, every pair has a row


@dataclass(frozen=True, repr=False)
class Preferences(Result):
    """Systems from the most to the least preferred; best–worst scores where rankings have a worst.

    ``comparisons`` has the tests of every pair, on strengths, with the claims of ``plainly.compare``. ``everyone`` is
    the result with the raters whom the study excluded, if there are any.
    """

    systems: tuple[Preference, ...]
    best_worst: dict[str, float]
    rankings: int
    raters: int
    undecided: int
    comparisons: Comparisons
    reliability: Reliability | None
    everyone: Preferences | None = None
    dimension: str = _DIMENSION
    others: tuple[str, ...] = ()  # dimensions on which people chose too

    @property
    def claims(self) -> list[str]:
        """What may be said about the strengths."""
        return claims(self.comparisons)

    def records(self) -> list[Record]:
        return [
            {
                "system": row.system,
                "wins": row.wins,
                "losses": row.losses,
                "ties": row.ties,
                **_flat("win_rate", row.win_rate),
                **_flat("strength", row.strength),
                **({"best_worst": self.best_worst[row.system]} if self.best_worst else {}),
            }
            for row in self.systems
        ]

    def json(self) -> Record:
        rows = [{**row, **{name: asdict(getattr(system, name)) for name in ("win_rate", "strength")}}
                for row, system in zip(self.records(), self.systems, strict=True)]  # fmt: skip
        counts = {"rankings": self.rankings, "raters": self.raters, "undecided": self.undecided}
        parts = self.comparisons.parts_json()
        return {
            "schema": SCHEMA,
            "dimension": self.dimension,
            "other_dimensions": list(self.others),
            **counts,
            "systems": rows,
            **{name: parts[name] for name in ("comparisons", "claims")},
            "reliability": self.reliability and self.reliability.json(),
            "with_excluded": self.everyone
            and {"systems": self.everyone.records(), "claims": claims(self.everyone.comparisons)},
        }

    def tables(self) -> list[Table]:
        columns = {
            "system": [row.system for row in self.systems],
            "win rate": [str(row.win_rate) for row in self.systems],
            "strength": [str(row.strength) for row in self.systems],
            **{name: [str(getattr(row, name)) for row in self.systems] for name in ("wins", "losses", "ties")},
        }
        if self.best_worst:
            columns["best–worst"] = [number(self.best_worst[system], 2) for system in columns["system"]]
        if self.everyone is not None:
            strengths = {row.system: str(row.strength) for row in self.everyone.systems}
            columns["with excluded raters"] = [strengths[system] for system in columns["system"]]
        level = f"{self.comparisons.sampling.level:.0%}"
        caption = f"{self.rankings} rankings by {self.raters} raters, with {level} intervals over items and raters"
        tables = [Table(tuple(columns), tuple(zip(*columns.values(), strict=True)), caption=caption)]
        if len(self.systems) > _FEW:
            return tables
        pairs = self.comparisons.pairs_table()  # whose first column, the dimension, is always the same
        return [
            *tables,
            Table(
                pairs.header[1:],
                tuple(row[1:] for row in pairs.rows),
                caption="Differences of strengths",
                text_columns=frozenset({0, 1}),
            ),
        ]

    def notes(self) -> list[Note]:
        notes = [Note(claim, "claim") for claim in self.claims]
        if self.reliability is not None:
            notes.append(Note(self.reliability.sentence, "claim"))
        if self.everyone is not None:
            notes.append(
                note_on_excluded(self.comparisons, self.everyone.comparisons, claims(self.everyone.comparisons))
            )
        notes.append(
            Note(
                "Win rate: comparisons won, a tie counts half. Strength: the logarithm of Davidson's strength, on "
                "which tests and claims rest; 0.69 more doubles the odds of winning. Effect: the mean difference of "
                "win rates by item, in standard deviations between items."
            )
        )
        if self.others:
            notes.append(
                Note(
                    f"Choices about {self.dimension}. For another dimension: --dimension {self.others[0]}"
                    + (f" (or {listed(self.others[1:])})" if self.others[1:] else "")
                )
            )
        if self.undecided:
            notes.append(Note(f"{self.undecided} rankings are not counted: the rater could not decide."))
        return notes


def rank(
    choices: Sequence[Choice],
    *,
    dimension: str = "",
    baseline: str | None = None,
    sampling: Sampling = Sampling(),
) -> Preferences:
    """Compute how often each system was preferred, its strength, and which differences may be claimed.

    Where people chose on several dimensions, ``dimension`` is one of them: simplicity, or else the first, by default.
    """
    dimensions = list(dict.fromkeys(choice.dimension for choice in choices if choice.dimension))
    if dimension and dimension not in dimensions:
        if not dimensions:
            raise BadInput("dimensions= chooses among dimensions, but people chose on one that has no name.")
        raise UnknownName("dimension", dimension, dimensions, see="plainly results --help")
    dimension = dimension or (usual_name(dimensions) if dimensions else "")
    choices = [choice for choice in choices if choice.dimension == dimension]
    result = _rank([choice for choice in choices if not choice.excluded], baseline, sampling)
    result = dataclasses.replace(result, others=tuple(name for name in dimensions if name != dimension))
    if any(choice.excluded for choice in choices):
        result = dataclasses.replace(result, everyone=_rank(choices, baseline, sampling))
    return result


def _rank(choices: Sequence[Choice], baseline: str | None, sampling: Sampling) -> Preferences:
    decided = [choice for choice in choices if choice.tie or choice.best or choice.worst]
    meetings = [pair for choice in decided for pair in list_comparisons(choice)]
    if not meetings:
        raise BadInput("There are no rankings yet.")
    scores: dict[str, float] = {}
    if any(choice.worst for choice in decided):
        displays = Counter(system for choice in decided for system in choice.shown)
        best, worst = Counter(choice.best for choice in decided), Counter(choice.worst for choice in decided)
        counts = [np.array([count[system] for system in displays]) for count in (displays, best, worst)]
        scores = dict(zip(displays, best_worst(*counts).tolist(), strict=True))
    raters = len({choice.rater for choice in choices} - {""})
    dimension = choices[0].dimension or _DIMENSION
    model = fit_preferences(meetings)
    reliability = None
    if len({pair.rater for pair in meetings}) > 1:
        ratings = _pair_judgements(choices, "rankings")[dimension]
        reliability = dataclasses.replace(measure_reliability(ratings, sampling), of="choices")
    return Preferences(
        tuple(model.preferences(sampling.level)),
        scores,
        len(decided),
        raters,
        len(choices) - len(decided),
        _compare(model, dimension, baseline, sampling),
        reliability,
        dimension=dimension,
    )


def _compare(model: PreferenceModel, dimension: str, baseline: str | None, sampling: Sampling) -> Comparisons:
    """Compare the strengths of all systems, or of each with the baseline."""
    systems, items = model.systems, int(model.cell_items.max()) + 1
    if baseline is not None and baseline not in systems:
        raise UnknownName("baseline", baseline, systems, see="plainly results --help")
    table: dict[str, dict[str, Scores]] = {}
    strengths = {row.system: row.strength for row in model.preferences(sampling.level)}
    for place, system in enumerate(systems):
        cells = np.stack([model.cell_points[:, place], model.cell_meetings[:, place]], axis=1)
        rows = np.zeros((items, 2))
        np.add.at(rows, model.cell_items, cells)
        # The rows are points and meetings; the score is the strength, which is not a sum over items.
        scores = Scores.of_items(MeanRating(), system, rows, Signature(dimension, data=f"{items} items"))
        scores = dataclasses.replace(scores, totals=np.array([strengths[system].value, 1.0]))
        table[system] = {dimension: scores.with_estimates([strengths[system]])}
    contrasts: Contrasts = {}
    for b, s in combinations(range(len(systems)), 2):
        if baseline is not None and baseline not in (systems[b], systems[s]):
            continue
        b, s = (s, b) if systems[s] == baseline else (b, s)
        signs = np.eye(len(systems))[s] - np.eye(len(systems))[b]
        contrasts[dimension, systems[s], systems[b]] = model.strength(signs)
    return compare_table(RatingTable(EvalSet.of(items=items), table, sampling), contrasts, baseline, sampling)


def pair_judgements(choices: Sequence[Choice], *, name: str = "rankings") -> Judgements:
    """Return choices as ratings of pairs of systems: 1 if the first was better, −1 if the second was, 0 for a tie.

    The choices of excluded raters do not count.
    """
    return _pair_judgements([choice for choice in choices if not choice.excluded], name)


def _pair_judgements(choices: Sequence[Choice], name: str) -> Judgements:
    ratings: dict[tuple[str, str, str, str], Rating] = {}
    for choice in choices:
        dimension = choice.dimension or _DIMENSION
        for pair in list_comparisons(choice) if choice.rater else ():
            first, second = sorted((pair.first, pair.second))
            value = 0.0 if pair.tie else 1.0 if pair.first == first else -1.0
            pair_name = f"{first} – {second}"
            key = (pair_name, pair.item, pair.rater, dimension)
            ratings[key] = Rating(*key, value)
    if not ratings:
        raise BadInput("There are no rankings yet.")
    return Judgements.of(name, list(ratings.values()), scales={key[-1]: (-1.0, 1.0) for key in ratings})


def list_comparisons(choice: Choice) -> Iterator[Meeting]:
    """Yield the comparisons in a choice: the best beats all others shown, all others beat the worst, or all tie."""
    if choice.tie:
        yield from (Meeting(choice.item, *pair, tie=True, rater=choice.rater) for pair in combinations(choice.shown, 2))
        return
    for system in choice.shown:
        if choice.best and system != choice.best:
            yield Meeting(choice.item, choice.best, system, rater=choice.rater)
        if choice.worst and system not in (choice.worst, choice.best):
            yield Meeting(choice.item, system, choice.worst, rater=choice.rater)


def _flat(name: str, estimate: Estimate) -> Record:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
