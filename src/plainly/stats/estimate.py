"""A number with its uncertainty, and how that was found."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with a confidence interval: ``value`` from all ``n`` items, ``low`` and ``high`` at ``level``."""

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        spec = spec or ".2f"
        if math.isnan(self.value):
            return "undefined"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def __str__(self) -> str:
        return format(self, ".2f")
