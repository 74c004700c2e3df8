"""What a project gets that does not say otherwise: the recommendation of the 2018 study on human evaluation.

``plainly plan`` works the question out from ratings; here stands its answer for a project that has none yet. With
a fixed number of ratings more sentences always beat more raters, and beyond two raters a sentence nothing was gained
(Schwarzer and Kauchak 2018, section 3.2). Items are handed out breadth first, so that an evaluation that stops early
has every sentence once before any has two raters.
"""

from __future__ import annotations


def recommended_overlap() -> int:
    """How many people judge an item where the project does not say."""
    return 2
