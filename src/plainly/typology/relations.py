"""Which operations does a metric see? Its score and its parts, related to what was done to each sentence.

Correlation looks at one operation at a time. Regression asks how well all of them together explain a part of the score,
and is judged on sources that it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from plainly.errors import BadInput, MissingExtra, UnknownName
from plainly.evalset import EvalSet
from plainly.protocol import Metric
from plainly.stats.correlate import correlation, t_test
from plainly.typology.annotation import Pair
from plainly.typology.profile import squeeze

Floats = npt.NDArray[np.float64]
Model = Literal["lasso", "ridge", "linear", "tree", "forest"]
MODELS: tuple[Model, ...] = ("lasso", "ridge", "linear", "tree", "forest")


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rho between how often an operation occurs and a score; NaN where either never varies."""

    label: str
    rho: float
    p_value: float
    n: int


@dataclass(frozen=True)
class Regression:
    """A model of a score on counts of operations. ``r2`` is on the data it was fitted to, ``r2_held_out`` is not."""

    model: str
    alpha: float | None
    intercept: float
    coefficients: dict[str, float]
    r2: float
    r2_held_out: float
    folds: int
    n: int


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
    evalset = EvalSet.of(
        [pairs[at].source for at in chosen],
        references=[
            [pairs[other].output for other in by_source[squeeze(pairs[at].source)] if other != at] for at in chosen
        ],
    )
    scored = metric.score(metric.measure(evalset, [pairs[at].output for at in chosen]))
    found = {}
    for column, name in enumerate(metric.outputs):
        found[name] = np.full(len(pairs), np.nan)
        found[name][chosen] = scored[:, column]
    return found


def correlate(counts: npt.NDArray[np.int64], labels: Sequence[str], values: Floats) -> tuple[Correlation, ...]:
    """Spearman's rank correlation of each operation's count with a score, over the items whose score is defined."""
    defined = ~np.isnan(values)
    kept, n = values[defined], int(defined.sum())
    found = []
    for at, label in enumerate(labels):
        column = counts[defined, at]
        if n < 3 or not np.ptp(column) or not np.ptp(kept):
            found.append(Correlation(label, float("nan"), float("nan"), n))
            continue
        rho = correlation(column, kept, kind="spearman")
        found.append(Correlation(label, rho, t_test(rho, df=n - 2), n))
    return tuple(found)


def regress(
    counts: npt.NDArray[np.int64],
    labels: Sequence[str],
    values: Floats,
    *,
    groups: Sequence[str],
    model: Model = "lasso",
    alpha: float | None = None,
    folds: int = 10,
    seed: int = 0,
) -> Regression:
    """Fit a model of a score on counts of operations.

    ``groups`` (the sources) keep a source's outputs on one side of every split. Without ``alpha``, lasso and ridge
    choose the penalty that predicts best in cross-validation.
    """
    if model not in MODELS:
        raise UnknownName("model", model, MODELS, see="plainly operations regress --help")
    selection = _sklearn("model_selection")
    defined = ~np.isnan(values)
    inputs, target = counts[defined].astype(np.float64), values[defined]
    _, members = np.unique(np.array([squeeze(group) for group in groups])[defined], return_inverse=True)
    if len(np.unique(members)) < folds:
        raise BadInput(
            f"There are {len(np.unique(members))} sources, too few for {folds} folds. Give a smaller --folds."
        )
    splits = list(selection.GroupKFold(n_splits=folds).split(inputs, target, members))
    estimator = _estimator(model, alpha, splits, seed=seed).fit(inputs, target)
    if alpha is None and model in ("lasso", "ridge"):
        alpha = float(estimator.alpha_)
    held_out = selection.cross_val_score(
        _estimator(model, alpha, splits, seed=seed), inputs, target, cv=splits, scoring="r2"
    )
    weights = getattr(estimator, "coef_", None)
    return Regression(
        model=model,
        alpha=alpha,
        intercept=float(getattr(estimator, "intercept_", np.nan)),
        coefficients=dict(zip(labels, map(float, weights), strict=True)) if weights is not None else {},
        r2=float(estimator.score(inputs, target)),
        r2_held_out=float(np.mean(held_out)),
        folds=folds,
        n=len(target),
    )


def _estimator(model: Model, alpha: float | None, splits: Any, *, seed: int) -> Any:
    linear = _sklearn("linear_model")
    if model == "lasso":
        return linear.LassoCV(cv=splits) if alpha is None else linear.Lasso(alpha=alpha)
    if model == "ridge":
        return linear.RidgeCV(alphas=np.logspace(-2, 4, 25), cv=splits) if alpha is None else linear.Ridge(alpha=alpha)
    if model == "linear":
        return linear.LinearRegression()
    if model == "tree":
        return _sklearn("tree").DecisionTreeRegressor(max_depth=5, min_samples_leaf=20, random_state=seed)
    return _sklearn("ensemble").RandomForestRegressor(n_estimators=100, min_samples_leaf=10, random_state=seed)


def _sklearn(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtra("Regression on operations", package="scikit-learn", extra="regression") from None
