"""What is asked of the field: which sets, which metrics on each, which tricks, whose ratings, which papers."""

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import plainly
from plainly import data
from plainly.core import registry
from plainly.core.errors import BadInput
from plainly.learned import encoder
from plainly_lab.reproductions import RECIPES

DEMO = "demo"
_SEED = re.compile(r"(.+)/\d+")
_MODELS = Path(plainly.__file__).parent / "learned" / "weights"


@cache
def written() -> dict[str, Any]:
    """The plan as it is written down."""
    return tomllib.loads(Path(__file__).with_name("plan.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class FieldPlan:
    """Metrics by set; whether tricks, ratings and papers are asked about; where licensed outputs of a paper lie."""

    sets: dict[str, tuple[str, ...]]
    audits: bool = True
    ratings: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    newsela: Path | None = None
    left_out: tuple[str, ...] = field(default=())

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric of every set, in the order of the sets."""
        return tuple(dict.fromkeys(spec for specs in self.sets.values() for spec in specs))


def plan(
    sets: Sequence[str] | None, metrics: Sequence[str] | None, papers: Sequence[str] | None, newsela: Path | None
) -> FieldPlan:
    """The plan for these sets and metrics, or for all; a metric whose weights are not here is left out and named."""
    if newsela is not None and not newsela.is_dir():
        raise BadInput(f"There is no directory {newsela}. It holds the licensed outputs, a file a system.")
    names = list(dict.fromkeys(sets or written()["default"]["sets"]))
    chosen: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    for name in names:
        full = name if name == DEMO else data.card(name).name
        if not systems(full):
            raise BadInput(f"No outputs for {full} are public. Sets that have some: {', '.join(written()['sets'])}.")
        specs = metrics or written()["sets"].get(full, ("sari", "fkgl"))
        chosen[full] = tuple(spec for spec in dict.fromkeys(specs) if _at_hand(spec))
        missing += [spec for spec in specs if not _at_hand(spec)]
    left_out = tuple(f"{spec}: its model is not installed" for spec in dict.fromkeys(missing))
    known = RECIPES if papers is None else papers
    public = any(name != DEMO for name in chosen)
    ratings = tuple(written()["ratings"]) if public else ()
    return FieldPlan(chosen, public, ratings, tuple(known), newsela, left_out)


def systems(name: str) -> tuple[str, ...]:
    """The systems whose outputs for a set are public."""
    return tuple(data.demo()[1]) if name == DEMO else data.system_names(name)


def family(system: str) -> str:
    """The system that was trained several times: ``NAME/3`` is its training 3."""
    seed = _SEED.fullmatch(system)
    return seed[1] if seed else system


def is_learned(spec: str) -> bool:
    """Whether a metric reads with a model."""
    return registry.metric(spec).learned


def digest(*parts: object) -> str:
    """A short name for all that something depends on."""
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8")).hexdigest()[:16]


def models(*specs: str) -> str:
    """Which shipped models these metrics read with, by what is said of them: new weights are another model."""
    names = {registry.metric(spec).model or "" for spec in specs}
    cards = [_MODELS / name / "model.json" for name in sorted(names) if name]
    return digest([card.read_bytes().hex() for card in cards if card.is_file()])


def content(name: str) -> str:
    """What a set and its outputs hash to, read off the cards: nothing is loaded for it."""
    if name == DEMO:
        evalset, outputs = data.demo()
        return digest(evalset.fingerprint, outputs)
    wanted = data.card(name)
    cards = [wanted, *(card for card in data.cards() if {wanted.name, wanted.within} & set(card.of))]
    return digest([file.sha256 for card in cards for file in card.files])


def identity(spec: str) -> str:
    """All that a metric's numbers depend on beside the texts: its parameters and its model."""
    return f"{registry.metric(spec).spec(full=True)} {models(spec)}"


def _at_hand(spec: str) -> bool:
    model = registry.metric(spec).model
    return model not in (encoder.SHIPPED, encoder.JUDGE) or (_MODELS / model / "model.onnx").is_file()
