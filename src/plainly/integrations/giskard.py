"""A test for Giskard: the share of a dataset's outputs that pass, held to a threshold."""

from typing import Any

from plainly.errors import BadInput, MissingExtra
from plainly.questions.gate import check

try:
    import giskard
    from giskard.core.test_result import TestMessage, TestMessageLevel, TestResult
except ImportError:
    raise MissingExtra("plainly.integrations.giskard", package="giskard", extra="giskard") from None


@giskard.test(name="plainly: outputs are fit to show", tags=["text simplification"])
def fit_to_show(
    model: giskard.models.base.BaseModel,
    dataset: giskard.Dataset,
    source: str = "source",
    preset: str = "plain",
    threshold: float = 1.0,
) -> Any:
    """Every row's prediction beside the text in the column ``source``."""
    if source not in dataset.df.columns:
        raise BadInput(f"The dataset has no column {source!r}: {', '.join(map(str, dataset.df.columns))}.")
    outputs = [str(text) for text in model.predict(dataset).prediction]
    judged = [check(str(text), output, preset=preset) for text, output in zip(dataset.df[source], outputs, strict=True)]
    share = sum(map(bool, judged)) / max(len(judged), 1)
    failed = [(place, outcome) for place, outcome in enumerate(judged) if not outcome]
    messages = [f"row {place}: {', '.join(seen.rule for seen in outcome.findings)}" for place, outcome in failed[:20]]
    shown = [TestMessage(text=text, type=TestMessageLevel.ERROR) for text in messages]
    return TestResult(passed=share >= threshold, metric=share, messages=shown)
