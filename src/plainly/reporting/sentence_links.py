"""Which sentences of documents belong together, for the page that shows them side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.progress import Progress, no_progress
from plainly.text import sentences
from plainly.text.sentence_alignment import HAPPENED, Alignment, align

SEVERAL = 3  # sentences of a source from which on its text is shown side by side
# One link: places of characters in the source and in the output, flat; what happened, by its place in HAPPENED; moved.
PlacedLink = tuple[list[int], list[int], int, int]


@dataclass(frozen=True)
class PlacedLinks:
    """The links of every output, by system and item; of items that are single sentences there are none."""

    happened: tuple[str, ...]
    by_system: Mapping[str, Sequence[list[PlacedLink] | None]]


def placed_links(
    evalset: EvalSet, outputs: Mapping[str, Sequence[str]], progress: Progress = no_progress
) -> PlacedLinks | None:
    """Links between source and outputs; None where all items are sentences."""
    long = sentences.counts(evalset.sources) >= SEVERAL
    if not long.any():
        return None
    by_system: dict[str, list[list[PlacedLink] | None]] = {}
    with progress("aligning sentences", total=int(long.sum()) * len(outputs), unit="outputs") as tell:
        for system, texts in outputs.items():
            by_system[system] = [None] * len(evalset)
            for item in np.flatnonzero(long).tolist():
                by_system[system][item] = _placed(align(evalset.sources[item], texts[item], encoder=False))
                tell(1)
    return PlacedLinks(HAPPENED, by_system)


def _placed(alignment: Alignment) -> list[PlacedLink]:
    def spans(side: str, places: Sequence[int]) -> list[int]:
        chosen = [getattr(alignment, side)[place] for place in places]
        return [edge for sentence in chosen for edge in (sentence.start, sentence.end)]

    return [
        (spans("source", link.source), spans("output", link.output), HAPPENED.index(link.happened), int(link.moved))
        for link in alignment.links
    ]
