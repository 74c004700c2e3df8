"""The training loop of every model: seeded, resumable, and stopped by a validation error where there is one."""

import io
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly_lab.training.models import Places
from plainly_lab.training.recipe import FitSettings


def fit(
    model: torch.nn.Module,
    loss_of: Callable[[Places], torch.Tensor],
    batches: Callable[[int], Sequence[Places]],
    *,
    examples: int,
    settings: FitSettings,
    head_rate: float | None = None,
    validate: Callable[[], float] | None = None,
    checkpoint: Path | None = None,
    progress: Progress = no_progress,
    name: str = "model",
) -> float:
    """Train in place; afterwards the model has the weights of the check with the least validation error.

    ``loss_of`` gives the loss of a batch, ``batches`` those of an epoch: they must follow from seed and epoch alone, so
    that a resumed run sees what it would have seen. With ``head_rate`` the head learns so many times faster and does
    not decay. Without ``validate`` the last weights remain. With ``checkpoint`` the state is written at every check,
    and a run that finds one there resumes from it. Returns the loss at the last step.
    """
    torch.manual_seed(settings.seed)
    model.train()
    per_epoch = math.ceil(examples / settings.batch)
    total, every = max(1, round(per_epoch * settings.epochs)), max(1, per_epoch // settings.checks)
    optimiser = torch.optim.AdamW(
        _parameter_groups(model, settings, head_rate), lr=settings.rate, fused=next(model.parameters()).is_cuda
    )
    warm = max(1, round(total * settings.warmup))
    # The rate rises over the warm-up and then falls to nothing.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))
    )
    parts = {"model": model, "optimiser": optimiser, "schedule": schedule}
    state = _State() if checkpoint is None or not checkpoint.is_file() else _resume(checkpoint, parts)
    stream = chain.from_iterable(map(batches, count()))
    with progress(f"training the {name}", total=total, unit="steps") as tell:
        tell(state.step)
        for step, chosen in enumerate(islice(stream, state.step, total), state.step + 1):
            loss = loss_of(chosen)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            tell(1)
            if step % every == 0 or step == total:
                state.step, state.loss = step, float(loss.detach())
                if validate is not None and (error := validate()) < state.error:
                    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
                    state.error, state.best = error, weights
                if checkpoint is not None:
                    _save(checkpoint, state, parts)
    if state.best is not None:
        model.load_state_dict(state.best)
    model.eval()
    return state.loss


@dataclass
class _State:
    """How far a run has come, and the weights of its best check."""

    step: int = 0
    loss: float = math.nan
    error: float = math.inf
    best: dict[str, torch.Tensor] | None = None


def _parameter_groups(model: torch.nn.Module, settings: FitSettings, head_rate: float | None) -> list[dict[str, Any]]:
    """Matrices decay, vectors do not, nor does a head with a rate of its own."""
    trained = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    head = [value for name, value in trained if head_rate is not None and name.startswith("head.")]
    others = [value for name, value in trained if head_rate is None or not name.startswith("head.")]
    groups: list[dict[str, Any]] = [
        {"params": [value for value in others if value.ndim >= 2], "weight_decay": settings.decay},
        {"params": [value for value in others if value.ndim < 2], "weight_decay": 0.0},
    ]
    return (
        groups
        if head_rate is None
        else [*groups, {"params": head, "weight_decay": 0.0, "lr": head_rate * settings.rate}]
    )


def _save(path: Path, state: _State, parts: dict[str, Any]) -> None:
    content: dict[str, Any] = {name: part.state_dict() for name, part in parts.items()}
    content |= {"state": vars(state), "random": torch.get_rng_state()}
    path.parent.mkdir(parents=True, exist_ok=True)
    half_written = path.with_suffix(".partial")
    torch.save(content, half_written)
    half_written.replace(path)


def _resume(path: Path, parts: dict[str, Any]) -> _State:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state = _State(**content["state"])
    except (pickle.UnpicklingError, KeyError, TypeError):
        raise BadInput(f"Cannot resume from {path}: another version wrote it. Remove it and run again.") from None
    for name, part in parts.items():
        part.load_state_dict(content[name])
    torch.set_rng_state(content["random"])
    return state


def squared_errors(values: torch.Tensor, targets: torch.Tensor, *, fewest: int) -> torch.Tensor:
    """Each head's mean squared error over its own examples, so that a head with few of them is not drowned."""
    known = ~torch.isnan(targets)
    errors = torch.where(known, values - torch.nan_to_num(targets), 0.0) ** 2
    return errors.sum(0) / known.sum(0).clamp(min=fewest)


def load_or_compute(path: Path, compute: Callable[[], Floats]) -> Floats:
    """Return the array that an earlier run saved in a file, or compute it now and save it there."""
    if path.is_file():
        saved: Floats = np.load(path)
        return saved
    values = compute()
    content = io.BytesIO()
    np.save(content, values)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content.getvalue())
    return values
