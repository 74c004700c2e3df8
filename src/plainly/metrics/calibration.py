"""Calibration: a monotone map from the scores of a metric to the scale of human ratings, and the file that holds it.

The map is fitted by isotonic regression: of all functions that never fall, the one with the least squared error. Each
level of it is placed at the mean score of the outputs that have it, with straight lines between (Oron and Flournoy
2017), so that it has no steps.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from plainly.core.errors import BadInput
from plainly.core.files import read_whole, write_whole
from plainly.core.metric import Floats
from plainly.core.settings import Number, Settings, convert_settings

_ADVICE = "Make one: plainly meta RATINGS -m METRIC --calibrate FILE"
MonotoneMap = tuple[tuple[float, ...], tuple[float, ...]]  # scores in ascending order, and what they are mapped to


class Calibration(Settings, frozen=True, kw_only=True):
    """A map, what it holds for (``Metric.calibration_key``), and what it was fitted on."""

    schema: Literal["plainly.calibration/1"] = "plainly.calibration/1"
    metric: str
    holds_for: tuple[str, ...]
    ratings: str
    dimension: str
    scale: tuple[Number, Number]
    outputs: int
    sources: int
    seed: int
    signature: str
    errors: dict[str, dict[str, Number | str | None]]  # on other sources: before, after, gain, of a constant
    agreement: dict[str, Number]  # on the same sources: Pearson with people, its interval, and the number of outputs
    scores: tuple[Number, ...]
    values: tuple[Number, ...]

    def __post_init__(self) -> None:
        is_ascending = all(np.diff(self.scores) > 0) and all(np.diff(self.values) >= 0)
        if not self.scores or len(self.scores) != len(self.values) or not is_ascending:
            raise ValueError("scores and values must be equally many and ascend.")

    def apply(self, scores: Floats) -> Floats:
        """Return scores on the human scale; undefined ones stay undefined."""
        return np.interp(scores, self.scores, self.values)

    def check(self, path: str, key: Sequence[str]) -> None:
        """Raise unless the calibration holds for a metric with this key, or with this part of a key."""
        here = {part.partition(":")[0]: part for part in key}
        for part in self.holds_for:
            other = here.get(part.partition(":")[0], part)
            if other != part:
                raise BadInput(f"{path} was made for {part}, and this metric has {other}. {_ADVICE}")

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits of the SHA-256 of all that the file says."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]

    def write(self, path: str | Path) -> None:
        """Write the file."""
        write_whole(path, msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")


def read_calibration(path: str | Path) -> Calibration:
    """Read a file that ``plainly meta --calibrate`` wrote."""
    try:
        values = msgspec.json.decode(read_whole(path))
    except OSError as error:
        raise BadInput(f"The calibration {path} cannot be read: {error.strerror}.") from None
    except msgspec.DecodeError:
        raise BadInput(f"{path} is not a calibration. {_ADVICE}") from None
    return convert_settings(values, Calibration, where=str(path))


def fit_monotone(scores: Floats, values: Floats) -> MonotoneMap:
    """Return the map from scores to values that never falls and has the least squared error.

    >>> fit_monotone(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 5.0]))
    ((1.0, 2.5, 4.0), (1.0, 2.5, 5.0))
    """
    places, which = np.unique(scores, return_inverse=True)
    sizes = np.bincount(which).astype(np.float64)
    blocks: list[tuple[float, float, float]] = []  # size, sum of scores, sum of values
    for block in zip(sizes, sizes * places, np.bincount(which, values), strict=True):
        blocks.append(block)
        while len(blocks) > 1 and blocks[-2][2] / blocks[-2][0] >= blocks[-1][2] / blocks[-1][0]:
            pooled = tuple(a + b for a, b in zip(blocks[-2], blocks[-1], strict=True))
            blocks[-2:] = [(pooled[0], pooled[1], pooled[2])]
    table = np.array(blocks)
    return tuple((table[:, 1] / table[:, 0]).tolist()), tuple((table[:, 2] / table[:, 0]).tolist())
