"""The estimator: any Hugging Face encoder, its token vectors averaged, and one linear head for each scale."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from plainly.core.errors import DataUnavailable, MissingExtra
from plainly.core.metric import Floats
from plainly.learned.adapters.weights import quiet
from plainly_lab.training.examples import Examples
from plainly_lab.training.ridge import shrunk


class Estimator(nn.Module):
    """``forward`` gives the value on each head, shape (n, heads), and the token vectors of every layer.

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
        # Starting at the labels' mean spares the first steps, which would otherwise disturb the encoder.
        self.head.bias.data = torch.tensor(centres if centres is not None else [0.0] * len(self.heads))
        self.wide = None

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        layers = self.encoder(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
        values = self.head(averages(layers[-1:], mask)[0])
        if self.wide is not None:
            values = torch.cat([values[:, :1], self.wide(evidence(layers, mask))], dim=1)
        return values, layers


def averages(layers: Sequence[torch.Tensor], mask: torch.Tensor) -> list[torch.Tensor]:
    """Each layer's token vectors averaged over the text."""
    shares = mask.to(layers[-1].dtype) / mask.sum(1, keepdim=True)
    return [torch.bmm(shares.unsqueeze(1), layer).squeeze(1) for layer in layers]


def evidence(layers: Sequence[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
    """What a wide head reads: every layer's average, and the number of tokens, which averages hide."""
    length = mask.sum(1, keepdim=True).to(layers[-1].dtype)
    return torch.cat([*averages(layers, mask), length.log(), length / 20, (length / 20) ** 2], dim=1)


def load_encoder(name: str, *, kind: str = "AutoModel", role: str = "encoder") -> tuple[Any, Any]:
    """Any encoder that transformers can load, from a directory or by its hub name, and its tokenizer."""
    try:
        import transformers
    except ImportError:
        raise MissingExtra("Training", package="transformers", extra="train") from None
    try:
        with quiet():
            model = getattr(transformers, kind).from_pretrained(name)
            return model, transformers.AutoTokenizer.from_pretrained(name)
    except OSError as error:
        raise DataUnavailable(
            f"The {role} {name!r} could not be loaded: {str(error).splitlines()[0]} Give a directory that holds "
            "config.json, tokenizer.json and model.safetensors, or a hub name and a network."
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
    """Texts as token ids, made once; ``batch`` pads only as far as the longest of the chosen."""

    ids: tuple[tuple[int, ...], ...]
    pad: int

    def batch(self, chosen: Sequence[int], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [self.ids[i] for i in chosen]
        width = max(map(len, rows))
        tokens = torch.tensor([[*row, *([self.pad] * (width - len(row)))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        return tokens.to(device, non_blocking=True), mask.to(device, non_blocking=True)

    def by_length(self, size: int = 256) -> Iterator[list[int]]:
        """All positions in batches of like length."""
        order = sorted(range(len(self.ids)), key=lambda i: len(self.ids[i]))
        yield from (order[at : at + size] for at in range(0, len(order), size))


def encode(tokenizer: Any, texts: Sequence[str], *, longest: int) -> TokenIds:
    """Token ids of all texts, cut off after ``longest`` tokens."""
    rows = tokenizer(list(texts), truncation=True, max_length=longest, padding=False)["input_ids"] if texts else []
    return TokenIds(tuple(map(tuple, rows)), int(tokenizer.pad_token_id))


@torch.no_grad()
def predict(model: Estimator, tokens: TokenIds, *, device: torch.device) -> Floats:
    """The value of every text on every head, shape (n, heads)."""
    training = model.training
    model.eval()
    estimates = np.empty((len(tokens.ids), len(model.heads)))
    for chosen in tokens.by_length():
        values, _ = model(*tokens.batch(chosen, device))
        estimates[chosen] = values.float().cpu().numpy()
    model.train(training)
    return estimates


@torch.no_grad()
def widen(
    model: Estimator, tokenizer: Any, rows: Examples, *, ridge: float, longest: int, device: torch.device
) -> None:
    """Give the model a wide head for all scales but the first, fitted to ``rows`` by ridge regression.

    The encoder learns the first scale above all, and its last layer forgets on the way what only the others need: words
    and length are clearest in its lower layers. Fitting all layers costs one pass and leaves all else as it is.
    """
    model.to(device).eval()
    texts = encode(tokenizer, rows.texts, longest=longest)
    by_place: dict[int, Floats] = {}
    for chosen in texts.by_length():
        tokens, mask = texts.batch(chosen, device)
        by_place.update(zip(chosen, evidence(model(tokens, mask)[1], mask).double().cpu().numpy(), strict=True))
    features: Floats = np.array([by_place[place] for place in range(len(by_place))])
    fitted = []
    for values in rows.targets.T[1 : len(model.heads)]:
        known = np.isfinite(values)
        fitted.append(shrunk(features[known], values[known], ridge))
    wide = nn.Linear(features.shape[1], len(fitted))
    wide.weight.data = torch.tensor(np.array([head.weights for head in fitted]), dtype=torch.float32)
    wide.bias.data = torch.tensor(np.array([head.bias for head in fitted]), dtype=torch.float32)
    model.wide = wide.to(device)
