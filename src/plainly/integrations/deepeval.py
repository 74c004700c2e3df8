"""A metric for DeepEval: passes where ``plainly.check`` does, with the findings as its reason.

The test case's ``input`` is the source and ``actual_output`` what was written for it.
"""

from pathlib import Path
from typing import Any

from plainly.errors import MissingExtra
from plainly.questions.gate import check

try:
    from deepeval.metrics import BaseMetric
except ImportError:
    raise MissingExtra("plainly.integrations.deepeval", package="deepeval", extra="deepeval") from None


class PlainlyMetric(BaseMetric):
    """1 where every rule holds, else 0."""

    def __init__(self, *, preset: str | None = None, rules: str | Path | None = None, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self._rules: dict[str, Any] = {"preset": preset, "rules": rules}
        self.async_mode, self.evaluation_model = False, None

    def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        judged = check(test_case.input, test_case.actual_output, **self._rules)
        self.score = float(judged.passed)
        self.success = judged.passed
        self.reason = "; ".join(f"{finding.rule}: {finding.words or finding.message}" for finding in judged.findings)
        self.error = None
        return self.score

    async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "plainly"
