"""What happened to the facts: which numbers, names, negations and claims of outputs are not those of their sources.

>>> checked = facts(sources=["The bridge opened in 1985."], outputs=["The bridge opened in 1885."])
>>> print(checked.findings[0].message)
The date changed: “1985” became “1885”.
"""

from collections.abc import Sequence
from typing import Any, Unpack

from plainly.core.arguments import public
from plainly.core.errors import BadInput
from plainly.core.progress import Progress, no_progress
from plainly.factcheck.head import MODEL
from plainly.factcheck.pairs import LEAST, Checked, CheckSettings, check_pairs
from plainly.factcheck.result import FactChecks
from plainly.io.texts import Inputs, TextArguments, take

__all__ = ["FactChecks", "facts"]

_PART = 1000  # pairs between two steps of the progress


@public
def facts(
    data: Any = None,
    *,
    ignore: str | Sequence[str] = (),
    parser: str = "",
    model: str | None = MODEL,
    least: float = 0.5,
    progress: Progress = no_progress,
    **texts: Unpack[TextArguments],
) -> FactChecks:
    """Check every output against its source.

    ``ignore`` are words or patterns that are no finding ("NATO", "[A-Z]{2,}"); ``parser="spacy"`` lets spaCy say which
    words are names. ``least`` is how sure a finding must be to be reported, from 0.2 on; numbers count all of them. The
    risk takes in what the ``model`` says that reads source and output together; ``model=None`` is rules alone.
    """
    inputs = take(data, **texts)
    if not inputs.evalset.has_sources:
        raise BadInput("Facts are those of the sources, and no sources were given.")
    if not LEAST <= least <= 1:
        raise BadInput(f"least is from {LEAST} to 1, not {least}.")
    settings = CheckSettings(ignore=ignore if isinstance(ignore, str) else "|".join(ignore), parser=parser, model=model)
    settings.check()
    inputs.evalset.check(inputs.outputs)
    pairs = len(inputs.evalset) * len(inputs.outputs)
    with progress("checking facts", total=pairs, unit="outputs") as tell:
        systems = _checked(inputs, settings, tell)
    return FactChecks(inputs.evalset, dict(inputs.outputs), systems, settings, least, inputs.notes)


def _checked(inputs: Inputs, settings: CheckSettings, tell: Any) -> dict[str, tuple[Checked, ...]]:
    """By system; every item with all its outputs at once, so that its source is read once."""
    systems = list(inputs.outputs)
    checked: list[Checked] = []
    step = max(1, _PART // max(1, len(systems)))
    for start in range(0, len(inputs.evalset), step):
        sources = inputs.evalset.sources[start : start + step]
        outputs = zip(*(inputs.outputs[system][start : start + step] for system in systems), strict=True)
        texts = [text for of_item in outputs for text in of_item]
        checked += check_pairs([source for source in sources for _ in systems], texts, settings)
        tell(len(texts))
    return {system: tuple(checked[at :: len(systems)]) for at, system in enumerate(systems)}
