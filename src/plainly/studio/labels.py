"""The labels that the page offers, by the sides on which a group has words.

Names and sides come from the typology of operations.
"""

from __future__ import annotations

from dataclasses import dataclass

ERROR = "err"


@dataclass(frozen=True)
class Label:
    """A label as the page shows it."""

    name: str
    title: str
    sides: tuple[str, ...]  # of "source", "output", "both"
    key: str
    hint: str = ""


LABELS: tuple[Label, ...] = (
    Label("delcst", "Delete: consistency", ("source",), "c"),
    Label("delmod", "Delete: modifier", ("source",), "m"),
    Label("delprop", "Delete: proposition", ("source",), "p"),
    Label("deloth", "Delete: other", ("source",), "o"),
    Label("merge", "Merge", ("source", "both"), "g"),
    Label("incst", "Insert: consistency", ("output",), "c"),
    Label("inmod", "Insert: modifier", ("output",), "m"),
    Label("inprop", "Insert: proposition", ("output",), "p"),
    Label("inoth", "Insert: other", ("output",), "o"),
    Label("split", "Split", ("output", "both"), "s"),
    Label("toImp", "To impersonal form", ("output", "both"), "i"),
    Label("fromImp", "To personal form", ("source", "output", "both"), "j"),
    Label("synonym", "Synonym", ("both",), "y"),
    Label("hyperonym", "More general term", ("both",), "h"),
    Label("hyponym", "More specific term", ("both",), "k"),
    Label("s2p", "Singular to plural", ("both",), "1"),
    Label("p2s", "Plural to singular", ("both",), "2"),
    Label("pron", "To pronoun", ("both",), "r"),
    Label("fromPron", "From pronoun", ("both",), "f"),
    Label("verbf", "Verbal features", ("both",), "v"),
    Label("move", "Move", ("both",), "m"),
    Label("a2p", "Active to passive", ("both",), "a"),
    Label("p2a", "Passive to active", ("both",), "p"),
    Label("POSchange", "Part of speech", ("both",), "c"),
    Label("pos2neg", "Affirmation to negation", ("output", "both"), "n"),
    Label("neg2pos", "Negation to affirmation", ("source", "both"), "q"),
    Label("err", "Erroneous", ("source", "output", "both"), "x"),
)
NAMES = tuple(label.name for label in LABELS)


def allowed(source: bool, output: bool) -> tuple[str, ...]:
    """The labels for a group with words in the source, in the output or in both."""
    side = "both" if source and output else "source" if source else "output"
    return tuple(label.name for label in LABELS if side in label.sides)


def for_page() -> list[dict[str, object]]:
    """The labels as the page's script gets them."""
    return [
        {"name": label.name, "title": label.title, "sides": list(label.sides), "key": label.key, "hint": label.hint}
        for label in LABELS
    ]
