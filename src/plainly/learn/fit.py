"""The training loop: seeded, resumable, stopped by document-level error on the validation articles."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from plainly.learn.examples import Examples
from plainly.learn.model import Encoded, Estimator, encode, predict
from plainly.learn.quality import Quality, quality
from plainly.learn.soften import Floats

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Settings:
    """How to train. ``keep`` weighs a loss that holds the token vectors of ``keep_layer`` to those of the encoder that
    training began from, so that their similarities still say something about meaning."""

    epochs: float = 1.0
    batch: int = 64
    rate: float = 5e-5
    warmup: float = 0.1
    decay: float = 0.01
    longest: int = 128
    keep: float = 0.0
    keep_layer: int = -1
    checks: int = 4  # validations per epoch
    seed: int = 0


@dataclass(frozen=True)
class Validation:
    """Sentences of held-out documents with their documents' levels; the first head is judged by them."""

    texts: tuple[str, ...]
    levels: Floats
    documents: Sequence[Hashable]


@dataclass
class History:
    """What was measured on the way: steps, training losses and validation qualities."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    qualities: list[Quality] = field(default_factory=list)


def fit(
    model: Estimator,
    tokenizer: Any,
    examples: Examples,
    *,
    settings: Settings,
    device: torch.device,
    validation: Validation | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> History:
    """Train in place; afterwards the model has the weights of the check with the least document-level error.

    Without ``validation`` it has the last weights. With ``checkpoint`` the state is written at every check, and a run
    that finds one there goes on from it.
    """
    torch.manual_seed(settings.seed)
    model.to(device).train()
    original = copy.deepcopy(model.encoder).eval().requires_grad_(False) if settings.keep else None
    encoded = encode(tokenizer, examples.texts, longest=settings.longest)
    held_out = encode(tokenizer, validation.texts, longest=settings.longest) if validation else None
    targets = torch.tensor(examples.targets, dtype=torch.float32, device=device)
    per_epoch = math.ceil(len(examples.texts) / settings.batch)
    total = max(1, round(per_epoch * settings.epochs))
    optimiser, schedule = _optimiser(model, settings, total)
    history, best, start = History(), _Best(), 0
    if checkpoint is not None and checkpoint.is_file():
        start = _resume(checkpoint, model, optimiser, schedule, history, best)
    every = max(1, per_epoch // settings.checks)
    running: list[float] = []
    for step in range(start, total):
        chosen = _batch(step, per_epoch, len(examples.texts), settings)
        loss = _loss(model, original, encoded, targets, chosen, settings, device)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        running.append(float(loss.detach()) if progress or (step + 1) % every == 0 else math.nan)
        if progress is not None:
            progress(step + 1, total, running[-1])
        if (step + 1) % every == 0 or step + 1 == total:
            history.steps.append(step + 1)
            history.losses.append(float(loss.detach()))
            if validation is not None and held_out is not None:
                estimates = predict(model, held_out, device=device)[:, 0]
                history.qualities.append(quality(estimates, validation.levels, validation.documents))
                best.offer(history.qualities[-1].doc_mae, model)
            if checkpoint is not None:
                _keep(checkpoint, step + 1, model, optimiser, schedule, history, best)
    if best.weights is not None:
        model.load_state_dict(best.weights)
    model.eval()
    return history


@dataclass
class _Best:
    error: float = math.inf
    weights: dict[str, torch.Tensor] | None = None

    def offer(self, error: float, model: Estimator) -> None:
        if error < self.error:
            self.error = error
            self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}


def _batch(step: int, per_epoch: int, n: int, settings: Settings) -> list[int]:
    """The examples of a step follow from seed and step alone, so that a resumed run sees what it would have seen."""
    epoch, at = divmod(step, per_epoch)
    found: list[int] = _order(settings.seed, epoch, n)[at * settings.batch : (at + 1) * settings.batch].tolist()
    return found


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, n: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng([seed, epoch]).permutation(n)


def _loss(
    model: Estimator,
    original: torch.nn.Module | None,
    encoded: Encoded,
    targets: torch.Tensor,
    chosen: list[int],
    settings: Settings,
    device: torch.device,
) -> torch.Tensor:
    tokens, mask = encoded.batch(chosen, device)
    values, layers = model(tokens, mask)
    wanted = targets[torch.tensor(chosen, device=device)]
    known = ~torch.isnan(wanted)
    errors = torch.where(known, values - torch.nan_to_num(wanted), torch.zeros_like(values)) ** 2
    # Each head's mean over its own examples, so that a head with few of them is not drowned.
    loss = (errors.sum(0) / known.sum(0).clamp(min=1)).sum()
    if original is not None:
        with torch.no_grad():
            before = original(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
        at = settings.keep_layer
        apart = 1 - torch.nn.functional.cosine_similarity(layers[at], before[at], dim=-1)
        loss = loss + settings.keep * (apart * mask).sum() / mask.sum()
    return loss


def _optimiser(model: Estimator, settings: Settings, total: int) -> tuple[torch.optim.Optimizer, Any]:
    plain = [p for name, p in model.named_parameters() if p.ndim < 2 and p.requires_grad]
    decayed = [p for name, p in model.named_parameters() if p.ndim >= 2 and p.requires_grad]
    groups = [{"params": decayed, "weight_decay": settings.decay}, {"params": plain, "weight_decay": 0.0}]
    fused = next(model.parameters()).is_cuda
    optimiser = torch.optim.AdamW(groups, lr=settings.rate, fused=fused)
    warm = max(1, round(total * settings.warmup))

    def rise_and_fall(step: int) -> float:
        return min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))

    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, rise_and_fall)


def _keep(
    path: Path, step: int, model: Estimator, optimiser: Any, schedule: Any, history: History, best: _Best
) -> None:
    state = {
        "step": step,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.state_dict(),
        "history": history,
        "best": best,
        "random": torch.get_rng_state(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    half_written = path.with_suffix(".partial")
    torch.save(state, half_written)
    half_written.replace(path)


def _resume(path: Path, model: Estimator, optimiser: Any, schedule: Any, history: History, best: _Best) -> int:
    # The checkpoint is this program's own file; it holds the history and random state beside tensors.
    state = torch.load(path, map_location="cpu", weights_only=False)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])
    history.steps, history.losses = state["history"].steps, state["history"].losses
    history.qualities = state["history"].qualities
    best.error, best.weights = state["best"].error, state["best"].weights
    return int(state["step"])
