"""Which operations does a metric see? Its score and its parts, related to what was done to each sentence.

Correlation looks at one operation at a time. Regression asks how well all of them together explain a part of the score,
and is judged on sources that it was not fitted to.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from plainly.core import registry
from plainly.core.errors import BadInput, UnknownName, needing
from plainly.core.evalset import EvalSet
from plainly.core.formatting import number
from plainly.core.metric import Metric
from plainly.core.result import Record, Result, Table
from plainly.stats.correlate import correlation, t_test
from plainly.stats.resample import Floats
from plainly.typology.annotation import Pair, squeeze
from plainly.typology.features import Ints
from plainly.typology.labelling import Annotated, annotated, payload
from plainly.typology.profiles import counts, labels_in

Estimator = Literal["lasso", "ridge", "linear", "tree", "forest"]


@dataclass(frozen=True, slots=True)
class OperationCorrelation:
    """Spearman's rho between how often an operation occurs and a score; NaN where either never varies."""

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
    """Of each part of a metric, its correlation with every operation that occurs."""

    metric: str
    pairs: int
    parts: Mapping[str, tuple[OperationCorrelation, ...]]

    def records(self) -> list[Record]:
        return [{"part": part, **asdict(row)} for part, rows in self.parts.items() for row in rows]

    def json(self) -> Record:
        parts: Record = {part: {} for part in self.parts}
        for row in self.records():
            parts[row.pop("part")][row.pop("label")] = row
        return payload(self, metric=self.metric, pairs=self.pairs, parts=parts)

    def tables(self) -> list[Table]:
        header = ("operation", *(f"{part} {what}" for part in self.parts for what in ("rho", "p")))
        rows = []
        for same in zip(*self.parts.values(), strict=True):
            cells = (cell for row in same for cell in (_cell(row.rho, 3), _cell(row.p_value, 4)))
            rows.append((same[0].label, *cells))
        return [Table(header, tuple(rows))]


@dataclass(frozen=True, repr=False)
class MetricRegressions(Result):
    """Of each part of a metric, its regression on the operations that occur."""

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
            (label, *(_cell(fit.coefficients[label], 2) for fit in fits))
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
    """The correlation of operations with a metric and its parts; each output is scored against its source's others."""
    pairs, labels, table, scores = _scored(data, metric, parts)
    correlated = {part: correlations(table, labels, values) for part, values in scores.items()}
    return OperationCorrelations(metric, len(pairs), correlated)


def regress(
    data: Annotated,
    *,
    metric: str = "sari",
    parts: Sequence[str] | None = None,
    model: Estimator = "lasso",
    alpha: float | None = None,
    folds: int = 10,
) -> MetricRegressions:
    """The regression of a metric's parts on operations; each output is scored against its source's others."""
    pairs, labels, table, scores = _scored(data, metric, parts)
    sources = [pair.source for pair in pairs]
    fits = {
        part: regression(table, labels, values, groups=sources, model=model, alpha=alpha, folds=folds)
        for part, values in scores.items()
    }
    return MetricRegressions(metric, model, folds, fits)


def _scored(
    data: Annotated, spec: str, parts: Sequence[str] | None
) -> tuple[list[Pair], tuple[str, ...], Ints, dict[str, Floats]]:
    """Pairs without errors, the operations that occur in them with their counts, and the parts of their scores."""
    pairs = [pair for pair in annotated(data) if "err" not in pair.labels]
    metric = registry.metric(spec)
    wanted = parts or metric.outputs[:4]
    unknown = next((part for part in wanted if part not in metric.outputs), None)
    if unknown:
        raise BadInput(f"{spec} has no output {unknown!r}. It has: {', '.join(metric.outputs)}")
    scores = leave_one_out(pairs, metric)
    labels = labels_in(pairs)
    table = counts(pairs, labels)
    present = np.flatnonzero(table.any(axis=0))
    return pairs, tuple(labels[at] for at in present), table[:, present], {part: scores[part] for part in wanted}


def leave_one_out(pairs: Sequence[Pair], metric: Metric) -> dict[str, Floats]:
    """Each output scored against the other outputs of the same source as references: one value a pair for each part.

    This is how the ASSETann paper asks what SARI rewards: the simplifications are people's, so that differences in
    their scores come from what they did. Outputs of a source that has only one are NaN.
    """
    by_source: dict[str, list[int]] = {}
    for at, pair in enumerate(pairs):
        by_source.setdefault(squeeze(pair.source), []).append(at)
    chosen = [at for at, pair in enumerate(pairs) if len(by_source[squeeze(pair.source)]) > 1]
    if not chosen:
        raise BadInput("No source has two outputs or more, so that none can be scored against the others.")
    references = [
        [pairs[other].output for other in by_source[squeeze(pairs[at].source)] if other != at] for at in chosen
    ]
    evalset = EvalSet.of([pairs[at].source for at in chosen], references=references)
    scores = np.full((len(pairs), len(metric.outputs)), np.nan)
    scores[chosen] = metric.score(metric.measure(evalset, [pairs[at].output for at in chosen]))
    return dict(zip(metric.outputs, scores.T, strict=True))


def correlations(table: Ints, labels: Sequence[str], values: Floats) -> tuple[OperationCorrelation, ...]:
    """Spearman's rank correlation of each operation's count with a score, over the items whose score is defined."""
    defined = ~np.isnan(values)
    kept, n = values[defined], int(defined.sum())
    rows = []
    for label, column in zip(labels, table[defined].T, strict=True):
        rho = p_value = float("nan")
        if n >= 3 and np.ptp(column) and np.ptp(kept):
            rho = correlation(column, kept, kind="spearman")
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
    selection = _sklearn("model_selection")
    defined = ~np.isnan(values)
    inputs, target = table[defined].astype(np.float64), values[defined]
    names, members = np.unique(np.array([squeeze(group) for group in groups])[defined], return_inverse=True)
    if len(names) < folds:
        raise BadInput(f"There are {len(names)} sources, too few for {folds} folds. Pass a smaller folds=.")
    splits = list(selection.GroupKFold(n_splits=folds).split(inputs, target, members))
    fitted = _estimator(model, alpha, splits).fit(inputs, target)
    if alpha is None and model in ("lasso", "ridge"):
        alpha = float(fitted.alpha_)
    held_out = selection.cross_val_score(_estimator(model, alpha, splits), inputs, target, cv=splits, scoring="r2")
    weights = map(float, getattr(fitted, "coef_", ()))
    return Regression(
        alpha=alpha,
        intercept=float(getattr(fitted, "intercept_", np.nan)),
        coefficients=dict(zip(labels, weights, strict=False)),
        r2=float(fitted.score(inputs, target)),
        r2_held_out=float(np.mean(held_out)),
        n=len(target),
    )


def _estimator(model: Estimator, alpha: float | None, splits: Any) -> Any:
    linear = _sklearn("linear_model")
    if model == "lasso":
        return linear.LassoCV(cv=splits) if alpha is None else linear.Lasso(alpha=alpha)
    if model == "ridge":
        return linear.RidgeCV(alphas=np.logspace(-2, 4, 25), cv=splits) if alpha is None else linear.Ridge(alpha=alpha)
    if model == "linear":
        return linear.LinearRegression()
    if model == "tree":
        return _sklearn("tree").DecisionTreeRegressor(max_depth=5, min_samples_leaf=20, random_state=0)
    return _sklearn("ensemble").RandomForestRegressor(n_estimators=100, min_samples_leaf=10, random_state=0)


def _sklearn(module: str) -> Any:
    with needing("Regression on operations", package="scikit-learn", extra="regression"):
        return importlib.import_module(f"sklearn.{module}")


def _cell(value: float, decimals: int) -> str:
    return number(value, decimals, undefined="–")
