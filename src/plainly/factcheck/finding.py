"""What a check finds: a kind, an effect, the words in both texts, how sure it is, and a sentence a person can read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Span = tuple[int, int]
Effect = Literal["changed", "flipped", "added", "lost", "harmless"]
EFFECTS: tuple[Effect, ...] = ("changed", "flipped", "added", "lost", "harmless")
HARMS: tuple[Effect, ...] = ("changed", "flipped", "added")
SURE = 0.5  # from here on a finding is reported, and an output with one that harms is not faithful

# One sentence for each kind of finding. What is not named falls to "other".
_MESSAGES = {
    "changed": {
        "number": "The number changed: “{source}” became “{output}”.",
        "quantity": "The amount changed: “{source}” became “{output}”.",
        "date": "The date changed: “{source}” became “{output}”.",
        "unit": "The unit changed: “{source}” became “{output}”.",
        "name": "The name changed: “{source}” became “{output}”.",
        "person": "Who is meant changed: “{source}” became “{output}”.",
        "other": "“{source}” became “{output}”.",
    },
    "flipped": {
        "polarity": "The statement was turned into its opposite: “{source}” became “{output}”.",
        "modality": "How certain or how binding it is changed: “{source}” became “{output}”.",
        "cause": "Cause and effect were turned round: “{source}” became “{output}”.",
        "comparison": "A comparison was turned round: “{source}” became “{output}”.",
        "order": "An order or a direction was turned round: “{source}” became “{output}”.",
        "roles": "Who does it and to whom was turned round: “{source}” became “{output}”.",
        "other": "“{source}” was turned round and became “{output}”.",
    },
    "added": {
        "number": "The number “{output}” is not in the source.",
        "quantity": "The amount “{output}” is not in the source.",
        "date": "The date “{output}” is not in the source.",
        "name": "The name “{output}” is not in the source.",
        "claim": "The source does not say “{output}”.",
        "other": "“{output}” is not in the source.",
    },
    "lost": {
        "claim": "The output does not say “{source}”.",
        "other": "“{source}” is not in the output.",
    },
    "harmless": {
        "notation": "The same value, written in another way: “{source}” and “{output}”.",
        "rounding": "Rounded: “{source}” became “{output}”.",
        "conversion": "Converted to another unit: “{source}” became “{output}”.",
        "precision": "Less exact, but true: “{source}” became “{output}”.",
        "arithmetic": "Follows from numbers in the source: “{output}”.",
        "shortened": "The name is shorter: “{source}” became “{output}”.",
        "abbreviation": "An abbreviation and what it stands for: “{source}” and “{output}”.",
        "spelling": "The name is spelt in another way: “{source}” became “{output}”.",
        "pronoun": "A pronoun for what it stands for: “{source}” and “{output}”.",
        "negation": "The same denial in other words: “{source}” became “{output}”.",
        "modality": "As certain or as binding, in other words: “{source}” became “{output}”.",
        "relation": "The same relation, told from the other side: “{source}” became “{output}”.",
        "explanation": "An explanation, not a new fact: “{output}”.",
        "other": "Said in another way: “{source}” became “{output}”.",
    },
    "new": {
        "polarity": "A negation is new: “{output}”. The source does not deny this.",
        "modality": "New in the output: “{output}”. The source is not so certain, or not so binding.",
        "other": "“{output}” is new.",
    },
    "gone": {
        "polarity": "A negation vanished: “{source}”. The source denies this.",
        "modality": "“{source}” vanished: the output says more than the source does.",
        "other": "“{source}” vanished.",
    },
}


@dataclass(frozen=True)
class FactFinding:
    """One fact that is not the same in both texts; spans are places of characters, (start, end)."""

    effect: Effect
    kind: str
    source: tuple[Span, ...]
    output: tuple[Span, ...]
    source_words: str
    output_words: str
    sure: float
    weight: float = 1.0  # of what was lost: its share of what the source says

    @property
    def message(self) -> str:
        """One sentence in plain English."""
        text = _MESSAGES[self.effect].get(self.kind) or _MESSAGES[self.effect]["other"]
        if self.effect in ("changed", "flipped") and not (self.source_words and self.output_words):
            text = _MESSAGES["new" if self.output_words else "gone"].get(self.kind) or text
        return text.format(source=self.source_words, output=self.output_words)

    @property
    def harms(self) -> bool:
        """Whether a fact was changed, flipped or added, as far as it is sure."""
        return self.effect in HARMS and self.sure >= SURE

    def json(self) -> dict[str, Any]:
        return {
            "effect": self.effect,
            "kind": self.kind,
            "sure": round(self.sure, 3),
            "source": {"words": self.source_words, "spans": [list(span) for span in self.source]},
            "output": {"words": self.output_words, "spans": [list(span) for span in self.output]},
            "weight": round(self.weight, 3),
            "message": self.message,
        }


def words_at(text: str, spans: Sequence[Span]) -> str:
    """The words at some places of a text, with an ellipsis where something stands between."""
    return " … ".join(text[start:end] for start, end in spans)
