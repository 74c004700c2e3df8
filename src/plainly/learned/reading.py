"""What metrics share that read texts with a model: averages, and a count of the texts that were read in pieces."""

from typing import ClassVar

import numpy as np

from plainly.core.metric import Better, Floats, Needs
from plainly.metrics.means import CheckedMetric, mean_rows, means


class ReadingMetric(CheckedMetric):
    """A metric whose rows are values, how many of them there are, and whether the item was read in pieces."""

    needs: ClassVar[Needs] = frozenset({"source"})
    better: ClassVar[Better] = "higher"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    batch_tolerance: ClassVar[float] = 1e-6  # how far a score may depend on the texts scored with it

    def score(self, totals: Floats) -> Floats:
        return means(totals[..., :-1])

    def in_pieces(self, totals: Floats) -> int:
        """How many of the items were longer than the model's window."""
        return int(totals[-1])


def rows(*columns: Floats, pieces: Floats) -> Floats:
    """Rows of values, where NaN says that an item has none, read in so many pieces."""
    return np.column_stack([mean_rows(*columns), pieces > 1])
