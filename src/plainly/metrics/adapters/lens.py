"""LENS (Maddela et al. 2023) from its published checkpoint: three encodings, mixed layers, one estimate a reference.

The checkpoint directory holds ``hparams.yaml`` and ``checkpoints/*.ckpt``; the encoder that hparams.yaml names is
loaded by that name, or from ``encoder``. Texts are lower-cased, the best reference counts, and the score is mapped to
0–100 by the normal distribution, as the authors do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from plainly.errors import DataUnavailable, MissingExtra
from plainly.evalset import EvalSet
from plainly.metrics.adapters import weights
from plainly.protocol import Better, Floats, Metric, Needs

_WHERE = (
    "Download davidheineman/lens (hparams.yaml and checkpoints/*.ckpt) from https://huggingface.co/davidheineman/lens "
    "into a directory, and give it: lens(checkpoint=DIRECTORY)"
)


@dataclass(frozen=True, repr=False)
class Lens(Metric):
    """LENS: overall quality of a simplification given source and references; 0–100, or unbounded with rescale=false.

    It was trained on SimpEval_past, whose sources are TurkCorpus test sentences: do not judge it there.
    """

    checkpoint: str = ""
    encoder: str = ""
    rescale: bool = True

    name: ClassVar[str] = "lens"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    better: ClassVar[Better] = "higher"
    outputs: ClassVar[tuple[str, ...]] = ("lens",)
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    batch_tolerance: ClassVar[float] = 1e-3

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("lens")
        loaded = _load(self.checkpoint, self.encoder)
        rows = [[text.lower() for text in references] for references in evalset.references]
        sources, lowered = [text.lower() for text in evalset.sources], [text.lower() for text in outputs]
        vectors = loaded.vectors([*sources, *lowered, *(text for row in rows for text in row)])
        best = np.array(
            [
                max(loaded.estimate(vectors[source], vectors[output], vectors[reference]) for reference in references)
                for source, output, references in zip(sources, lowered, rows, strict=True)
            ]
        )
        if self.rescale:
            best = np.array([50 * (math.erf(value / math.sqrt(2)) + 1) for value in best])
        return np.stack([best, np.ones(len(best))], axis=1)

    def score(self, totals: Floats) -> Floats:
        sums, counts = totals[..., :1], totals[..., 1:]
        found: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return found


@dataclass(frozen=True)
class _Loaded:
    weights: weights.Weights
    mix: Any  # softmaxed weight of each layer
    gamma: float
    estimator: Any
    longest: int

    def vectors(self, texts: Sequence[str]) -> dict[str, Any]:
        """One vector a text: the layers normalised, mixed and averaged over its tokens."""
        import torch

        def read(outputs: Any, mask: Any) -> Any:
            there = mask.unsqueeze(-1).float()
            width = outputs.hidden_states[0].shape[-1]
            mixed = 0.0
            for share, layer in zip(self.mix, outputs.hidden_states, strict=True):
                values = layer.float()
                count = mask.sum(1).float().view(-1, 1, 1) * width
                mean = (values * there).sum((1, 2), keepdim=True) / count
                spread = (((values - mean) * there) ** 2).sum((1, 2), keepdim=True) / count
                mixed = mixed + share * (values - mean) / torch.sqrt(spread + 1e-12)
            return self.gamma * (mixed * there).sum(1) / there.sum(1)

        distinct = list(dict.fromkeys(texts))
        return {distinct[at]: row for at, row in self.weights.run(distinct, read, longest=self.longest)}

    def estimate(self, source: Any, output: Any, reference: Any) -> float:
        import torch

        joined = torch.cat(
            [
                source,
                output,
                reference,
                output * reference,
                (output - reference).abs(),
                output * source,
                (output - source).abs(),
            ]
        )
        with torch.inference_mode():
            return float(self.estimator(joined))


@lru_cache(maxsize=2)
def _load(checkpoint: str, encoder: str) -> _Loaded:
    try:
        import torch
        import yaml
    except ImportError as error:
        raise MissingExtra("LENS", package=str(error.name), extra="torch") from None
    place = Path(checkpoint)
    found = sorted(place.glob("checkpoints/*.ckpt")) if checkpoint else []
    if not found or not (place / "hparams.yaml").is_file():
        raise DataUnavailable(
            f"LENS needs its published checkpoint, and {checkpoint or 'no directory'!r} has none. {_WHERE}"
        )
    settings = yaml.safe_load((place / "hparams.yaml").read_text(encoding="utf-8"))
    state = torch.load(found[0], map_location="cpu", weights_only=True)["state_dict"]
    loaded = weights.encoder(encoder or settings["pretrained_model"])
    inner = {
        key.removeprefix("encoder.model."): value for key, value in state.items() if key.startswith("encoder.model.")
    }
    loaded.model.load_state_dict(inner, strict=False)
    loaded.model.config.output_hidden_states = True
    layers = sorted((key for key in state if key.startswith("layerwise_attention.scalar_parameters.")), key=_number)
    return _Loaded(
        weights=loaded,
        mix=torch.softmax(torch.cat([state[key] for key in layers]), dim=0).to(loaded.device),
        gamma=float(state["layerwise_attention.gamma"]),
        estimator=_estimator(state, settings).to(loaded.device).eval(),
        longest=int(loaded.model.config.max_position_embeddings) - 2,
    )


def _estimator(state: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Linear layers with the named activation between them; dropout does nothing here but keeps the places."""
    import torch
    from torch import nn

    prefix = "estimator.ff."
    places = sorted({_number(key.rsplit(".", 1)[0]) for key in state if key.startswith(prefix)})
    parts: list[nn.Module] = []
    for at in places:
        weight = state[f"{prefix}{at}.weight"]
        linear = nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": state[f"{prefix}{at}.bias"]})
        parts += [linear, getattr(nn, settings.get("activations") or "Tanh")()]
    last = settings.get("final_activation")
    return torch.nn.Sequential(*parts[:-1], *([getattr(nn, last)()] if last else []))


def _number(key: str) -> int:
    return int(key.rsplit(".", 1)[-1])
