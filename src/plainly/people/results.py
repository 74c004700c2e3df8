"""The result of a human evaluation: systems in order, differences and claims, over items and raters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plainly.core.errors import BadInput, UnknownName, as_texts, check_text
from plainly.core.formatting import count_noun, interval, listed
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table, warnings
from plainly.core.sampling import Sampling, check_sampling
from plainly.people.choices import read_rankings
from plainly.people.meta_evaluation import RaterAgreement, measure_agreement, rated_by_several
from plainly.people.operation_results import OperationResults, count_operations, read_annotations
from plainly.people.preferences import Preferences, rank
from plainly.people.rating_comparisons import (
    RatingTable,
    Reliability,
    compare_ratings,
    measure_reliability,
    note_on_excluded,
)
from plainly.people.rating_tables import AVERAGED, RatingsLike, read_ratings, with_excluded
from plainly.people.ratings import Judgements
from plainly.scoring.comparisons import Comparison, Comparisons, claims
from plainly.stats.resample import Estimate

_FEW = 4  # with at most this many systems, every pair has a row


@dataclass(frozen=True, repr=False)
class HumanResults(Result):
    """Systems in order on each dimension, with intervals and tests over items and raters.

    ``comparisons`` has the scores and the tests of every pair, as ``plainly.compare`` returns them; ``reliability`` the
    recommended figure of agreement by dimension, ``agreement`` all figures if requested. ``everyone`` is the result
    with the raters whom the study excluded, if there are any.
    """

    judgements: Judgements
    comparisons: Comparisons
    reliability: Mapping[str, Reliability]
    agreement: RaterAgreement | None = None
    everyone: HumanResults | None = None

    @property
    def table(self) -> RatingTable:
        """The mean ratings with their intervals: ``results.table["A"]["simplicity"].value``."""
        table = self.comparisons.evaluation
        if not isinstance(table, RatingTable):
            raise TypeError(f"{type(table).__name__} is not a table of ratings.")
        return table

    @property
    def dimensions(self) -> tuple[str, ...]:
        return self.table.specs

    @property
    def claims(self) -> list[str]:
        """What may be said, a sentence for each dimension; none about a single system."""
        return claims(self.comparisons) if self.comparisons.comparisons else []

    def records(self) -> list[Record]:
        """Return one flat record for each dimension and system, best first."""
        return [
            {
                "dimension": dimension,
                "system": system,
                "place": place,
                "mean": float(self.table[system][dimension]),
                **dict(zip(("low", "high"), self._ends(dimension, system), strict=True)),
                "items": self.table[system][dimension].n,
                **self._outcomes(dimension, system),
            }
            for dimension in self.dimensions
            for place, system in enumerate(self.comparisons.ranking(dimension), 1)
        ]

    def json(self) -> Record:
        """Return the schema plainly.results/1."""
        return {
            **self.judgements.summary(self.comparisons.sampling),
            "schema": "plainly.results/1",
            "level": self.comparisons.sampling.level,
            "unit": self.comparisons.unit,
            "baseline": self.comparisons.baseline,
            "family": "all comparisons of one dimension",
            **(self.comparisons.parts_json() if len(self.table) > 1 else {"systems": self.table.systems_json()}),
            "results": self.records(),
            "reliability": [each.json() for each in self.reliability.values()],
            "agreement": self.agreement.json()["agreement"] if self.agreement else None,
            "with_excluded": self.everyone and {"results": self.everyone.records(), "claims": self.everyone.claims},
            "warnings": warnings(self),
        }

    def tables(self) -> list[Table]:
        """Return each dimension's systems in order; every pair if there are few; all figures of agreement."""
        tables = [self._standings(dimension) for dimension in self.dimensions]
        if 1 < len(self.table) <= _FEW or self.comparisons.baseline is not None:
            tables.append(self._pairs())
        return tables + (self.agreement.tables() if self.agreement else [])

    def notes(self) -> list[Note]:
        sampling = self.comparisons.sampling
        single = [name for name in self.dimensions if self.judgements[name].count_raters() < 2]
        both = "items and raters, by a mixed model in which both are samples"
        about = (
            f"{self.judgements.name}: {count_noun(self.table.n, 'item')}. {sampling.level:.0%} intervals and tests "
            f"over {'items' if len(single) == len(self.dimensions) else both}."
        )
        notes = [*(Note(claim, "claim") for claim in self.claims)]
        notes += [Note(each.sentence, "claim") for each in self.reliability.values()]
        small = [name for name in self.dimensions if self._is_too_small(name)]
        if small:
            what = "so few items or raters cannot show a difference that the scale allows (80 % power)"
            notes.append(Note(f"{listed(small)}: {what}. How many can: plainly plan", "claim"))
        if self.everyone is not None:
            notes.append(note_on_excluded(self.comparisons, self.everyone.comparisons, self.everyone.claims))
        if single:
            which = "" if len(single) == len(self.dimensions) else f" of {listed(single)}"
            notes.append(
                Note(
                    f"The ratings{which} are by one rater, or means: intervals and tests are about other items, not "
                    "about other raters."
                )
            )
        agreement = [note for note in self.agreement.notes() if note.kind != "warning"] if self.agreement else []
        few_items = self.judgements.few_items() if self.reliability else []
        remarks = self.judgements.remarks if not self.agreement else ()
        return [*notes, Note(about), *remarks, *agreement, *few_items]

    def _ends(self, dimension: str, system: str) -> tuple[float, float]:
        estimate = self.table[system][dimension].value
        return (estimate.low, estimate.high) if isinstance(estimate, Estimate) else (math.nan, math.nan)

    def _outcomes(self, dimension: str, system: str) -> dict[str, int]:
        """Return how many systems this one beats, cannot be told from, and is beaten by."""
        if self.comparisons.baseline is not None or len(self.table) < 3:
            return {}
        others = [other for other in self.table if other != system]
        beats = sum(self.comparisons.beats(dimension, system, other) for other in others)
        beaten = sum(self.comparisons.beats(dimension, other, system) for other in others)
        return {"beats": beats, "same": len(others) - beats - beaten, "beaten_by": beaten}

    def _standings(self, dimension: str) -> Table:
        ratings = self.judgements[dimension]
        rows = []
        for place, system in enumerate(self.comparisons.ranking(dimension), 1):
            mean = interval(float(self.table[system][dimension]), *self._ends(dimension, system))
            counts = map(str, self._outcomes(dimension, system).values())
            other = self.everyone and self.everyone.table[system][dimension].value
            with_all = (str(other),) if other is not None else ()
            rows.append((f"{place}. {system}", mean, *counts, str(self.table[system][dimension].n), *with_all))
        outcomes = ("beats", "same", "beaten by") if self._outcomes(dimension, next(iter(self.table))) else ()
        everyone = ("with excluded raters",) if self.everyone else ()
        scale = f", scale {ratings.scale[0]:g} to {ratings.scale[1]:g}" if ratings.scale else ""
        who = "means of ratings" if ratings.raters == (AVERAGED,) else count_noun(ratings.count_raters(), "rater")
        caption = f"{dimension}: {who}{scale}"
        more = ("Every pair: --json, or comparisons.records() in Python",) if len(rows) > _FEW else ()
        return Table(("", "mean", *outcomes, "items", *everyone), tuple(rows), caption, notes=more)

    def _pairs(self) -> Table:
        table = self.comparisons.pairs_table()
        at = table.header.index("detectable")
        rows = tuple(
            (*row[:at], "> scale", *row[at + 1 :]) if self._is_beyond_scale(pair) else row
            for row, pair in zip(table.rows, self.comparisons.comparisons, strict=True)
        )
        header = ("dimension", *table.header[1:])
        return dataclasses.replace(table, header=header, rows=rows, caption="Differences, in points of the scale")

    def _is_too_small(self, dimension: str) -> bool:
        """Return whether no pair could show a difference, of those whose ratings vary."""
        pairs = [pair for pair in self.comparisons.comparisons if pair.metric == dimension and pair.standard_error != 0]
        return bool(pairs) and all(math.isnan(pair.smallest_detectable) for pair in pairs)

    def _is_beyond_scale(self, pair: Comparison) -> bool:
        """Return whether only a difference that is larger than the scale could be detected."""
        has_scale = self.judgements[pair.metric].scale is not None
        return has_scale and pair.standard_error > 0 and math.isnan(pair.smallest_detectable)


def results(
    ratings: RatingsLike,
    *,
    dimensions: str | Sequence[str] = (),
    agreement: bool = False,
    baseline: str | None = None,
    sampling: Sampling = Sampling(),
    progress: Progress = no_progress,
) -> HumanResults | Preferences | OperationResults:
    """Return the result of a human evaluation: systems in order, differences and claims, and how far raters agree.

    ``ratings`` is a public set's name, a file (a table or a study), or ``Judgements``. Every two systems are compared,
    or each with the ``baseline``, on each of the ``dimensions``: all but z-scores by default. Intervals and tests treat
    items and raters as samples. ``agreement`` adds all figures of agreement to the recommended one. A study in which
    people ranked outputs, its export, or a table of pairs of systems gives preferences: win rates, and strengths by the
    model of Bradley and Terry, on one dimension; a study in which people marked operations gives the rate of each
    operation, and what annotators confuse.
    """
    check_sampling(sampling)
    names = as_texts("dimensions", dimensions)
    if baseline is not None:
        check_text("baseline", baseline)
    choices = read_rankings(ratings)
    annotations = read_annotations(ratings) if choices is None else None
    if len(names) > 1 and choices is not None:
        raise BadInput("dimensions= is one dimension where people chose between outputs.")
    if names and annotations is not None:
        raise BadInput("dimensions= chooses among scales, but in this study people marked operations.")
    if choices is not None:
        return rank(choices, dimension="".join(names), baseline=baseline, sampling=sampling)
    if annotations is not None:
        return count_operations(annotations, name=Path(ratings).name, baseline=baseline, sampling=sampling)
    judgements = read_ratings(ratings, progress=progress)
    names = names or [name for name in judgements if not name.endswith("_zscore")] or list(judgements)
    if baseline is not None and baseline not in judgements.systems:
        raise UnknownName("baseline", baseline, judgements.systems, see="plainly results --help")
    result = _conclude(judgements, names, agreement, baseline, sampling)
    everyone = with_excluded(judgements)
    if everyone is not None:
        result = dataclasses.replace(result, everyone=_conclude(everyone, names, False, baseline, sampling))
    return result


def _conclude(
    judgements: Judgements, names: Sequence[str], agreement: bool, baseline: str | None, sampling: Sampling
) -> HumanResults:
    rated = {name: judgements[name] for name in names}
    several = [name for name in rated_by_several(judgements) if name in rated]
    return HumanResults(
        judgements,
        compare_ratings(judgements, rated, baseline=baseline, sampling=sampling),
        {name: measure_reliability(rated[name], sampling) for name in several},
        measure_agreement(judgements, several, sampling) if agreement and several else None,
    )
