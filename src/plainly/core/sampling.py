"""How intervals and tests draw: one value, checked when it is made, passed whole."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from plainly.core.errors import BadInput, did_you_mean

Method = Literal["percentile", "bca"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Confidence level, bootstrap draws, kind of interval and the seed of it all."""

    level: float = 0.95
    resamples: int = 1000
    method: Method = "percentile"
    seed: int = 12345

    def __post_init__(self) -> None:
        if not (isinstance(self.level, (int, float)) and math.isfinite(self.level) and 0 < self.level < 1):
            raise BadInput(f"The confidence level is between 0 and 1, for example 0.95; not {self.level}.")
        if not _whole(self.resamples) or self.resamples < 1:
            raise BadInput(f"The number of bootstrap draws must be at least 1, not {self.resamples}.")
        if self.method not in METHODS:
            near = did_you_mean(str(self.method), METHODS)
            raise BadInput(f"Unknown kind of interval {self.method!r}.{near} There are: {', '.join(METHODS)}")
        if not _whole(self.seed) or self.seed < 0:
            raise BadInput(f"A seed is a whole number from 0 on, not {self.seed}.")


class SamplingOptions(TypedDict, total=False):
    """The same as keywords, for functions that people call: ``plainly.score(…, level=0.9, seed=1)``."""

    level: float
    resamples: int
    method: Method
    seed: int


DEFAULTS = {field.name: field.default for field in dataclasses.fields(Sampling)}


def _whole(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)
