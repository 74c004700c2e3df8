"""The operations themselves: what each label means, and how other typologies map onto them."""

from plainly.core.result import Listing
from plainly.typology import vocabulary
from plainly.typology.labelling import SCHEMA

_FIELDS = ("label", "guide", "paper", "title", "side", "computational", "linguistic", "definition")
_EXPLAINED = 3  # So few operations are explained; more are listed.


def glossary(names: str | None = None) -> Listing:
    """The operations that names stand for (labels, or classes such as ``lexical``), or all."""
    wanted = vocabulary.resolve(names) if names else vocabulary.all_labels()
    chosen = [entry for entry in vocabulary.operations() if entry.label in wanted]
    rows = [{name: getattr(entry, name) for name in _FIELDS} for entry in chosen]
    explained = [row | {"example": entry.example} for row, entry in zip(rows, chosen, strict=True)]
    payload = {"schema": SCHEMA, "operations": explained}
    columns = {"label": "label", "guide": "guide", "side": "side", "computational": "class", "linguistic": "kind"}
    if len(chosen) > _EXPLAINED:
        return Listing(payload, tuple(rows), columns | {"title": "what it is"})
    told = ("{source} → {output}  ({groups})".format(**entry.example) for entry in chosen)
    rows = [row | {"example": example} for row, example in zip(rows, told, strict=True)]
    return Listing(payload, tuple(rows), columns | {"definition": "what it is", "example": "example"})


def typology_mapping(name: str) -> Listing:
    """How another typology's types correspond to our labels: salsa, ts-anno or easse."""
    other = vocabulary.mapping(name)
    fields = {"source": other.source, "types": dict(other.types), "back": dict(other.back)}
    payload = {"schema": SCHEMA, "mapping": other.name, **fields}
    rows = tuple({"type": theirs, "labels": ", ".join(ours) or "–"} for theirs, ours in other.types.items())
    columns = {"type": other.name, "labels": "ours, the likeliest first"}
    return Listing(payload, rows, columns, f"{other.title}. {other.source} {other.lossy}")
