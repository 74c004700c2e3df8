"""What was done to the sentences: which operations, how often, beside people's, and how surely they are told.

>>> profile = operations(sources=["It is old and it leaks ."], outputs=["It is old . It leaks ."], labeller="rules")
>>> profile["split"].share
1.0
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plainly.core.evalset import EvalSet
from plainly.core.progress import Progress, unseen
from plainly.io.columns import Columns
from plainly.io.texts import Incomplete, Outputs
from plainly.io.units import Unit
from plainly.typology.annotation import Pair
from plainly.typology.labelling import LabelledPairs, annotated, label, set_name
from plainly.typology.profiles import Profile, profile, profile_labelled


def operations(
    data: Any = None,
    *,
    sources: Sequence[str] | None = None,
    outputs: Sequence[str] | Outputs | None = None,
    references: Sequence[Sequence[str]] | None = None,
    evalset: EvalSet | None = None,
    ids: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    columns: Columns | None = None,
    language: str | None = None,
    incomplete: Incomplete = "refuse",
    unit: Unit | None = None,
    labeller: str = "light",
    processes: int = 1,
    progress: Progress = unseen,
) -> Profile:
    """How often each operation occurs, on how many words and with which others.

    ``data`` is annotated pairs (a file, a set such as ``"assetann/annotations"``, what ``label`` returned) or texts as
    ``plainly.score`` takes them, which are labelled first.
    """
    if isinstance(data, LabelledPairs):
        return profile_labelled(data)
    if isinstance(data, str | Path) or (isinstance(data, Sequence) and data and isinstance(data[0], Pair)):
        return profile(annotated(data), name=set_name(data))
    return profile_labelled(
        label(
            data,
            sources=sources,
            outputs=outputs,
            references=references,
            evalset=evalset,
            ids=ids,
            groups=groups,
            columns=columns,
            language=language,
            incomplete=incomplete,
            unit=unit,
            labeller=labeller,
            processes=processes,
            progress=progress,
        )
    )
