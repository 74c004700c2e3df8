"""How bootstrap intervals and tests are drawn: one value, validated on construction, passed whole."""

import dataclasses
import numbers
from dataclasses import dataclass
from typing import Literal, get_args

from plainly.core.errors import BadInput, check_choice, check_count

Method = Literal["expanded", "percentile", "bca"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Confidence level, number of bootstrap draws, kind of interval, and the seed.

    An "expanded" interval is a percentile interval that few items or groups make wider, so that it covers as often as
    it says; "percentile" is what other tools print; "bca" also corrects for bias and skewness, and is expanded too.
    """

    level: float = 0.95
    resamples: int = 1000
    method: Method = "expanded"
    seed: int = 12345

    def __post_init__(self) -> None:
        if not (isinstance(self.level, numbers.Real) and 0 < self.level < 1):
            raise BadInput(f"level= must be between 0 and 1, for example 0.95, not {self.level!r:.60}.")
        check_count("resamples", self.resamples)
        check_choice("method", self.method, METHODS)
        check_count("seed", self.seed, least=0)
        for name, plain in (("level", float), ("resamples", int), ("seed", int)):  # NumPy's numbers are not JSON
            object.__setattr__(self, name, plain(getattr(self, name)))


def check_sampling(sampling: object) -> None:
    """Raise unless the argument ``sampling`` is a ``Sampling``."""
    if not isinstance(sampling, Sampling):
        raise BadInput(f"sampling= must be a plainly.Sampling(level=0.95, resamples=1000), not {sampling!r:.60}.")


DEFAULTS = {field.name: field.default for field in dataclasses.fields(Sampling)}
