"""SARI inside other harnesses, with its variant named: as a metric of Hugging Face ``evaluate`` and of torchmetrics.

The common ``sari`` of those harnesses gives a copy of the source about 59 on TurkCorpus, more than any real system; the
variant ``easse`` is the one that most papers report. Every result carries its signature.
"""

from collections.abc import Sequence
from typing import Any

from plainly.core.errors import BadInput
from plainly.scoring.score import score

References = Sequence[str | Sequence[str]]
_Item = tuple[str, str, list[str]]  # source, prediction, references


def _items(sources: Sequence[str], predictions: Sequence[str], references: References) -> list[_Item]:
    if not len(sources) == len(predictions) == len(references):
        sizes = f"{len(sources)} sources, {len(predictions)} predictions and {len(references)} references"
        raise BadInput(f"Each item needs a source, a prediction and its references; there are {sizes}.")
    rows = [[row] if isinstance(row, str) else list(row) for row in references]
    return list(zip(sources, predictions, rows, strict=True))


def _sari(variant: str, items: Sequence[_Item]) -> dict[str, Any]:
    if not items:
        raise BadInput("There is nothing to score. Give sources, predictions and references, or add items first.")
    sources, predictions, references = zip(*items, strict=True)
    spec = f"sari(variant={variant})"
    scores: Any = score(sources=sources, outputs=predictions, references=references, metrics=[spec], intervals=False)[
        spec
    ]
    parts = {name: scores.parts[name] for name in ("add", "keep", "delete")}
    return {"sari": float(scores), **parts, "signature": str(scores.signature)}


class SariMetric:
    """``SariMetric().compute(sources=…, predictions=…, references=…)``, in place of ``evaluate.load("sari")``."""

    def __init__(self, variant: str = "easse") -> None:
        self.variant = variant
        self._added: list[_Item] = []

    def add(self, *, source: str, prediction: str, references: Sequence[str]) -> None:
        """Add one item; ``compute()`` without texts scores all that were added."""
        self.add_batch(sources=[source], predictions=[prediction], references=[references])

    def add_batch(self, *, sources: Sequence[str], predictions: Sequence[str], references: References) -> None:
        """Add some items."""
        self._added += _items(sources, predictions, references)

    def compute(
        self,
        *,
        sources: Sequence[str] | None = None,
        predictions: Sequence[str] | None = None,
        references: References | None = None,
    ) -> dict[str, Any]:
        """Return SARI on 0–100 with its parts and its signature, and forget the items."""
        if sources is not None and predictions is not None and references is not None:
            self.add_batch(sources=sources, predictions=predictions, references=references)
        elif not sources is predictions is references is None:
            raise BadInput("compute takes sources, predictions and references together.")
        items, self._added = self._added, []
        return _sari(self.variant, items)


class SariScore:
    """As torchmetrics calls a metric: ``update`` with batches, then ``compute``; ``reset`` begins again."""

    higher_is_better, is_differentiable, full_state_update = True, False, False

    def __init__(self, variant: str = "easse") -> None:
        self.variant = variant
        self.reset()

    def update(self, preds: Sequence[str], target: References, sources: Sequence[str]) -> None:
        """Add a batch: predictions, the references of each, and the sources."""
        self._added += _items(sources, preds, target)

    def compute(self) -> float:
        """Return SARI over all batches, on 0–100."""
        return float(_sari(self.variant, self._added)["sari"])

    def reset(self) -> None:
        """Forget all batches."""
        self._added: list[_Item] = []

    def __call__(self, preds: Sequence[str], target: References, sources: Sequence[str]) -> float:
        """Add a batch and return its score."""
        self.update(preds, target, sources)
        return float(_sari(self.variant, _items(sources, preds, target))["sari"])
