"""How often each of our rules fires on easy and on ordinary texts, and whether it is therefore on by default.

``python bench/rules.py`` measures the rates and writes ``rates.toml`` and docs/rules.md from the same numbers.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from plainly.core.settings import Settings, read_settings

FILE = Path(__file__).with_name("rates.toml")
# A rule is on by default if it fires at least a tenth more often on ordinary texts: the lower end of the interval.
MORE = 1.1
# With fewer findings than this in all texts, the ratio is not known. Such a rule is on by default if it fires on easy
# texts less than once in 20,000 words, so that a false finding is rare.
FEW, RARELY = 20, 0.05
Verdict = Literal["more often", "as often", "rare"]


class Rate(Settings, frozen=True):
    """Findings in easy and in ordinary texts, and the ratio of their rates per word with its 95 % interval."""

    easy: int
    ordinary: int
    easy_words: int
    ordinary_words: int
    ratio: float
    low: float
    high: float

    @property
    def per_thousand(self) -> tuple[float, float]:
        """Findings per 1,000 words of easy and of ordinary texts."""
        return 1000 * self.easy / self.easy_words, 1000 * self.ordinary / self.ordinary_words

    @property
    def verdict(self) -> Verdict:
        """Whether the rule fires more often on ordinary texts than on easy ones."""
        if self.easy + self.ordinary < FEW and self.high > 1:
            return "rare"
        return "more often" if self.low > MORE else "as often"

    @property
    def is_default(self) -> bool:
        """Whether the rule is on by default."""
        return self.verdict == "more often" or (self.verdict == "rare" and self.per_thousand[0] < RARELY)


class Rates(Settings, frozen=True):
    """The contents of ``rates.toml``, by name of the rule."""

    rules: dict[str, Rate]


@cache
def load_rates() -> dict[str, Rate]:
    """Return the measured rates of our rules by name."""
    return read_settings(FILE, Rates).rules
