"""Intervals and tests over items and raters, against independent computations."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import scipy.stats
from statsmodels.regression.mixed_linear_model import MixedLM

from plainly.stats.crossed import contrast

ONE, PAIR = np.ones(1), np.array([1.0, -1.0])


def _ratings(rng: np.random.Generator, systems: int, items: int, raters: int, *, strict: float = 0.5) -> np.ndarray:
    shared = rng.normal(size=(1, items, 1)) + strict * rng.normal(size=(1, 1, raters))
    own = 0.6 * rng.normal(size=(systems, items, 1)) + 0.4 * rng.normal(size=(systems, 1, raters))
    return 3 + shared + own + 0.8 * rng.normal(size=(systems, items, raters))


def _fit_mixed_model(values: np.ndarray, variances: dict[str, str]) -> tuple[float, float]:
    """The last fixed effect (a mean, or a difference to the first system) and its standard error, by statsmodels."""
    cells = zip(np.ndindex(values.shape), values.ravel(), strict=True)
    frame = pandas.DataFrame([{"y": value, **dict(zip("sir", cell, strict=True))} for cell, value in cells])
    formula = "y ~ C(s)" if len(values) > 1 else "y ~ 1"
    model = MixedLM.from_formula(formula, frame, groups=np.ones(len(frame)), re_formula="0", vc_formula=variances)
    fit = model.fit(reml=True, method="lbfgs")
    return float(fit.fe_params.iloc[-1]), float(fit.bse_fe.iloc[-1])


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_is_that_of_statsmodels_mixed_model(seed: int) -> None:
    values = _ratings(np.random.default_rng(seed), 1, 12, 5, strict=1.0)
    result = contrast(values, ONE)
    expected = _fit_mixed_model(values, {"item": "0 + C(i)", "rater": "0 + C(r)"})
    assert (result.value, result.standard_error) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_difference_is_that_of_statsmodels_mixed_model(seed: int) -> None:
    """In the model of both systems' ratings, in which items and raters have effects of their own on each system."""
    rng = np.random.default_rng(seed)
    values = _ratings(rng, 2, 10, 5) + rng.normal(size=(1, 10, 5))  # no component is estimated as negative
    parts = {"i": "0 + C(i)", "r": "0 + C(r)", "ir": "0 + C(i):C(r)", "si": "0 + C(s):C(i)", "sr": "0 + C(s):C(r)"}
    result = contrast(values[::-1], PAIR)
    assert (result.value, result.standard_error) == pytest.approx(_fit_mixed_model(values, parts), rel=1e-3)


def test_with_one_rater_the_test_is_the_paired_t_test() -> None:
    values = np.random.default_rng(1).normal(size=(2, 15, 1))
    result = contrast(values, PAIR)
    expected = scipy.stats.ttest_rel(*values[..., 0])
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-4)
    assert result.bounds(0.9) == pytest.approx(tuple(expected.confidence_interval(0.9)), rel=1e-4)


def test_if_only_raters_vary_the_test_is_the_t_test_of_raters() -> None:
    by_rater = np.array([0.3, 0.5, 0.9, 0.4])
    values = np.stack([np.tile(by_rater, (9, 1)), np.zeros((9, 4))])
    assert contrast(values, PAIR).p_value == pytest.approx(scipy.stats.ttest_1samp(by_rater, 0).pvalue, rel=1e-4)


def test_raters_who_rate_one_system_only_do_not_cancel() -> None:
    """The same ratings are worth less if each system has raters of its own."""
    rng = np.random.default_rng(3)
    values = _ratings(rng, 2, 40, 3, strict=2.0)
    values[0] -= values[0].mean() - values[1].mean() - 1
    apart = np.full((2, 40, 6), np.nan)
    apart[0, :, :3], apart[1, :, 3:] = values
    same, other = contrast(values, PAIR), contrast(apart, PAIR)
    assert same.value == pytest.approx(other.value)
    assert other.standard_error > 2 * same.standard_error


@pytest.mark.parametrize("gaps", ["none", "some", "other raters"])
def test_the_variance_is_right_on_average(gaps: str) -> None:
    rng = np.random.default_rng(5)
    results = []
    for _ in range(400):
        values = _ratings(rng, 2, 15, 6)
        if gaps == "some":
            values[rng.random(values.shape) < 0.4] = np.nan
        if gaps == "other raters":
            values[0, :, :3] = values[1, :, 3:] = np.nan
        results.append(contrast(values, PAIR))
    spread = np.var([result.value for result in results])
    assert np.mean([result.variance for result in results]) == pytest.approx(spread, rel=0.2)


def test_what_cannot_be_computed_is_undefined() -> None:
    assert np.isnan(contrast(np.full((1, 4, 2), np.nan), ONE).value)
    one_item = contrast(np.array([[[1.0, 2.0]]]), ONE)
    assert one_item.value == 1.5
    assert np.isnan(one_item.p_value)
    same = contrast(np.ones((2, 5, 3)), PAIR)
    assert (same.p_value, same.bounds(0.95)) == (1.0, (0.0, 0.0))


def test_a_detectable_difference_is_found_in_four_of_five_studies() -> None:
    rng = np.random.default_rng(8)
    size = np.mean([contrast(_ratings(rng, 2, 30, 8), PAIR).detectable(0.95) for _ in range(40)])
    shift = size * np.array([1.0, 0.0])[:, None, None]
    detected = [contrast(_ratings(rng, 2, 30, 8) + shift, PAIR).p_value <= 0.05 for _ in range(300)]
    assert 0.72 <= np.mean(detected) <= 0.92
