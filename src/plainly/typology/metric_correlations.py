"""Relations between the score of a metric, or its parts, and the operations on each sentence.

Correlation looks at one operation at a time. Regression measures how well all of them together explain a part of the
score, on sources that it was not fitted to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, require_package
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number
from plainly.core.metric import Metric
from plainly.core.result import Record, Result, Table
from plainly.stats.correlate import correlation, t_test
from plainly.stats.resample import Floats
from plainly.typology.annotation import Pair, squeeze
from plainly.typology.features import Ints
from plainly.typology.labelling import Annotated, load_annotated, payload
from plainly.typology.operations import counts, labels_in
from plainly.typology.vocabulary import describe

Estimator = Literal["lasso", "ridge", "linear", "tree", "forest"]


@dataclass(frozen=True, slots=True)
class OperationCorrelation:
    """Spearman's rho between the count of an operation and a score; NaN where either is constant."""

    label: str
    rho: float
    p_value: float
    n: int


@dataclass(frozen=True)
class Regression:
    """A model of a score on counts of operations. ``r2`` is on the data it was fitted to, ``r2_held_out`` is not."""

    alpha: float | None
    intercept: float
    coefficients: dict[str, float]
    r2: float
    r2_held_out: float
    n: int


@dataclass(frozen=True, repr=False)
class OperationCorrelations(Result):
    """The correlation of each part of a metric with every operation that occurs."""

    metric: str
    pairs: int
    parts: Mapping[str, tuple[OperationCorrelation, ...]]

    def records(self) -> list[Record]:
        return [{"part": part, **asdict(row)} for part, rows in self.parts.items() for row in rows]

    def json(self) -> Record:
        parts = {part: {row.pop("label"): row for row in map(asdict, rows)} for part, rows in self.parts.items()}
        return payload(self, metric=self.metric, pairs=self.pairs, parts=parts)

    def tables(self) -> list[Table]:
        header = ("operation", *(f"{part} {name}" for part in self.parts for name in ("rho", "p")))
        rows = (
            (describe(same[0].label), *(cell for row in same for cell in (_cell(row.rho, 3), _cell(row.p_value, 4))))
            for same in zip(*self.parts.values(), strict=True)
        )
        return [Table(header, tuple(rows))]


@dataclass(frozen=True, repr=False)
class MetricRegressions(Result):
    """The regression of each part of a metric on the operations that occur."""

    metric: str
    model: Estimator
    folds: int
    parts: Mapping[str, Regression]

    def records(self) -> list[Record]:
        rows = []
        for part, fit in self.parts.items():
            terms: Record = {"intercept": fit.intercept, **fit.coefficients}
            terms |= {"r2": fit.r2, "r2_held_out": fit.r2_held_out, "alpha": fit.alpha}
            rows += [{"part": part, "term": term, "value": value} for term, value in terms.items()]
        return rows

    def json(self) -> Record:
        parts = {part: asdict(fit) for part, fit in self.parts.items()}
        return payload(self, metric=self.metric, model=self.model, folds=self.folds, parts=parts)

    def tables(self) -> list[Table]:
        fits = list(self.parts.values())
        rows = [
            (describe(label), *(_cell(fit.coefficients[label], 2) for fit in fits))
            for label in fits[0].coefficients
            if any(abs(fit.coefficients[label]) > 0.005 for fit in fits)
        ]
        rows += [
            ("R², fitted", *(_cell(fit.r2, 3) for fit in fits)),
            (f"R², {self.folds} folds by source", *(_cell(fit.r2_held_out, 3) for fit in fits)),
            ("penalty", *("–" if fit.alpha is None else f"{fit.alpha:.3g}" for fit in fits)),
        ]
        return [Table((self.model, *self.parts), tuple(rows))]


def correlate(data: Annotated, *, metric: str = "sari", parts: Sequence[str] | None = None) -> OperationCorrelations:
    """Correlate operations with a metric and its parts; each output is scored against the others of its source."""
    pairs, labels, table, scores = _score_pairs(data, metric, parts)
    by_part = {part: correlations(table, labels, values) for part, values in scores.items()}
    return OperationCorrelations(metric, len(pairs), by_part)


def regress(
    data: Annotated,
    *,
    metric: str = "sari",
    parts: Sequence[str] | None = None,
    model: Estimator = "lasso",
    alpha: float | None = None,
    folds: int = 10,
) -> MetricRegressions:
    """Regress a metric's parts on operations; each output is scored against the others of its source."""
    pairs, labels, table, scores = _score_pairs(data, metric, parts)
    sources = [pair.source for pair in pairs]
    fits = {
        part: regression(table, labels, values, groups=sources, model=model, alpha=alpha, folds=folds)
        for part, values in scores.items()
    }
    return MetricRegressions(metric, model, folds, fits)


def _score_pairs(
    data: Annotated, spec: str, parts: Sequence[str] | None
) -> tuple[list[Pair], tuple[str, ...], Ints, dict[str, Floats]]:
    """Return pairs without errors, the operations in them with their counts, and the parts of their scores."""
    pairs = [pair for pair in load_annotated(data) if "err" not in pair.labels]
    metric = registry.metric(spec)
    names = parts or metric.outputs[:4]
    unknown = next((part for part in names if part not in metric.outputs), None)
    if unknown:
        raise BadInput(f"{spec} has no output {unknown!r}. It has: {', '.join(metric.outputs)}")
    scores = leave_one_out(pairs, metric)
    labels = labels_in(pairs)
    table = counts(pairs, labels)
    columns = np.flatnonzero(table.any(axis=0))
    return pairs, tuple(labels[at] for at in columns), table[:, columns], {part: scores[part] for part in names}


def leave_one_out(pairs: Sequence[Pair], metric: Metric) -> dict[str, Floats]:
    """Score each output against the other outputs of its source as references: one value per pair for each part.

    This is how the ASSETann paper studies what SARI rewards: people wrote the simplifications, so differences in score
    come from the operations. Outputs of a source that has only one are NaN.
    """
    by_source: dict[str, list[int]] = {}
    for at, pair in enumerate(pairs):
        by_source.setdefault(squeeze(pair.source), []).append(at)
    same_source = [by_source[squeeze(pair.source)] for pair in pairs]
    positions = [at for at, members in enumerate(same_source) if len(members) > 1]
    if not positions:
        raise BadInput("No source has two outputs or more, so none can be scored against others. Pass more outputs.")
    references = [[pairs[other].output for other in same_source[at] if other != at] for at in positions]
    evalset = EvalSet.of([pairs[at].source for at in positions], references=references)
    scores = np.full((len(pairs), len(metric.outputs)), np.nan)
    scores[positions] = metric.score(metric.measure(evalset, [pairs[at].output for at in positions]))
    return dict(zip(metric.outputs, scores.T, strict=True))


def correlations(table: Ints, labels: Sequence[str], values: Floats) -> tuple[OperationCorrelation, ...]:
    """Return Spearman's correlation of each operation's count with a score, over items with a defined score."""
    is_defined = ~np.isnan(values)
    scores, n = values[is_defined], int(is_defined.sum())
    rows = []
    for label, column in zip(labels, table[is_defined].T, strict=True):
        rho = p_value = float("nan")
        if n >= 3 and np.ptp(column) and np.ptp(scores):
            rho = correlation(column, scores, kind="spearman")
            p_value = t_test(rho, df=n - 2)
        rows.append(OperationCorrelation(label, rho, p_value, n))
    return tuple(rows)


def regression(
    table: Ints,
    labels: Sequence[str],
    values: Floats,
    *,
    groups: Sequence[str],
    model: Estimator = "lasso",
    alpha: float | None = None,
    folds: int = 10,
) -> Regression:
    """Fit a model of a score on counts of operations.

    ``groups`` (the sources) keep a source's outputs on one side of every split. Without ``alpha``, lasso and ridge
    choose the penalty that predicts best in cross-validation.
    """
    if model not in get_args(Estimator):
        raise UnknownName("model", model, get_args(Estimator), see="plainly operations regress --help")
    with require_package("Regression on operations", package="scikit-learn", extra="regression"):
        from sklearn import model_selection
    is_defined = ~np.isnan(values)
    inputs, target = table[is_defined].astype(np.float64), values[is_defined]
    names, members = np.unique(np.array([squeeze(group) for group in groups])[is_defined], return_inverse=True)
    if len(names) < folds:
        raise BadInput(f"There are {len(names)} sources, too few for {folds} folds. Pass a smaller folds=.")
    splits = list(model_selection.GroupKFold(n_splits=folds).split(inputs, target, members))
    estimator = _estimator(model, alpha, splits).fit(inputs, target)
    if alpha is None and model in ("lasso", "ridge"):
        alpha = float(estimator.alpha_)
    unfitted = _estimator(model, alpha, splits)
    held_out = model_selection.cross_val_score(unfitted, inputs, target, cv=splits, scoring="r2")
    return Regression(
        alpha=alpha,
        intercept=float(getattr(estimator, "intercept_", np.nan)),
        coefficients=dict(zip(labels, map(float, getattr(estimator, "coef_", ())), strict=False)),
        r2=float(estimator.score(inputs, target)),
        r2_held_out=float(np.mean(held_out)),
        n=len(target),
    )


def _estimator(model: Estimator, alpha: float | None, splits: Any) -> Any:
    from sklearn import ensemble, linear_model, tree

    is_free = alpha is None  # cross-validation chooses the penalty
    estimators = {
        "lasso": linear_model.LassoCV(cv=splits) if is_free else linear_model.Lasso(alpha=alpha),
        "ridge": linear_model.RidgeCV(np.logspace(-2, 4, 25), cv=splits) if is_free else linear_model.Ridge(alpha),
        "linear": linear_model.LinearRegression(),
        "tree": tree.DecisionTreeRegressor(max_depth=5, min_samples_leaf=20, random_state=0),
        "forest": ensemble.RandomForestRegressor(n_estimators=100, min_samples_leaf=10, random_state=0),
    }
    return estimators[model]


def _cell(value: float, decimals: int) -> str:
    return number(value, decimals, undefined="–")
