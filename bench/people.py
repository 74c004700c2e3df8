"""How long the statistics of human ratings take: agreement, correlations with metrics, and a studio's live figures.

    python bench/people.py

Each figure is the fastest of three runs, in processor seconds, so that other work on the machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from plainly.stats import agreement, correlate


def main() -> None:
    rng = np.random.default_rng(8)
    kappa = scale_ratings(rng, units=2240, raters=3)
    tell(
        "resampled kappa, 2,240 units × 3 raters, 1,000 draws",
        lambda: agreement.resampled_kappa(kappa, draws=1000, rng=rng),
    )
    alpha = scale_ratings(rng, units=2500, raters=5)
    tell(
        "Krippendorff's alpha of 4 dimensions, 50,000 ratings",
        lambda: [agreement.krippendorff(alpha).value for _ in range(4)],
    )
    human = rng.normal(size=600)
    metrics = [human + rng.normal(size=600) for _ in range(10)]
    tell(
        "10 metrics × 600 outputs, every correlation with its interval",
        lambda: [correlate.correlate(metric, human, kind=kind) for metric in metrics for kind in correlate.KINDS],
    )


def scale_ratings(rng: np.random.Generator, *, units: int, raters: int) -> npt.NDArray[np.float64]:
    """Ratings 1 to 5 of units that truly differ, by raters who err."""
    truth = rng.normal(0, 1, (units, 1))
    return np.clip(np.round(3 + truth + rng.normal(0, 0.7, (units, raters))), 1, 5).astype(np.float64)


def tell(what: str, work: Callable[[], object]) -> None:
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{what}: {best:.2f} s")


if __name__ == "__main__":
    main()
