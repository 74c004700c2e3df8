"""What a check finds: a kind, an effect, the words in both texts, how sure it is, and a sentence a person can read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from plainly.core.files import read_shipped

Span = tuple[int, int]
Effect = Literal["changed", "flipped", "added", "lost", "harmless"]
EFFECTS: tuple[Effect, ...] = ("changed", "flipped", "added", "lost", "harmless")
HARMS: tuple[Effect, ...] = ("changed", "flipped", "added")
SURE = 0.5  # from here on a finding is reported, and an output with one that harms is not faithful


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
        texts = _messages()
        text = texts[self.effect].get(self.kind) or texts[self.effect]["other"]
        if self.effect in ("changed", "flipped") and not (self.source_words and self.output_words):
            text = texts["new" if self.output_words else "gone"].get(self.kind) or text
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


@cache
def _messages() -> dict[str, dict[str, str]]:
    return read_shipped(__file__, "messages.toml")


def words_at(text: str, spans: Sequence[Span]) -> str:
    """The words at some places of a text, with an ellipsis where something stands between."""
    return " … ".join(text[start:end] for start, end in spans)
