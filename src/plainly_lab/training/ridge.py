"""Heads fitted to finished features by least squares with shrinkage."""

import numpy as np

from plainly.core.metric import Floats
from plainly.learned.cefr import Head


def shrunk(features: Floats, values: Floats, ridge: float | Floats, weights: Floats | None = None) -> Head:
    """The head that says these values; ``ridge`` weighs its squared coefficients beside the summed squared errors.

    Every feature is brought to unit variance first.
    """
    weights = np.ones(len(values)) if weights is None else weights
    centre, spread = np.average(features, axis=0, weights=weights), features.std(axis=0) + 1e-6
    scaled, mean = (features - centre) / spread, np.average(values, weights=weights)
    products = (scaled * weights[:, None]).T @ scaled
    products[np.diag_indices_from(products)] += ridge
    slopes = np.linalg.solve(products, (scaled * weights[:, None]).T @ (values - mean)) / spread
    return Head(slopes, np.array(mean - slopes @ centre))
