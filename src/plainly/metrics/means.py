"""Metrics that are plain averages over items: their rows carry the value and whether there is one."""

from __future__ import annotations

import numpy as np

from plainly.protocol import Floats


def mean_rows(*columns: Floats) -> Floats:
    """Rows (n, 2k) from k columns of values, where NaN says that an item has none: values, then counts."""
    values = np.stack(columns, axis=-1).astype(np.float64)
    undefined = np.isnan(values)
    return np.concatenate((np.where(undefined, 0.0, values), (~undefined).astype(np.float64)), axis=-1)


def means(totals: Floats) -> Floats:
    """The averages over the items that have a value; NaN where none has."""
    middle = totals.shape[-1] // 2
    return ratio(totals[..., :middle], totals[..., middle:])


def ratio(part: Floats, whole: Floats) -> Floats:
    """Part by whole; undefined (NaN) where the whole is nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole == 0, np.nan, np.divide(part, whole))
