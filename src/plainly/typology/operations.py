"""What was done to the sentences: which operations, how often, beside people's, and how surely they are told.

>>> profile = operations(sources=["It is old and it leaks ."], outputs=["It is old . It leaks ."], labeller="rules")
>>> profile["split"].share
1.0
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from plainly.core.arguments import public
from plainly.typology.annotation import Pair
from plainly.typology.labelling import LabelledPairs, LabellingOptions, annotated, label, set_name
from plainly.typology.profiles import Profile, profile, profile_labelled


@public
def operations(data: Any = None, *, labeller: str = "light", **options: Unpack[LabellingOptions]) -> Profile:
    """How often each operation occurs, on how many words and with which others.

    ``data`` is annotated pairs (a file, a set such as ``"assetann/annotations"``, what ``label`` returned) or texts as
    ``plainly.score`` takes them, which are labelled first.
    """
    if isinstance(data, LabelledPairs):
        return profile_labelled(data)
    if isinstance(data, str | Path) or (isinstance(data, Sequence) and data and isinstance(data[0], Pair)):
        return profile(annotated(data), name=set_name(data))
    return profile_labelled(label(data, labeller=labeller, **options))
