"""Every choice of a training run, as one value that a TOML file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import field
from msgspec.structs import replace

from plainly.core.settings import Number, Settings, read_settings

SHIPPED = "shipped"  # the recipe of the model that plainly ships
_FOLDER = Path(__file__).parent
T = TypeVar("T", bound=Settings)


class FitSettings(Settings, frozen=True):
    """How to train. ``keep`` is the weight of a loss that holds the token vectors of ``keep_layer`` to those of the
    original encoder, so that their similarities still reflect meaning."""

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
    """The settings of ``plainly train sle``. The defaults are the 2023 paper's, with a larger share for validation and
    test, which small corpora need.

    ``joined`` is the share of neighbouring sentences that are also shown as one text of two sentences, ``noise`` the
    share of texts shown again with damage. With ``teachers`` the student's first scale is their average, of which the
    share ``blend`` comes from the second scale, reversed and scaled to the first one's mean and spread. ``experts`` are
    teachers of the second scale alone, and may start from a larger encoder. With ``ridge`` the second scale's head is
    fitted once more at the end, on all layers, with this much shrinkage.
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
        """Read a recipe from a TOML file, or the one called ``shipped``; None is the default recipe."""
        return cls() if name is None else read_settings(_FOLDER / "shipped.toml" if name == SHIPPED else name, cls)

    def with_changes(self, *, epochs: float | None = None, seed: int | None = None, **changes: Any) -> Recipe:
        """Return the recipe with changes that are not None; epochs and seed apply to the first stage too."""
        return _change(self, fit=_change(self.fit, epochs=epochs, seed=seed), seed=seed, **changes)

    @property
    def last(self) -> FitSettings:
        """The settings of the final model: those of the student where there are teachers."""
        return self.student if self.teachers else self.fit


class PartRecipe(Settings, frozen=True):
    """How a head of quality is fitted to a finished model.

    ``terms`` are heads of the model and measurements, with the weights that ``ridge`` holds the fit to; above ``most``
    a term is cut off. ``sets`` are rated sets and their shares in the loss: one that the encoder learned from needs a
    small one, because the model's values look better there than they are.
    """

    terms: Mapping[str, Number]
    sets: Mapping[str, Number]
    ridge: Number
    most: Mapping[str, Number] = field(default_factory=dict)


class JudgeRecipe(Settings, frozen=True):
    """The settings of ``plainly train quality``: the sets, how often sound pairs are harmed, and the three trainings.

    ``held_out`` is the share of rated sources to evaluate the model on. Stage one shows ``first_pairs`` of the pairs,
    stage two the ratings and ``replay`` times as many of stage one again. ``known`` is the weight of a fact that is
    known to be right or wrong against the teachers' labels, ``people`` how many times more often than others the
    student sees rated pairs, and ``gain`` the share of the gain in reading level in simplicity. ``reworded`` is how
    many times more often than others the pairs written for this project are seen (0: never). A ``rewriter``, a small
    language model, rewords ``offered`` sentences, for the teachers to label. The weights of ``students`` are averaged.
    With ``ridge`` the head of meaning is fitted once more to the ratings, with this much shrinkage; the share
    ``overall`` of meaning is then the head of that name. ``powers`` are the exponents of the parts of quality,
    ``parts`` those that are fitted to the finished model.
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
    parts: Mapping[str, PartRecipe] = field(default_factory=dict)
    seed: int = 0
    first: FitSettings = field(default_factory=lambda: FitSettings(batch=64, rate=3e-5, longest=256))
    second: FitSettings = field(default_factory=lambda: FitSettings(epochs=3, batch=32, rate=2e-5, longest=256))
    student: FitSettings = field(default_factory=lambda: FitSettings(epochs=3, batch=128, rate=1e-4, longest=512))

    @classmethod
    def read(cls, name: str | Path) -> JudgeRecipe:
        """Read a recipe from a TOML file, or one of plainly's own: ``shipped`` and ``research``."""
        files = {SHIPPED: "quality.toml", "research": "quality-research.toml"}
        return read_settings(_FOLDER / files[str(name)] if str(name) in files else name, cls)

    def with_changes(self, *, epochs: float | None = None, seed: int | None = None) -> JudgeRecipe:
        """Return the recipe with other epochs of the student, or another seed; None changes nothing."""
        return _change(self, student=_change(self.student, epochs=epochs), seed=seed)


def _change(settings: T, **changes: Any) -> T:
    """Return the settings with the changes that are not None."""
    return replace(settings, **{name: value for name, value in changes.items() if value is not None})
