"""The training loop: seeded, resumable, stopped by document-level error on the validation articles."""

import copy
import io
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly_lab.training.estimator import Estimator, TokenIds, encode, predict
from plainly_lab.training.examples import Examples
from plainly_lab.training.levels import HeldOutQuality, LevelledSentences, quality
from plainly_lab.training.recipe import FitSettings


def fit(
    model: Estimator,
    tokenizer: Any,
    examples: Examples,
    *,
    settings: FitSettings,
    device: torch.device,
    validation: LevelledSentences | None = None,
    checkpoint: Path | None = None,
    progress: Progress = no_progress,
    name: str = "model",
) -> float:
    """Train in place; afterwards the model has the weights of the check with the least document-level error.

    Without ``validation`` it has the last weights. With ``checkpoint`` the state is written at every check, and a run
    that finds one there goes on from it. What is returned is the loss at the last step.
    """
    torch.manual_seed(settings.seed)
    model.to(device).train()
    original = copy.deepcopy(model.encoder).eval().requires_grad_(False) if settings.keep else None
    tokens = encode(tokenizer, examples.texts, longest=settings.longest)
    targets = torch.tensor(examples.targets, dtype=torch.float32, device=device)
    per_epoch = math.ceil(len(examples.texts) / settings.batch)
    total = max(1, round(per_epoch * settings.epochs))
    plain = [p for p in model.parameters() if p.ndim < 2 and p.requires_grad]
    decayed = [p for p in model.parameters() if p.ndim >= 2 and p.requires_grad]
    groups = [{"params": decayed, "weight_decay": settings.decay}, {"params": plain, "weight_decay": 0.0}]
    optimiser, schedule = scheduled(groups, settings, total)
    state = _State()
    if checkpoint is not None and checkpoint.is_file():
        state = _resume(checkpoint, model, optimiser, schedule)
    every = max(1, per_epoch // settings.checks)
    with progress(f"training the {name}", total=total, unit="steps") as tell:
        tell(state.step)
        for step in range(state.step, total):
            chosen = _batch(step, per_epoch, len(examples.texts), settings)
            loss = _loss(model, original, tokens, targets, chosen, settings, device)
            learn(loss, model, optimiser, schedule)
            tell(1)
            if (step + 1) % every == 0 or step + 1 == total:
                state.step, state.loss = step + 1, float(loss.detach())
                if validation is not None:
                    error = judge(model, tokenizer, validation, settings, device).doc_mae
                    if error < state.error:
                        weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
                        state.error, state.best = error, weights
                if checkpoint is not None:
                    _keep(checkpoint, state, model, optimiser, schedule)
    if state.best is not None:
        model.load_state_dict(state.best)
    model.eval()
    return state.loss


def judge(
    model: Estimator, tokenizer: Any, held_out: LevelledSentences, settings: FitSettings, device: torch.device
) -> HeldOutQuality:
    """The paper's measures on articles that were not trained on."""
    tokens = encode(tokenizer, held_out.sentences, longest=settings.longest)
    return quality(predict(model, tokens, device=device)[:, 0], held_out.levels, held_out.documents)


@dataclass
class _State:
    """How far a run has come, and the weights of its best check."""

    step: int = 0
    loss: float = math.nan
    error: float = math.inf
    best: dict[str, torch.Tensor] | None = None


def _batch(step: int, per_epoch: int, n: int, settings: FitSettings) -> list[int]:
    """The examples of a step follow from seed and step alone, so that a resumed run sees what it would have seen."""
    epoch, at = divmod(step, per_epoch)
    return _order(settings.seed, epoch, n)[at * settings.batch : (at + 1) * settings.batch]


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, n: int) -> list[int]:
    return np.random.default_rng([seed, epoch]).permutation(n).tolist()


def _loss(
    model: Estimator,
    original: torch.nn.Module | None,
    texts: TokenIds,
    targets: torch.Tensor,
    chosen: list[int],
    settings: FitSettings,
    device: torch.device,
) -> torch.Tensor:
    tokens, mask = texts.batch(chosen, device)
    values, layers = model(tokens, mask)
    loss = by_head(values, targets[torch.tensor(chosen, device=device)], fewest=1).sum()
    if original is not None:
        with torch.no_grad():
            before = original(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
        at = settings.keep_layer
        apart = 1 - torch.nn.functional.cosine_similarity(layers[at], before[at], dim=-1)
        loss = loss + settings.keep * (apart * mask).sum() / mask.sum()
    return loss


def by_head(values: torch.Tensor, wanted: torch.Tensor, *, fewest: int) -> torch.Tensor:
    """Each head's mean squared error over its own examples, so that a head with few of them is not drowned."""
    known = ~torch.isnan(wanted)
    errors = torch.where(known, values - torch.nan_to_num(wanted), 0.0) ** 2
    return errors.sum(0) / known.sum(0).clamp(min=fewest)


def learn(loss: torch.Tensor, model: torch.nn.Module, optimiser: torch.optim.Optimizer, schedule: Any) -> None:
    """One step down the gradient of a loss."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    schedule.step()


def scheduled(
    groups: list[dict[str, Any]], settings: FitSettings, total: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    """An optimiser of groups of parameters, whose rate rises over the warm-up and then falls to nothing."""
    optimiser = torch.optim.AdamW(groups, lr=settings.rate, fused=groups[0]["params"][0].is_cuda)
    warm = max(1, round(total * settings.warmup))

    def rise_and_fall(step: int) -> float:
        return min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))

    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, rise_and_fall)


def kept(path: Path, make: Callable[[], Floats]) -> Floats:
    """What an earlier run kept in a file, or what is made now and kept there."""
    if path.is_file():
        before: Floats = np.load(path)
        return before
    made = make()
    content = io.BytesIO()
    np.save(content, made)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content.getvalue())
    return made


def _keep(path: Path, state: _State, model: Estimator, optimiser: Any, schedule: Any) -> None:
    parts = {"model": model, "optimiser": optimiser, "schedule": schedule}
    content: dict[str, Any] = {name: part.state_dict() for name, part in parts.items()}
    content |= {"state": vars(state), "random": torch.get_rng_state()}
    path.parent.mkdir(parents=True, exist_ok=True)
    half_written = path.with_suffix(".partial")
    torch.save(content, half_written)
    half_written.replace(path)


def _resume(path: Path, model: Estimator, optimiser: Any, schedule: Any) -> _State:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state = _State(**content["state"])
    except (pickle.UnpicklingError, KeyError, TypeError):
        raise BadInput(f"{path} cannot be gone on from: another version wrote it. Remove it and run again.") from None
    model.load_state_dict(content["model"])
    optimiser.load_state_dict(content["optimiser"])
    schedule.load_state_dict(content["schedule"])
    torch.set_rng_state(content["random"])
    return state
