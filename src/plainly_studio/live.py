"""The figures of a running project: progress, pace, agreement, conspicuous raters, precision and disagreements.

Excluded people do not count; beside each figure stands what it would be with them. Agreement and conspicuous raters are
computed by ``plainly.stats``, so ``plainly meta`` reports the same on a single question.

A reason to look closer is given only where chance is ruled out: where all raters are equally good, 5 % of studies have
one for anybody. This error is divided between the four kinds of reasons, the questions and the raters.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.result import Record
from plainly.core.sampling import Sampling
from plainly.people.preferences import rank
from plainly.stats.agreement import FEWEST, OUTLIER_ERROR, AlphaDistance, LongRatings, Rater
from plainly.stats.resample import Ints
from plainly.text.words import token_spans
from plainly_studio import exports, tasks
from plainly_studio.exports import Ledger, StudyAnswer
from plainly_studio.project import Project

_GROWTH = 10
_PACE_SECONDS = 3600.0
_DRAWS = 200
_MOST_DRAWN = 20_000
_DRIFT_FEWEST = 10
_ERROR = OUTLIER_ERROR / 4  # for each kind of reason
_Z = 1.959963984540054


@dataclass(frozen=True)
class Column:
    """The answers to one question, and the system behind each."""

    name: str
    ratings: LongRatings
    systems: npt.NDArray[np.str_]
    items: Ints


def overview(ledger: Ledger, project: Project) -> dict[str, Any]:
    """Return everything that the dashboard shows."""
    answers = ledger.answers()
    columns = list(agreement_columns(ledger, project, answers))
    everyone = ledger.answers(include_excluded=True)
    with_excluded = list(agreement_columns(ledger, project, everyone)) if ledger.excluded else columns
    total = sum(unit.kind == "main" for unit in ledger.items.values()) * project.assignment.overlap
    pace = _answers_per_hour(answers)
    cannot_judge = sum(answer.cannot_judge for answer in answers)
    judged = len(answers) - cannot_judge
    return {
        "answers": judged,
        "wanted": total,
        "ratings": sum(len(answer.values) for answer in answers) if project.task == "rating" else len(answers),
        "cannot_judge": cannot_judge,
        "cannot_judge_share": cannot_judge / len(answers) if answers else math.nan,
        "late": sum(answer.late for answer in answers),
        "pace_per_hour": pace,
        "hours_left": max(0, total - judged) / pace if pace else math.nan,
        "median_seconds": _median_seconds(answers),
        "excluded": [{"rater": name, "why": why} for name, why in ledger.excluded.items()],
        "agreement": _add_figures(map(_agreement, columns), map(_agreement, with_excluded), ("name",), ("alpha",)),
        "self_agreement": self_agreement(ledger, project),
        "rule_changes": ledger.rule_changes,
        "raters": raters(ledger, project, answers, columns),
        "preferences": _preferences(ledger, project),
        "precision": _add_figures(
            precision(columns, project, ledger, pace), precision(with_excluded, project, ledger, pace),
            ("dimension", "system"), ("mean", "now"),
        ) if project.task == "rating" else [],
    }  # fmt: skip


def _preferences(ledger: Ledger, project: Project) -> list[Record]:
    choices = exports.rankings(ledger, project)
    if not choices or not any(choice.tie or choice.best for choice in choices):
        return []
    return rank(choices, sampling=Sampling(resamples=_DRAWS)).records()


def _add_figures(
    rows: Iterable[Record], with_excluded: Iterable[Record], key: Sequence[str], figures: Sequence[str]
) -> list[Record]:
    """Return each row with the figures that it would have with the excluded raters."""
    others = {tuple(row[name] for name in key): row for row in with_excluded}
    pairs = [(row, others.get(tuple(row[name] for name in key), row)) for row in rows]
    return [{**row, **{f"{figure}_with_excluded": other[figure] for figure in figures}} for row, other in pairs]


def agreement_columns(ledger: Ledger, project: Project, answers: Sequence[StudyAnswer]) -> Iterator[Column]:
    """Yield the columns on which agreement is measured: scales, labels of tokens, or the best version."""
    if project.task == "rating":
        for scale in project.scales:
            values = [(answer, value) for answer in answers if (value := answer.values.get(scale.name)) is not None]
            yield _column(scale.name, scale.level, values, ledger)
    elif project.task == "operations":
        yield from _token_columns(ledger, answers)
    else:
        numbers: dict[str, int] = {}
        values = []
        for answer in answers:
            choice = answer.payload.get("choice", {})
            best = "tie" if choice.get("tie") else choice.get("best_system")
            if best is not None:
                values.append((answer, float(numbers.setdefault(best, len(numbers)))))
        yield _column("best", "nominal", values, ledger)


def _column(name: str, level: AlphaDistance, values: Sequence[tuple[StudyAnswer, float]], ledger: Ledger) -> Column:
    items = np.array([answer.item for answer, _ in values], dtype=np.int64)
    people = np.array([answer.rater for answer, _ in values], dtype=np.str_)
    ratings = LongRatings.of(items, people, [value for _, value in values], level=level)
    systems = np.array([ledger.items[answer.item].system for answer, _ in values], dtype=np.str_)
    return Column(name, ratings, systems, items)


def _token_columns(ledger: Ledger, answers: Sequence[StudyAnswer]) -> Iterator[Column]:
    """Yield the labels of tokens, as the annotation paper measures agreement: each side by itself, then each label."""
    answers = [answer for answer in answers if "groups" in answer.payload]
    labels = {label for answer in answers for group in answer.payload["groups"] for label in group["labels"]}
    names = ["none", *sorted(labels)]
    parts: list[tuple[Any, ...]] = []
    begins: dict[tuple[int, str], int] = {}
    end = 0
    for answer in answers:
        unit = ledger.items[answer.item]
        for side, text in (("source", unit.source), ("output", unit.output)):
            length = len(token_spans(text, unit.tokens))
            tokens = np.zeros(length, dtype=np.int64)
            for group in reversed(answer.payload["groups"]):
                tokens[group[side]] = names.index(group["labels"][0])
            begin = begins.setdefault((answer.item, side), end)
            end = max(end, begin + length)
            constants = (np.full(length, value) for value in (side, answer.rater, unit.system, answer.item))
            parts.append((tokens, np.arange(begin, begin + length), *constants))
    if not parts:
        return
    marks, positions, sides, people, systems, items = map(np.concatenate, zip(*parts, strict=True))

    def column(name: str, values: Ints, points: int, rows: npt.NDArray[np.bool_]) -> Column:
        numbers = np.arange(points, dtype=np.float64)
        ratings = LongRatings(positions[rows], people[rows], values[rows], numbers, "nominal")
        return Column(name, ratings, systems[rows], items[rows])

    for side in ("source", "output"):
        yield column(f"tokens of the {side}", marks, len(names), sides == side)
    for at, name in enumerate(names[1:], 1):
        yield column(name, (marks == at).astype(np.int64), 2, np.ones(len(marks), dtype=np.bool_))


def _agreement(column: Column) -> Record:
    ratings = column.ratings
    cuts = sorted({round(len(ratings) * part / _GROWTH) for part in range(1, _GROWTH + 1)} - {0})
    low = high = first = second = math.nan
    # No interval where the units are words, which are not drawn one by one.
    if 1 < len(ratings) <= _MOST_DRAWN and ratings.compared >= 2:
        estimate = ratings.krippendorff().estimate(Sampling(resamples=_DRAWS))
        low, high = estimate.low, estimate.high
    if len(ratings):  # The items that were complete first, and the rest: this shows a drift over time.
        last = np.zeros(int(ratings.units.max()) + 1)
        np.maximum.at(last, ratings.units, np.arange(len(ratings)))
        early = (last <= np.median(last))[ratings.units]
        halves = (replace(ratings, units=ratings.units[rows], raters=ratings.raters[rows], values=ratings.values[rows])
                  for rows in (early, ~early))  # fmt: skip
        first, second = (half.krippendorff().value for half in halves)
    return {
        "name": column.name,
        "level": ratings.level,
        "alpha": ratings.krippendorff().value,
        "low": low,
        "high": high,
        "first_half": first,
        "second_half": second,
        "ratings": len(ratings),
        "compared": ratings.compared,
        "growth": [{"ratings": cut, "alpha": ratings.krippendorff(first=cut).value} for cut in cuts],
    }


def raters(ledger: Ledger, project: Project, answers: Sequence[StudyAnswer], columns: Sequence[Column]) -> list[Record]:
    """Return each rater's answers, speed, distance from the others and checks, with the reasons to look closer."""
    by_rater: dict[str, list[StudyAnswer]] = defaultdict(list)
    for answer in answers:
        by_rater[answer.rater].append(answer)
    checks: dict[str, list[bool]] = defaultdict(list)
    for answer in ledger.answers("check"):
        expected = ledger.items[answer.item].expected or {}
        checks[answer.rater].append(tasks.is_as_expected(project, answer.payload, expected))
    distances, outlying = _distances(columns[:2] if project.task == "operations" else columns)
    drift = _drift(columns) if project.task == "rating" else {}
    usual = _median_seconds(answers)
    rows: list[Record] = []
    for name, own in sorted(by_rater.items(), key=lambda pair: -len(pair[1])):
        distance, compared = distances.get(name, (math.nan, 0))
        seconds = _median_seconds(own)
        reasons = [f"{', '.join(questions)}: {reason}" for reason, questions in outlying.get(name, {}).items()]
        if seconds < usual / 3 and _is_fast(own, usual / 3, _ERROR / len(by_rater)):
            reasons.append("three times as fast as usual")
        reasons += drift.get(name, [])
        if checks[name] and sum(checks[name]) < len(checks[name]) / 2:
            others = [passed for other, results in checks.items() if other != name for passed in results]
            if _chance_of_misses(checks[name], others) <= _ERROR / len(by_rater):
                reasons.append("missed most checks")
        figures = {"answers": len(own), "seconds": seconds, "distance": distance, "compared": compared}
        score = f"{sum(checks[name])}/{len(checks[name])}" if checks[name] else ""
        rows.append({"rater": name, **figures, "checks": score, "reasons": reasons})
    return rows


def _is_fast(answers: Sequence[StudyAnswer], limit: float, error: float) -> bool:
    """Return whether a rater's usual time is below a limit, by the sign test."""
    from scipy.special import bdtr

    slow = [answer.seconds >= limit for answer in answers if answer.seconds is not None]
    return bool(bdtr(sum(slow), len(slow), 0.5) <= error)


def _chance_of_misses(own: Sequence[bool], others: Sequence[bool]) -> float:
    """Return how probable so many missed checks are for somebody who misses as many as the others."""
    from scipy.special import bdtrc

    missed = own.count(False)
    return float(bdtrc(missed - 1, len(own), (others.count(False) + 1) / (len(others) + 2)))


def self_agreement(ledger: Ledger, project: Project) -> list[Record]:
    """Return how far people answer a repeated item as they did before: the share of same answers, and alpha."""

    def key(answer: StudyAnswer) -> tuple[Any, ...]:
        unit = ledger.items[answer.item]
        return answer.rater, unit.name, unit.outputs

    if not (repeats := ledger.answers("repeat")):
        return []
    first = {key(answer): answer for answer in ledger.answers()}
    pairs = [(first[key(answer)], answer) for answer in repeats if key(answer) in first]
    scales = {scale.name: scale.level for scale in project.scales}
    values: dict[str, list[tuple[Any, Any]]] = {name: [] for name in scales}
    for pair in pairs:
        before, again = (_outcomes(project, answer) for answer in pair)
        for name in before.keys() & again.keys():
            values.setdefault(name, []).append((before[name], again[name]))
    return [_compare_answers(name, scales.get(name, "nominal"), both) for name, both in values.items() if both]


def _outcomes(project: Project, answer: StudyAnswer) -> dict[str, Any]:
    """Return what an answer says on each question; nothing where the rater could not judge."""
    if answer.cannot_judge:
        return {}
    if project.task == "rating":
        return {name: value for name, value in answer.values.items() if value is not None}
    if project.task == "ranking":
        choice = answer.payload["choice"]
        return {"best": "tie" if choice.get("tie") else choice["best_system"]}
    return {"labels": tuple(sorted({label for group in answer.payload["groups"] for label in group["labels"]}))}


def _compare_answers(name: str, level: AlphaDistance, pairs: Sequence[tuple[Any, Any]]) -> Record:
    answers = [answer for pair in pairs for answer in pair]
    if level == "nominal":
        codes = {answer: float(code) for code, answer in enumerate(dict.fromkeys(answers))}
        answers = [codes[answer] for answer in answers]
    times = ["first", "second"] * len(pairs)
    ratings = LongRatings.of(np.arange(len(answers)) // 2, times, answers, level=level)
    same = sum(before == again for before, again in pairs) / len(pairs)
    return {"name": name, "repeated": len(pairs), "same": same, "alpha": ratings.krippendorff().value}


def _distances(columns: Sequence[Column]) -> tuple[dict[str, tuple[float, int]], dict[str, dict[str, list[str]]]]:
    """Return each rater's mean distance from the others with the number of comparisons, and what is conspicuous where.

    Distances are in standard deviations of the column; for nominal values, the share of others who differ.
    """
    sums: dict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    outlying: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for column in columns:
        ratings = column.ratings
        spread = 1.0 if ratings.level == "nominal" else float(ratings.numbers.std()) if len(ratings) else 0.0
        if not len(ratings) or not spread:
            continue
        for rater in ratings.by_rater(error=_ERROR / 2 / len(columns), clusters=column.items):
            if rater.compared:
                sums[rater.name] += rater.distance * rater.compared / spread
                counts[rater.name] += rater.compared
            if rater.outlying and rater.n >= FEWEST:
                outlying[rater.name][rater.outlying].append(column.name)
    for rater in _agree_on_all(columns):
        if rater.outlying and rater.n >= FEWEST and rater.name not in outlying:
            outlying[rater.name][rater.outlying].append("all questions")
    return {name: (sums[name] / counts[name], counts[name]) for name in sums}, outlying


def _agree_on_all(columns: Sequence[Column]) -> list[Rater]:
    """Compare every rater with the others on all scales at once, which shows sooner who rates at random.

    Each rater's ratings on a scale are deviations from their mean, so that strictness does not count.
    """
    parts = []
    for number, column in enumerate(columns):
        ratings = column.ratings
        if ratings.level == "nominal" or not len(ratings) or not ratings.numbers.std():
            continue
        rater = np.unique(ratings.raters, return_inverse=True)[1]
        means = np.bincount(rater, weights=ratings.numbers) / np.bincount(rater)
        values = (ratings.numbers - means[rater]) / ratings.numbers.std()
        parts.append((column.items * len(columns) + number, ratings.raters, values, column.items))
    if len(parts) < 2:
        return []
    units, people, values, items = map(np.concatenate, zip(*parts, strict=True))
    return LongRatings.of(units, people, values, level="interval").by_rater(error=_ERROR / 2, clusters=items)


def _drift(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return who rates differently now than at first, compared with the others on the same items."""
    from scipy.special import stdtrit

    reasons: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        ratings = column.ratings
        if not len(ratings):
            continue
        others = np.bincount(ratings.units)[ratings.units] - 1
        numbers, shared = ratings.numbers, others > 0
        sums = np.bincount(ratings.units, weights=numbers)
        distances = numbers[shared] - (sums[ratings.units] - numbers)[shared] / others[shared]
        names = np.unique(ratings.raters[shared])
        for name in names:
            own = distances[ratings.raters[shared] == name]
            half = len(own) // 2
            if half < _DRIFT_FEWEST:
                continue
            change = float(own[half:].mean() - own[:half].mean())
            error = math.sqrt(own[half:].var(ddof=1) / (len(own) - half) + own[:half].var(ddof=1) / half)
            limit = stdtrit(len(own) - 2, 1 - _ERROR / len(columns) / len(names) / 2)
            if error and abs(change) > limit * error:
                reasons[str(name)].append(f"{column.name}: rates {'higher' if change > 0 else 'lower'} than at first")
    return reasons


def precision(columns: Sequence[Column], project: Project, ledger: Ledger, pace: float) -> Iterator[Record]:
    """Yield each system's mean with the half-width of its 95 % interval: now, in an hour at this pace, at the end."""
    by_system = Counter(unit.system for unit in ledger.items.values() if unit.kind == "main")
    for column in columns:
        for system in np.unique(column.systems):
            rows = column.systems == system
            _, unit = np.unique(column.ratings.units[rows], return_inverse=True)
            means = np.bincount(unit, weights=column.ratings.numbers[rows]) / np.bincount(unit)
            n, whole = len(means), by_system[str(system)]
            sd = float(means.std(ddof=1)) if n > 1 else math.nan
            share = pace / max(1, len(by_system)) / max(1, project.assignment.overlap)
            yield {
                "dimension": column.name,
                "system": str(system),
                "mean": float(means.mean()),
                "items": n,
                "now": _Z * sd / math.sqrt(n),
                "in_an_hour": _Z * sd / math.sqrt(min(whole, n + share)),
                "at_the_end": _Z * sd / math.sqrt(whole),
            }


def disagreements(
    ledger: Ledger,
    project: Project,
    *,
    question: str = "",
    rater: str = "",
    search: str = "",
    settled: Collection[int] = (),
) -> list[Record]:
    """Return the items on which raters differ, the widest spread first, and those that are settled.

    The filters are a scale on which raters differ, one of the raters of the item, and words of its texts.
    """
    by_item: dict[int, list[StudyAnswer]] = defaultdict(list)
    for answer in ledger.answers():
        if not answer.cannot_judge:
            by_item[answer.item].append(answer)
    rows = []
    for item in {*by_item, *settled}:
        unit, answers = ledger.items[item], by_item[item]
        spread = _spread(project, answers, question) if len(answers) > 1 else 0.0
        texts = [unit.source, *(text for _, text in unit.outputs)]
        is_wanted = (spread > 0 or (item in settled and not question)) and (
            not rater or any(answer.rater == rater for answer in answers)
        )
        if is_wanted and any(search.casefold() in text.casefold() for text in texts):
            rows.append({"item": unit, "spread": spread, "answers": answers})
    return sorted(rows, key=lambda row: (-row["spread"], row["item"].id))


def _spread(project: Project, answers: Sequence[StudyAnswer], question: str = "") -> float:
    if project.task == "rating":
        widths = []
        for scale in project.scales:
            values = [value for answer in answers if (value := answer.values.get(scale.name)) is not None]
            if len(values) > 1 and question in ("", scale.name):
                widths.append((max(values) - min(values)) / (scale.maximum - scale.minimum))
        return max(widths, default=0.0)
    if project.task == "operations":
        labels = [{label for group in answer.payload["groups"] for label in group["labels"]} for answer in answers]
        union = set().union(*labels)
        return 1 - len(set.intersection(*labels)) / len(union) if union else 0.0
    best = Counter(str(answer.payload["choice"].get("best_system", "tie")) for answer in answers)
    return 1 - best.most_common(1)[0][1] / len(answers)


def is_precise(ledger: Ledger, project: Project) -> bool:
    """Return whether the stop rule on precision is met, by every system's mean on every scale."""
    limit = project.stop.half_width
    if not limit or project.task != "rating":
        return False
    rows = list(precision(list(agreement_columns(ledger, project, ledger.answers())), project, ledger, 0.0))
    systems = {unit.system for unit in ledger.items.values() if unit.kind == "main"}
    return len(rows) == len(systems) * len(project.scales) and all(row["now"] <= limit for row in rows)


def _answers_per_hour(answers: Sequence[StudyAnswer]) -> float:
    """Return the number of answers per hour over the last hour of work, or over all of it while it is shorter."""
    now = time.time()
    recent = [answer.at for answer in answers if now - answer.at < _PACE_SECONDS]
    return len(recent) / max(now - recent[0], 60.0) * 3600 if len(recent) > 1 else 0.0


def _median_seconds(answers: Sequence[StudyAnswer]) -> float:
    seconds = [answer.seconds for answer in answers if answer.seconds is not None]
    return float(np.median(seconds)) if seconds else math.nan
