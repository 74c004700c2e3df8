"""Checkpoints in the layout of COMET, in which LENS and LENS-SALSA were published.

A directory holds ``hparams.yaml`` and ``checkpoints/*.ckpt``. The checkpoint has every weight of the encoder, so of the
encoder that hparams.yaml names only the configuration and the tokenizer are needed. On top of it stand a mixture of all
its layers (softmaxed shares, each layer normalised over the tokens of its text) and a small network, the estimator.
"""

import pickle
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from plainly.core.errors import BadInput, DataUnavailable, needing
from plainly.learned.adapters import weights


@dataclass(frozen=True)
class Checkpoint:
    """An encoder with its published weights, and what stands on top of it."""

    weights: weights.PublishedModel
    shares: Any  # how much each layer counts in the mixture
    gamma: float
    normalised: bool
    estimator: Any
    longest: int
    settings: dict[str, Any]
    tagger: Any  # from the vector of a token to its tags; None where the checkpoint has none

    def mixed(self, outputs: Any, mask: Any) -> Any:
        """One vector a token: the layers, normalised by text, and mixed."""
        import torch

        there = mask.unsqueeze(-1).float()
        count = mask.sum(1).float().view(-1, 1, 1) * outputs.hidden_states[0].shape[-1]
        mixture = 0.0
        for share, layer in zip(self.shares, outputs.hidden_states, strict=True):
            values = layer.float()
            if self.normalised:
                mean = (values * there).sum((1, 2), keepdim=True) / count
                spread = (((values - mean) * there) ** 2).sum((1, 2), keepdim=True) / count
                values = (values - mean) / torch.sqrt(spread + 1e-12)
            mixture = mixture + share * values
        return self.gamma * mixture


@lru_cache(maxsize=2)
def load(checkpoint: str, encoder: str, *, metric: str, kind: str) -> Checkpoint:
    """Read the directory that ``metric(checkpoint=…)`` names; ``kind`` is the class that hparams.yaml must name."""
    with needing(metric, extra="torch"):
        import torch
        import yaml
    place = Path(checkpoint)
    path = next(iter(sorted(place.glob("checkpoints/*.ckpt"))), None) if checkpoint else None
    if path is None or not (place / "hparams.yaml").is_file():
        raise DataUnavailable(
            f"{metric} needs its published checkpoint, and {checkpoint or 'no directory'!r} has none. Download "
            f"davidheineman/{metric} (hparams.yaml and checkpoints/*.ckpt) from "
            f"https://huggingface.co/davidheineman/{metric} into a directory, and give it: "
            f"{metric}(checkpoint=DIRECTORY)"
        )
    settings = yaml.safe_load((place / "hparams.yaml").read_text(encoding="utf-8"))
    if settings.get("class_identifier", kind) != kind:
        other = "lens" if metric == "lens-salsa" else "lens-salsa"
        raise BadInput(
            f"{checkpoint!r} holds a model of the kind {settings['class_identifier']!r}, and {metric} is a {kind!r}. "
            f"Is it a checkpoint for {other}(checkpoint=…)?"
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    except (pickle.UnpicklingError, KeyError) as error:
        raise BadInput(
            f"{str(path)!r} is no checkpoint of plain weights with a state_dict "
            f"({next(iter(str(error).splitlines()), '')}). Download it again."
        ) from None
    loaded = weights.untrained(encoder or settings["pretrained_model"], parameter="encoder")
    loaded.model.config.output_hidden_states = True
    _fill(loaded.model, state, where=str(path))
    names = sorted((key for key in state if key.startswith("layerwise_attention.scalar_parameters.")), key=_number)
    if len(names) != loaded.model.config.num_hidden_layers + 1:
        raise BadInput(f"{str(path)!r} mixes {len(names)} layers; the encoder has another number of them.")
    # The published files say layer_transformation: sparsemax, but the package never hands it on and takes softmax.
    shares = torch.softmax(torch.cat([state[key] for key in names]), dim=0)
    return Checkpoint(
        weights=loaded,
        shares=shares.to(loaded.device),
        gamma=float(state["layerwise_attention.gamma"]),
        normalised=bool(settings.get("layer_norm", True)),
        estimator=_estimator(state, settings).to(loaded.device).eval(),
        longest=int(loaded.model.config.max_position_embeddings) - 2,
        settings=settings,
        tagger=_linear(state, "hidden2tag").to(loaded.device).eval() if "hidden2tag.weight" in state else None,
    )


def _fill(model: Any, state: dict[str, Any], *, where: str) -> None:
    prefix = "encoder.model."
    inner = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    # The pooler is not used, and LENS-SALSA was saved without one.
    missing = [key for key in model.load_state_dict(inner, strict=False).missing_keys if not key.startswith("pooler.")]
    if missing:
        raise BadInput(
            f"{where!r} lacks {len(missing)} weights of its encoder ({missing[0]}, …): is encoder=… the encoder that "
            "hparams.yaml names as pretrained_model?"
        )


def _estimator(state: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Linear layers with the named activation between them; dropout does nothing here but keeps the places."""
    from torch import nn

    prefix = "estimator.ff."
    places = sorted({_number(key.rsplit(".", 1)[0]) for key in state if key.startswith(prefix)})
    parts: list[nn.Module] = []
    for at in places:
        parts += [_linear(state, f"{prefix}{at}"), getattr(nn, settings.get("activations") or "Tanh")()]
    last = settings.get("final_activation")
    return nn.Sequential(*parts[:-1], *([getattr(nn, last)()] if last else []))


def _linear(state: dict[str, Any], name: str) -> Any:
    from torch import nn

    weight = state[f"{name}.weight"]
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    linear.load_state_dict({"weight": weight, "bias": state[f"{name}.bias"]})
    return linear


def _number(key: str) -> int:
    return int(key.rsplit(".", 1)[-1])
