"""Every choice of a training run, as one value that a TOML file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import field
from msgspec.structs import replace

from plainly.core.settings import Number, Settings, read_settings

SHIPPED = "shipped"  # the recipe of the model that plainly ships


class FitSettings(Settings, frozen=True):
    """How to train. ``keep`` weighs a loss that holds the token vectors of ``keep_layer`` to those of the encoder that
    training began from, so that their similarities still say something about meaning."""

    epochs: Number = 1.0
    batch: int = 64
    rate: Number = 5e-5
    warmup: Number = 0.1
    decay: Number = 0.01
    longest: int = 128
    keep: Number = 0.0
    keep_layer: int = -1
    checks: int = 4  # validations per epoch
    seed: int = 0


class Recipe(Settings, frozen=True):
    """Every choice that was made. The defaults are the 2023 paper's, but for the split, which small corpora need wider.

    ``joined`` is the share of neighbouring sentences that are also shown as one text of two sentences, ``noise`` the
    share of texts shown again with damage. With ``teachers`` the student's first scale is their average, of which the
    share ``blend`` is taken from the second scale, turned round and brought to the first one's mean and spread.
    ``experts`` are teachers of the second scale alone, and may start from a larger encoder. With ``ridge`` the second
    scale's head is fitted once more at the end, on all layers, with this much shrinkage.
    """

    softened: bool = True
    span: Number = 2.0
    exclude: Number = 1.0
    valid: Number = 0.05
    test: Number = 0.05
    seed: int = 0
    repeats: int = 3
    joined: Number = 0.0
    joined_cost: Number = 0.0
    noise: Number = 0.0
    teachers: int = 0
    experts: int = 0
    blend: Number = 0.0
    copies: Number = 1.0
    ridge: Number = 0.0
    fit: FitSettings = field(default_factory=lambda: FitSettings(epochs=3, batch=32, rate=1e-5))
    expert: FitSettings = field(default_factory=FitSettings)
    student: FitSettings = field(default_factory=FitSettings)

    @classmethod
    def read(cls, name: str | Path | None) -> Recipe:
        """A recipe from a TOML file, or the one called ``shipped``; what it does not name has its default."""
        if name is None:
            return cls()
        return read_settings(Path(__file__).parent / "shipped.toml" if name == SHIPPED else name, cls)

    def changed(self, *, epochs: float | None = None, **changes: Any) -> Recipe:
        """The recipe with what is not None in place of its own; epochs and seed are those of the first stage too."""
        stated = {name: value for name, value in changes.items() if value is not None}
        first: dict[str, Any] = {"epochs": epochs, "seed": stated.get("seed")}
        fit = replace(self.fit, **{name: value for name, value in first.items() if value is not None})
        return replace(self, fit=fit, **stated)

    @property
    def last(self) -> FitSettings:
        """How the model that is kept is trained: the student where there are teachers."""
        return self.student if self.teachers else self.fit


class JudgeRecipe(Settings, frozen=True):
    """Every choice of ``plainly train quality``: the sets, how often sound pairs are harmed, and the three trainings.

    ``held_out`` is the share of rated sources kept back to judge the model on. Stage one shows ``first_pairs`` of the
    pairs, stage two the ratings and ``replay`` times as many of stage one again. ``known`` is how much a fact that is
    known to be right or wrong counts beside the teachers' labels, ``people`` how many times more often than others the
    student sees the pairs that people rated, and ``gain`` how much of simplicity is the gain in reading level.
    ``reworded`` is how many times more often than others the pairs written for this project are seen (0: never).
    A ``rewriter``, a small language model, says ``offered`` sentences again, for the teachers to label. The weights of
    ``students`` are averaged. With ``ridge`` the head of meaning is fitted once more to the ratings, with this much
    shrinkage towards what it was; the share ``overall`` of meaning is then the head of that name. ``powers`` are those
    of the parts in the product that is quality.
    """

    pairs: tuple[str, ...] = ("wikisplit/test", "onestopenglish/pairs")
    contradictions: tuple[str, ...] = ()
    ratings: tuple[str, ...] = ("simpeval/past", "acl2018/ratings")
    held_out: Number = 0.15
    copies: Number = 6.0
    first_pairs: int = 40_000
    replay: Number = 1.0
    teachers: int = 3
    known: Number = 0.5
    people: int = 0
    reworded: int = 0
    rewriter: str = ""
    offered: int = 8000
    students: int = 1
    ridge: Number = 0.0
    overall: Number = 0.0
    gain: Number = 0.5
    powers: Mapping[str, Number] = field(
        default_factory=lambda: dict.fromkeys(("overall", "fluency", "meaning", "simplicity"), 1.0)
    )
    seed: int = 0
    first: FitSettings = field(default_factory=lambda: FitSettings(batch=64, rate=3e-5, longest=256))
    second: FitSettings = field(default_factory=lambda: FitSettings(epochs=3, batch=32, rate=2e-5, longest=256))
    student: FitSettings = field(default_factory=lambda: FitSettings(epochs=3, batch=128, rate=1e-4, longest=512))

    @classmethod
    def read(cls, name: str | Path) -> JudgeRecipe:
        """A recipe from a TOML file, or one of those that plainly has: ``shipped`` and ``research``."""
        own = {SHIPPED: "quality.toml", "research": "quality-research.toml"}
        return read_settings(Path(__file__).parent / own[str(name)] if str(name) in own else name, cls)

    def changed(self, *, epochs: float | None = None, seed: int | None = None) -> JudgeRecipe:
        """The recipe with other epochs of the student, or another seed; None leaves its own."""
        student = self.student if epochs is None else replace(self.student, epochs=epochs)
        return replace(self, student=student, seed=self.seed if seed is None else seed)
