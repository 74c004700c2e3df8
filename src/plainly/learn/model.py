"""The estimator: any Hugging Face encoder, its token vectors averaged, and one linear head for each scale."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from plainly.errors import BadInput, DataUnavailable, MissingExtra
from plainly.learn.soften import Floats


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


@dataclass(frozen=True)
class Loaded:
    """An encoder and its tokenizer, from a directory or a hub's name."""

    encoder: Any
    tokenizer: Any


def load_encoder(name: str) -> Loaded:
    """Any encoder that transformers can load, from a directory or by its hub name."""
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise MissingExtra("Training", package="transformers", extra="train") from None
    try:
        return Loaded(AutoModel.from_pretrained(name), AutoTokenizer.from_pretrained(name))
    except OSError as error:
        raise DataUnavailable(
            f"The encoder {name!r} could not be loaded: {str(error).splitlines()[0]} Give a directory that holds "
            "config.json, tokenizer.json and model.safetensors, or a hub name and a network."
        ) from error


def save(model: Estimator, tokenizer: Any, directory: Path, *, facts: Mapping[str, Any]) -> None:
    """Write the encoder in its own format, and the heads beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    model.encoder.save_pretrained(directory)  # type: ignore[operator]
    tokenizer.save_pretrained(directory)
    torch.save(model.head.state_dict(), directory / "heads.pt")
    if model.wide is not None:
        torch.save(model.wide.state_dict(), directory / "wide.pt")
    (directory / "plainly.json").write_text(json.dumps({"heads": model.heads, **facts}, indent=2), encoding="utf-8")


def load(directory: Path) -> tuple[Estimator, Any]:
    """What ``save`` wrote: the model and its tokenizer."""
    facts = directory / "plainly.json"
    if not facts.is_file():
        raise BadInput(f"{directory} holds no trained estimator (no plainly.json). Train one: plainly train sle")
    loaded = load_encoder(str(directory))
    model = Estimator(loaded.encoder, heads=json.loads(facts.read_text(encoding="utf-8"))["heads"])
    model.head.load_state_dict(torch.load(directory / "heads.pt", map_location="cpu", weights_only=True))
    if (directory / "wide.pt").is_file():
        wide = torch.load(directory / "wide.pt", map_location="cpu", weights_only=True)
        model.wide = nn.Linear(wide["weight"].shape[1], wide["weight"].shape[0])
        model.wide.load_state_dict(wide)
    return model.eval(), loaded.tokenizer


@dataclass(frozen=True)
class Encoded:
    """Texts as token ids, made once; ``batch`` pads only as far as the longest of the chosen."""

    ids: tuple[tuple[int, ...], ...]
    pad: int

    def batch(self, chosen: Sequence[int], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [self.ids[i] for i in chosen]
        width = max(map(len, rows))
        tokens = torch.tensor([[*row, *([self.pad] * (width - len(row)))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        return tokens.to(device, non_blocking=True), mask.to(device, non_blocking=True)

    def by_length(self, size: int) -> Iterator[list[int]]:
        """All positions in batches of like length."""
        order = sorted(range(len(self.ids)), key=lambda i: len(self.ids[i]))
        yield from (order[at : at + size] for at in range(0, len(order), size))


def encode(tokenizer: Any, texts: Sequence[str], *, longest: int) -> Encoded:
    """Token ids of all texts, cut off after ``longest`` tokens."""
    found = tokenizer(list(texts), truncation=True, max_length=longest, padding=False)["input_ids"] if texts else []
    return Encoded(tuple(map(tuple, found)), int(tokenizer.pad_token_id))


@torch.no_grad()
def predict(model: Estimator, encoded: Encoded, *, device: torch.device, size: int = 256) -> Floats:
    """The value of every text on every head, shape (n, heads)."""
    training = model.training
    model.eval()
    found = np.empty((len(encoded.ids), len(model.heads)))
    for chosen in encoded.by_length(size):
        values, _ = model(*encoded.batch(chosen, device))
        found[chosen] = values.float().cpu().numpy()
    model.train(training)
    return found
