"""spaCy pipelines for the metrics that need to see the structure of a sentence; loaded when first used."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from plainly.core.errors import BadInput, DataUnavailable, needing


@lru_cache(maxsize=4)
def pipeline(name: str, *, metric: str, parameter: str, gives: Sequence[str], exclude: Sequence[str] = ()) -> Any:
    """The installed pipeline of this name, which must annotate all that ``gives`` lists (DEP, LEMMA, ENT_IOB, …)."""
    with needing(metric, package="spacy", extra="spacy"):
        import spacy
    try:
        loaded = spacy.load(name, exclude=list(exclude))
    except OSError:
        raise DataUnavailable(
            f"The spaCy pipeline {name!r} is not installed. Install it: python -m spacy download {name}; or give "
            f"another: {metric}({parameter}=NAME)"
        ) from None
    probe = loaded("They came to London.")
    lacking = [annotation for annotation in gives if not probe.has_annotation(annotation)]
    if lacking:
        raise BadInput(
            f"The spaCy pipeline {name!r} gives no {', '.join(lacking)}, which {metric} needs. Give another: "
            f"{metric}({parameter}=NAME)"
        )
    return loaded
