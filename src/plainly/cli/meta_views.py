"""What ``plainly meta`` shows: tables of correlations, agreement and relations, and the same as plain data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

from plainly.questions.meta import Agreement, MetaEvaluation, Relation, Row
from plainly.ratings.types import Judgements
from plainly.render.tables import delimited
from plainly.result import Table
from plainly.stats.correlate import NAMES
from plainly.stats.estimate import Estimate

STATISTICS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "accuracy": "pairwise accuracy",
    "partial": "partial Pearson",
}


def header(judgements: Judgements, seed: int) -> dict[str, Any]:
    """What was rated: the start of the JSON, schema plainly.meta/1."""
    return {
        "schema": "plainly.meta/1",
        "ratings": judgements.name,
        "seed": seed,
        "dimensions": [
            {
                "dimension": name,
                "systems": len(judgements.systems),
                "items": len(judgements.items),
                "raters": len(judgements[name].raters),
                "outputs": len(judgements[name].units()),
                "scale": list(judgements[name].scale or ()) or None,
            }
            for name in judgements
        ],
    }


def correlations(found: MetaEvaluation) -> dict[str, Any]:
    return {
        "slices": found.slices,
        "filter": found.filtered or None,
        "correlations": [
            {
                **{key: getattr(row, key) for key in ("metric", "dimension", "level", "slice", "references")},
                "statistic": row.statistic,
                **_estimate(row.estimate),
                "p_value": row.p_value,
                "p_drawn": row.p_drawn,
                "detail": row.detail or None,
            }
            for row in found.rows
        ],
        "comparisons": [
            {
                **{key: getattr(each, key) for key in ("dimension", "level", "slice", "first", "second")},
                "first_correlation": each.difference.first,
                "second_correlation": each.difference.second,
                "difference": each.difference.difference,
                "p_value": each.difference.p_value,
                "test": each.difference.test,
                "n": each.difference.n,
            }
            for each in found.comparisons
        ],
        "metric_metric": [
            {"first": one, "second": other, "pearson": value} for (one, other), value in found.metric_metric.items()
        ],
        "signatures": found.signatures,
    }


def correlation_grids(found: MetaEvaluation) -> list[Table]:
    """A table for each dimension, level, slice and set of references; then tests; then metrics against each other."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in found.rows:
        groups.setdefault((row.level, row.dimension, row.slice, row.references), []).append(row)
    grids = []
    for (level, dimension, slice_, references), rows in groups.items():
        statistics = list(dict.fromkeys(row.statistic for row in rows))
        metrics = list(dict.fromkeys(row.metric for row in rows))
        cells = {(row.metric, row.statistic): row for row in rows}
        n = max(row.estimate.n for row in rows)
        what = f"{n} {'systems' if level == 'system' else 'outputs'}"
        against = f", references {references}" if references else ""
        chosen = f", {slice_}" if slice_ != "all" else ""
        grids.append(
            Table(
                ("metric", *(STATISTICS[name] for name in statistics)),
                tuple((metric, *(_cell(cells.get((metric, name))) for name in statistics)) for metric in metrics),
                caption=f"{dimension} by {level}: {what}{chosen}{against}",
            )
        )
    if found.comparisons:
        grids.append(_comparison_grid(found))
    if found.metric_metric:
        grids.append(_metric_grid(found))
    return grids


def _comparison_grid(found: MetaEvaluation) -> Table:
    rows = tuple(
        (
            each.first,
            each.second,
            f"{each.level}{'' if each.slice == 'all' else f', {each.slice}'}",
            f"{each.dimension}",
            _number(each.difference.first),
            _number(each.difference.second),
            _p(each.difference.p_value),
            each.difference.test.partition(",")[0],
        )
        for each in found.comparisons
    )
    return Table(
        ("metric A", "metric B", "level", "dimension", "r of A", "r of B", "p", "test"),
        rows,
        caption="Does A correlate better than B? Signs are turned where lower is better.",
        text_columns=frozenset({0, 1, 2, 3, 7}),
    )


def _metric_grid(found: MetaEvaluation) -> Table:
    names = list(dict.fromkeys(name for pair in found.metric_metric for name in pair))
    values = {**found.metric_metric, **{(b, a): value for (a, b), value in found.metric_metric.items()}}
    return Table(
        ("Pearson", *names),
        tuple((one, *("" if one == other else _number(values[one, other]) for other in names)) for one in names),
        caption="Metrics against each other, by output",
    )


def correlation_notes(found: MetaEvaluation) -> list[str]:
    first = found.rows[0].estimate if found.rows else None
    lines = [
        f"{NAMES['spearman']}; {NAMES['kendall']}; pairwise accuracy after tie calibration. * p < .05, ** p < .01."
    ]
    if first is not None:
        lines.append(
            f"In brackets: {first.level:.0%} {first.method}; items are drawn with all their outputs, for stars too."
        )
    if found.filtered:
        lines.append(f"filtered: {found.filtered}.")
    fixed = next((row.detail for row in found.rows if row.statistic == "partial"), "")
    if fixed:
        lines.append(f"Partial correlations are {fixed}.")
    return lines


def agreement_data(found: Agreement) -> dict[str, Any]:
    return {
        "dimension": found.dimension,
        "outputs": found.units,
        "raters": found.raters,
        "ratings": found.ratings,
        "standard_deviation": found.standard_deviation,
        "coefficients": [{"name": name, **_estimate(each)} for name, each in found.coefficients.items()],
        "resampled_kappa": dataclasses.asdict(found.resampled),
        "raters_by_reliability": [dataclasses.asdict(rater) for rater in found.by_rater],
    }


def agreement_grids(found: Sequence[Agreement]) -> list[Table]:
    names = list(dict.fromkeys(name for each in found for name in each.coefficients))
    kappas = "one rater against the others' mean, quadratic kappa"
    rows = [(name, *(_estimated(each.coefficients.get(name)) for each in found)) for name in names]
    rows.append((kappas, *(_kappa(each) for each in found)))
    grids = [
        Table(
            ("agreement", *(each.dimension for each in found)),
            tuple(rows),
            caption="; ".join(
                f"{each.dimension}: {each.units} outputs, {each.raters} raters, {each.ratings} ratings"
                for each in found
            ),
        )
    ]
    for each in found:
        apart = [rater for rater in each.by_rater if rater.outlying and rater.n >= 10]
        if apart:
            grids.append(
                Table(
                    ("rater", "ratings", "r with others", "bias", "alpha without", "why"),
                    tuple(
                        (
                            rater.name,
                            str(rater.n),
                            _number(rater.correlation),
                            _number(rater.bias),
                            _number(rater.alpha_without),
                            rater.outlying,
                        )
                        for rater in apart
                    ),
                    caption=f"{each.dimension}: raters who stand apart",
                    text_columns=frozenset({0, 5}),
                )
            )
    return grids


def agreement_notes(found: Iterable[Agreement]) -> list[str]:
    lines = []
    for each in found:
        few = sum(rater.n < 10 for rater in each.by_rater)
        if few:
            lines.append(f"{each.dimension}: {few} raters gave fewer than ten ratings, too few to judge them by.")
        if any("random" in name and math.isnan(value.value) for name, value in each.coefficients.items()):
            lines.append(
                f"{each.dimension}: two-way ICC is undefined, because no output was rated by every rater; use one-way."
            )
    return lines


def relation_data(found: Relation) -> dict[str, Any]:
    return {
        "x": found.x,
        "y": found.y,
        **_estimate(found.correlation.estimate),
        "r_squared": found.r2,
        "slope": found.slope,
        "intercept": found.intercept,
        "p_value": found.correlation.p_value,
        "within_systems": found.within_systems,
        "warning": found.warning or None,
    }


def relation_grid(found: Sequence[Relation]) -> Table:
    return Table(
        ("dimensions", "r", "R²", "slope", "p", "r within systems", "outputs"),
        tuple(
            (
                f"{each.x} – {each.y}",
                _estimated(each.correlation.estimate),
                _number(each.r2),
                _number(each.slope),
                _p(each.correlation.p_value),
                _number(each.within_systems),
                str(each.n),
            )
            for each in found
        ),
        caption="Dimensions against each other, over outputs",
    )


def pareto_grid(names: Sequence[str], frontier: Sequence[tuple[str, tuple[float, ...], tuple[str, ...]]]) -> Table:
    rows = tuple(
        (system, *map(_number, means), "on the frontier" if not beaten else f"beaten by {', '.join(beaten[:3])}")
        for system, means, beaten in frontier
    )
    return Table(
        ("system", *names, "Pareto"),
        rows,
        caption="Systems on all dimensions",
        text_columns=frozenset({0, len(names) + 1}),
    )


def print_csv(payload: dict[str, Any]) -> None:
    """The longest list of the payload as CSV: correlations, else agreement, else relations."""
    records = (
        payload.get("correlations")
        or [
            {"dimension": each["dimension"], **coefficient}
            for each in payload.get("agreement", ())
            for coefficient in each["coefficients"]
        ]
        or payload.get("relations", [])
    )
    if records:
        print(delimited(list(records[0]), [list(record.values()) for record in records]))


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "confidence": estimate.level,
        "n": estimate.n,
        "method": estimate.method,
    }


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    stars = "**" if row.p < 0.01 else "*" if row.p < 0.05 else ""
    return _estimated(row.estimate) + stars


def _estimated(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    if math.isnan(estimate.value) or math.isnan(estimate.low):
        return _number(estimate.value)
    return f"{estimate:.2f}"


def _kappa(found: Agreement) -> str:
    kappa = found.resampled
    if math.isnan(kappa.median):
        return "undefined"
    return f"{kappa.median:.2f} [{kappa.low:.2f}, {kappa.high:.2f}]"


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.2f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "undefined"
    return "<.001" if value < 0.001 else f"{value:.3f}"
