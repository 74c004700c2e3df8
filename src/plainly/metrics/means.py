"""What metrics share: parameters that are checked, and plain averages, whose rows carry values and if there are any."""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np

from plainly.core.files import read_shipped
from plainly.core.metric import Better, Floats, Metric, Needs
from plainly.core.registry import choice

_DETAILS = read_shipped(__file__, "details.toml")


class CheckedMetric(Metric):
    """A metric that, when it is made, checks the parameters for which there are only certain values (``Literal``).

    Its docstring is one line; what users read beyond that (``plainly metrics NAME``, ``help``) is in ``details.toml``.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if details := _DETAILS.get(cls.__dict__.get("name", "")):
            cls.__doc__ = f"{' '.join((cls.__doc__ or '').split())}\n\n{details}"

    def __post_init__(self) -> None:
        for parameter, allowed in _choices(type(self)).items():
            choice(getattr(self, parameter), allowed, parameter=parameter)


class MeanMetric(CheckedMetric):
    """A metric whose scores are averages over items; most describe a change of the source and judge nothing."""

    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "neither"

    def score(self, totals: Floats) -> Floats:
        return means(totals)


@cache
def _choices(metric: type) -> Mapping[str, tuple[str, ...]]:
    hints = get_type_hints(metric)
    return {parameter: get_args(hint) for parameter, hint in hints.items() if get_origin(hint) is Literal}


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
