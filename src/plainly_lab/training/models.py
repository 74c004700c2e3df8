"""The two models, the token ids that they read, and the training loop: seeded and resumable.

Both are a Hugging Face encoder with linear heads. An ``Estimator`` reads one text and averages its token vectors; a
``CrossEncoder`` reads source and output together.
"""

import io
import json
import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers
from torch import nn

from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly.learned.adapters.models import quiet
from plainly_lab.training.cefr import fit_ridge
from plainly_lab.training.documents import Examples
from plainly_lab.training.recipe import FitSettings

Indices = npt.NDArray[np.int64]


class Estimator(nn.Module):
    """``forward`` returns the value on each head, shape (n, heads), and the token vectors of every layer.

    Where ``wide`` is set, it replaces all heads but the first: it reads the averages of every layer and the length.
    """

    wide: nn.Linear | None

    def __init__(self, encoder: nn.Module, *, heads: Sequence[str], centres: Sequence[float] | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = tuple(heads)
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.head = nn.Linear(width, len(self.heads))
        nn.init.normal_(self.head.weight, std=0.02)
        # Starting at the labels' mean saves the first steps, which would otherwise disturb the encoder.
        self.head.bias.data = torch.tensor(centres if centres is not None else [0.0] * len(self.heads))
        self.wide = None

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        layers = self.encoder(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
        values = self.head(averages(layers[-1:], mask)[0])
        if self.wide is not None:
            values = torch.cat([values[:, :1], self.wide(evidence(layers, mask))], dim=1)
        return values, layers


def averages(layers: Sequence[torch.Tensor], mask: torch.Tensor) -> list[torch.Tensor]:
    """Return each layer's token vectors averaged over the text."""
    shares = mask.to(layers[-1].dtype) / mask.sum(1, keepdim=True)
    return [torch.bmm(shares.unsqueeze(1), layer).squeeze(1) for layer in layers]


def evidence(layers: Sequence[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    """Return what a wide head reads: every layer's average, and the number of tokens, which averages hide."""
    length = mask.sum(1, keepdim=True).to(layers[-1].dtype)
    return torch.cat([*averages(layers, mask), length.log(), length / 20, (length / 20) ** 2], dim=1)


class CrossEncoder(nn.Module):
    """``forward`` returns the value on each head, shape (n, heads), not yet between 0 and 1.

    The heads read the vector of the first token, and the mean and the largest values over the tokens of the output,
    because a mean hides a single wrong word.
    """

    def __init__(self, encoder: nn.Module, *, heads: Sequence[str]) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = tuple(heads)
        config: Any = encoder.config
        self.has_types = int(getattr(config, "type_vocab_size", 1) or 1) > 1
        self.head = nn.Linear(3 * int(config.hidden_size), len(self.heads))
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.constant_(self.head.bias, 0.5)

    def features(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Return what the heads read, shape (n, 3 × width of the encoder)."""
        more = {"token_type_ids": types} if self.has_types else {}
        vectors = self.encoder(input_ids=tokens, attention_mask=mask, **more).last_hidden_state
        of_output = (types * mask).unsqueeze(-1).to(vectors.dtype)
        mean = (vectors * of_output).sum(1) / of_output.sum(1).clamp(min=1)
        largest = (vectors * of_output - 100 * (1 - of_output)).amax(1)
        return torch.cat([vectors[:, 0], mean, largest], dim=1).float()

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Any:
        features = self.features(tokens, mask, types)
        with torch.autocast(features.device.type, enabled=False):  # Sixteen bits are too few for the last digits.
            return self.head(features)


def load_encoder(name: str, *, kind: str = "AutoModel", role: str = "encoder") -> tuple[Any, Any]:
    """Load an encoder and its tokenizer with transformers, from a directory or by hub name."""
    try:
        with quiet():
            model = getattr(transformers, kind).from_pretrained(name)
            return model, transformers.AutoTokenizer.from_pretrained(name)
    except OSError as error:
        raise DataUnavailable(
            f"The {role} {name!r} could not be loaded: {str(error).splitlines()[0]} Pass a directory that holds "
            "config.json, tokenizer.json and model.safetensors, or, with a network, a hub name."
        ) from error


def save(model: Estimator, tokenizer: Any, directory: Path, *, longest: int) -> None:
    """Write the encoder in its own format, and the heads beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    with quiet():
        model.encoder.save_pretrained(directory)  # type: ignore[operator]
    tokenizer.save_pretrained(directory)
    torch.save(model.head.state_dict(), directory / "heads.pt")
    if model.wide is not None:
        torch.save(model.wide.state_dict(), directory / "wide.pt")
    facts = {"heads": model.heads, "longest": longest}
    (directory / "plainly.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")


@dataclass(frozen=True)
class TokenIds:
    """Texts or pairs as token ids: all rows in one array, and the start of each."""

    ids: npt.NDArray[np.int32]
    starts: Indices
    pad: int
    outputs: Indices | None = None  # the start of each output in its row; None: texts, not pairs

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], tokenizer: Any, outputs: Sequence[int] | None = None) -> "TokenIds":
        starts = np.cumsum([0, *map(len, rows)])
        flat = np.fromiter((token for row in rows for token in row), dtype=np.int32, count=int(starts[-1]))
        return cls(flat, starts, int(tokenizer.pad_token_id), None if outputs is None else np.array(outputs))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Indices:
        return np.diff(self.starts)

    def batch(self, rows: Indices, device: torch.device) -> tuple[torch.Tensor, ...]:
        """Return token ids and mask of some rows, for pairs also types, padded to the longest of them."""
        lengths = self.lengths[rows]
        columns = np.arange(int(lengths.max()))
        inside = columns < lengths[:, None]
        tokens = np.full(inside.shape, self.pad, dtype=np.int64)
        tokens[inside] = self.ids[(self.starts[rows][:, None] + columns)[inside]]
        parts = [tokens, inside]
        if self.outputs is not None:
            parts.append(inside & (columns >= self.outputs[rows][:, None]))
        return tuple(torch.from_numpy(part.astype(np.int64)).to(device) for part in parts)

    def by_length(self, *, rows: int = 256, tokens: int | None = None) -> Iterator[Indices]:
        """Yield all rows in batches of similar length, each of ``rows`` rows, or of about ``tokens`` tokens."""
        order = np.argsort(self.lengths, kind="stable")
        fits = np.full(len(order), rows)
        if tokens is not None:  # the rows that fit into a batch if all are as long as this one
            fits = np.maximum(1, tokens // np.maximum(1, self.lengths[order]))
        at = 0
        while at < len(order):
            size = int(fits[min(at + fits[at], len(order)) - 1])
            yield order[at : at + size]
            at += size


def encode_texts(tokenizer: Any, texts: Sequence[str], *, longest: int) -> TokenIds:
    """Return the token ids of all texts, cut off after ``longest`` tokens."""
    rows = tokenizer(list(texts), truncation=True, max_length=longest, padding=False)["input_ids"] if texts else []
    return TokenIds.of(rows, tokenizer)


def encode_pairs(tokenizer: Any, sources: Sequence[str], outputs: Sequence[str], *, longest: int) -> TokenIds:
    """Return the token ids of pairs; where both are longer than ``longest``, the longer text is cut first."""
    distinct = list(dict.fromkeys([*sources, *outputs]))
    options: dict[str, Any] = {"add_special_tokens": False, "truncation": True, "max_length": longest}
    ids = tokenizer(distinct, **options)["input_ids"] if distinct else []
    by_text = dict(zip(distinct, ids, strict=True))
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    between = [last] * (tokenizer("a", "a")["input_ids"].count(last) - 1)
    room = longest - 2 - len(between)
    rows, starts = [], []
    for source, output in zip(sources, outputs, strict=True):
        a, b = by_text[source], by_text[output]
        if len(a) + len(b) > room:
            most = max(room - min(len(a), len(b)), room // 2)  # tokens of the longer one
            of_a = min(len(a), most) if len(a) > len(b) else room - min(len(b), most)
            a, b = a[:of_a], b[: room - of_a]
        rows.append([first, *a, *between, *b, last])
        starts.append(1 + len(a) + len(between))
    return TokenIds.of(rows, tokenizer, starts)


def predict_levels(model: Estimator, texts: TokenIds, *, device: torch.device) -> Floats:
    """Return the value of every text on every head, shape (n, heads)."""
    return _gather(model, lambda *batch: model(*batch)[0], texts, texts.by_length(), device)


def predict_ratings(model: CrossEncoder, pairs: TokenIds, *, device: torch.device) -> Floats:
    """Return the value of every pair on every head, between 0 and 1, shape (n, heads)."""
    return read_pairs(model, model, pairs, device=device).clip(0, 1)


def read_pairs(
    model: CrossEncoder, read: Callable[..., torch.Tensor], pairs: TokenIds, *, device: torch.device
) -> Floats:
    """Return the rows of a function of the model, such as ``model.features``, for all pairs."""
    model.to(device)
    on_gpu = device.type == "cuda"
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=on_gpu):
        return _gather(model, read, pairs, pairs.by_length(tokens=65536 if on_gpu else 2048), device)


@torch.no_grad()
def _gather(
    model: nn.Module,
    read: Callable[..., torch.Tensor],
    ids: TokenIds,
    batches: Iterable[Indices],
    device: torch.device,
) -> Floats:
    was_training = model.training
    model.eval()
    parts = [(indices, read(*ids.batch(indices, device)).float().cpu().numpy()) for indices in batches]
    model.train(was_training)
    rows: Floats = np.empty((len(ids), parts[0][1].shape[1] if parts else 0))
    for indices, values in parts:
        rows[indices] = values
    return rows


def widen(
    model: Estimator, tokenizer: Any, rows: Examples, *, ridge: float, longest: int, device: torch.device
) -> None:
    """Give the model a wide head for all scales but the first, fitted to ``rows`` by ridge regression.

    The encoder learns the first scale above all, and its last layer forgets what only the others need: words and length
    are clearest in its lower layers. Fitting all layers costs one pass and changes nothing else.
    """
    model.to(device).eval()
    texts = encode_texts(tokenizer, rows.texts, longest=longest)
    features = _gather(
        model, lambda tokens, mask: evidence(model(tokens, mask)[1], mask), texts, texts.by_length(), device
    )
    heads = []
    for values in rows.targets.T[1 : len(model.heads)]:
        has_value = np.isfinite(values)
        heads.append(fit_ridge(features[has_value], values[has_value], ridge))
    wide = nn.Linear(features.shape[1], len(heads))
    wide.weight.data = torch.tensor(np.array([head.weights for head in heads]), dtype=torch.float32)
    wide.bias.data = torch.tensor(np.array([head.bias for head in heads]), dtype=torch.float32)
    model.wide = wide.to(device)


def fit(
    model: torch.nn.Module,
    loss_of: Callable[[Indices], torch.Tensor],
    batches: Callable[[int], Sequence[Indices]],
    *,
    examples: int,
    settings: FitSettings,
    head_rate: float | None = None,
    validate: Callable[[], float] | None = None,
    checkpoint: Path | None = None,
    progress: Progress = no_progress,
    name: str = "model",
) -> float:
    """Train in place and return the loss at the last step.

    ``loss_of`` returns the loss of a batch, ``batches`` the batches of an epoch: they must depend on seed and epoch
    alone, so that a resumed run sees the same ones. With ``head_rate`` the head learns that many times faster and does
    not decay. With ``validate`` the model ends with the weights that had the least validation error, without it with
    the last ones. With ``checkpoint`` the state is saved at every check, and an interrupted run resumes from there.
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
        for step, batch in enumerate(islice(stream, state.step, total), state.step + 1):
            loss = loss_of(batch)
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
                    _save_state(checkpoint, state, parts)
    if state.best is not None:
        model.load_state_dict(state.best)
    model.eval()
    return state.loss


@dataclass
class _State:
    """The progress of a run, and the weights of its best check."""

    step: int = 0
    loss: float = math.nan
    error: float = math.inf
    best: dict[str, torch.Tensor] | None = None


def _parameter_groups(model: torch.nn.Module, settings: FitSettings, head_rate: float | None) -> list[dict[str, Any]]:
    """Return groups in which matrices decay; vectors do not, nor does a head with its own rate."""
    parameters = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    head = [value for name, value in parameters if head_rate is not None and name.startswith("head.")]
    others = [value for name, value in parameters if head_rate is None or not name.startswith("head.")]
    groups: list[dict[str, Any]] = [
        {"params": [value for value in others if value.ndim >= 2], "weight_decay": settings.decay},
        {"params": [value for value in others if value.ndim < 2], "weight_decay": 0.0},
    ]
    if head_rate is not None:
        groups.append({"params": head, "weight_decay": 0.0, "lr": head_rate * settings.rate})
    return groups


def _save_state(path: Path, state: _State, parts: dict[str, Any]) -> None:
    content: dict[str, Any] = {name: part.state_dict() for name, part in parts.items()}
    content |= {"state": vars(state), "random": torch.get_rng_state()}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(content, partial)
    partial.replace(path)


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
    """Return each head's mean squared error over its own examples, so that a head with few of them counts as much."""
    has_target = ~torch.isnan(targets)
    errors = torch.where(has_target, values - torch.nan_to_num(targets), 0.0) ** 2
    return errors.sum(0) / has_target.sum(0).clamp(min=fewest)


def load_or_compute(path: Path, compute: Callable[[], Floats]) -> Floats:
    """Return the array that an earlier run saved in a file, or compute it now and save it there."""
    if path.is_file():
        return np.load(path)
    values = compute()
    content = io.BytesIO()
    np.save(content, values)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content.getvalue())
    return values
