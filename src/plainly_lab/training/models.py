"""The two models that are trained, both a Hugging Face encoder with linear heads, and the token ids that they read.

An ``Estimator`` reads one text and averages its token vectors; a ``CrossEncoder`` reads source and output together.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from plainly.core.errors import DataUnavailable, MissingExtra
from plainly.core.metric import Floats
from plainly.learned.adapters.weights import quiet
from plainly_lab.training.cefr import fit_ridge
from plainly_lab.training.documents import Examples

Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


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


class CrossEncoder(nn.Module):
    """``forward`` gives the value on each head, shape (n, heads), not yet between 0 and 1.

    The heads read the vector of the first token, and the mean and the largest values over the tokens of the output: one
    wrong word is lost in a mean.
    """

    def __init__(self, encoder: nn.Module, *, heads: Sequence[str]) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = tuple(heads)
        config: Any = encoder.config
        self.typed = int(getattr(config, "type_vocab_size", 1) or 1) > 1
        self.head = nn.Linear(3 * int(config.hidden_size), len(self.heads))
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.constant_(self.head.bias, 0.5)

    def features(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """What the heads read, shape (n, 3 × width of the encoder)."""
        more = {"token_type_ids": types} if self.typed else {}
        vectors = self.encoder(input_ids=tokens, attention_mask=mask, **more).last_hidden_state
        of_output = (types * mask).unsqueeze(-1).to(vectors.dtype)
        mean = (vectors * of_output).sum(1) / of_output.sum(1).clamp(min=1)
        largest = (vectors * of_output - 100 * (1 - of_output)).amax(1)
        return torch.cat([vectors[:, 0], mean, largest], dim=1).float()

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        features = self.features(tokens, mask, types)
        with torch.autocast(features.device.type, enabled=False):  # Sixteen bits are too few for the last digits.
            values: torch.Tensor = self.head(features)
        return values


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
    """Texts or pairs as token ids: all rows in one array, where each begins, and where the output of a pair begins."""

    ids: Ids
    starts: Places
    pad: int
    outputs: Places | None = None  # where in its row each output begins; None: texts, not pairs

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], tokenizer: Any, outputs: Sequence[int] | None = None) -> "TokenIds":
        starts = np.cumsum([0, *map(len, rows)])
        flat = np.fromiter((token for row in rows for token in row), dtype=np.int32, count=int(starts[-1]))
        return cls(flat, starts, int(tokenizer.pad_token_id), None if outputs is None else np.array(outputs))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Places:
        return np.diff(self.starts)

    def batch(self, chosen: Places, device: torch.device) -> tuple[torch.Tensor, ...]:
        """Token ids and mask of some rows, of pairs also types, padded as far as the longest of them."""
        lengths = self.lengths[chosen]
        places = np.arange(int(lengths.max()))
        inside = places < lengths[:, None]
        tokens = np.full(inside.shape, self.pad, dtype=np.int64)
        tokens[inside] = self.ids[(self.starts[chosen][:, None] + places)[inside]]
        parts = [tokens, inside]
        if self.outputs is not None:
            parts.append(inside & (places >= self.outputs[chosen][:, None]))
        return tuple(torch.from_numpy(part.astype(np.int64)).to(device) for part in parts)

    def by_length(self, *, rows: int = 256, tokens: int | None = None) -> Iterator[Places]:
        """All rows in batches of like length, each of so many rows, or of about so many tokens."""
        order = np.argsort(self.lengths, kind="stable")
        # Rows that fit into a batch, were all as long as this one.
        fits = (
            np.full(len(order), rows) if tokens is None else np.maximum(1, tokens // np.maximum(1, self.lengths[order]))
        )
        at = 0
        while at < len(order):
            size = int(fits[min(at + fits[at], len(order)) - 1])
            yield order[at : at + size]
            at += size


def encode_texts(tokenizer: Any, texts: Sequence[str], *, longest: int) -> TokenIds:
    """Token ids of all texts, cut off after ``longest`` tokens."""
    rows = tokenizer(list(texts), truncation=True, max_length=longest, padding=False)["input_ids"] if texts else []
    return TokenIds.of(rows, tokenizer)


def encode_pairs(tokenizer: Any, sources: Sequence[str], outputs: Sequence[str], *, longest: int) -> TokenIds:
    """Token ids of pairs; where they are longer than ``longest`` together, the longer one is cut first."""
    distinct = list(dict.fromkeys([*sources, *outputs]))
    how: dict[str, Any] = {"add_special_tokens": False, "truncation": True, "max_length": longest}
    ids = tokenizer(distinct, **how)["input_ids"] if distinct else []
    by_text = dict(zip(distinct, ids, strict=True))
    first, last = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    between = last * (tokenizer("a", "a")["input_ids"].count(last[0]) - 1)
    room = longest - 2 - len(between)
    rows, turns = [], []
    for source, output in zip(sources, outputs, strict=True):
        a, b = by_text[source], by_text[output]
        if len(a) + len(b) > room:
            most = max(room - min(len(a), len(b)), room // 2)  # tokens of the longer one
            of_a = min(len(a), most) if len(a) > len(b) else room - min(len(b), most)
            a, b = a[:of_a], b[: room - of_a]
        rows.append([*first, *a, *between, *b, *last])
        turns.append(1 + len(a) + len(between))
    return TokenIds.of(rows, tokenizer, turns)


def predict_levels(model: Estimator, texts: TokenIds, *, device: torch.device) -> Floats:
    """The value of every text on every head, shape (n, heads)."""
    return _gather(model, lambda *batch: model(*batch)[0], texts, texts.by_length(), device)


def predict_ratings(model: CrossEncoder, pairs: TokenIds, *, device: torch.device) -> Floats:
    """The value of every pair on every head, between 0 and 1, shape (n, heads)."""
    return read_pairs(model, model, pairs, device=device).clip(0, 1)


def read_pairs(
    model: CrossEncoder, read: Callable[..., torch.Tensor], pairs: TokenIds, *, device: torch.device
) -> Floats:
    """What a function of the model, such as ``model.features``, gives for every pair, one row each."""
    model.to(device)
    on_gpu = device.type == "cuda"
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=on_gpu):
        return _gather(model, read, pairs, pairs.by_length(tokens=65536 if on_gpu else 2048), device)


@torch.no_grad()
def _gather(
    model: nn.Module,
    read: Callable[..., torch.Tensor],
    ids: TokenIds,
    batches: Iterable[Places],
    device: torch.device,
) -> Floats:
    training = model.training
    model.eval()
    rows: Floats = np.empty((len(ids), 0))
    for chosen in batches:
        values = read(*ids.batch(chosen, device)).float().cpu().numpy()
        if not rows.size:
            rows = np.empty((len(ids), values.shape[1]))
        rows[chosen] = values
    model.train(training)
    return rows


def widen(
    model: Estimator, tokenizer: Any, rows: Examples, *, ridge: float, longest: int, device: torch.device
) -> None:
    """Give the model a wide head for all scales but the first, fitted to ``rows`` by ridge regression.

    The encoder learns the first scale above all, and its last layer forgets on the way what only the others need: words
    and length are clearest in its lower layers. Fitting all layers costs one pass and leaves all else as it is.
    """
    model.to(device).eval()
    texts = encode_texts(tokenizer, rows.texts, longest=longest)
    features = _gather(
        model, lambda tokens, mask: evidence(model(tokens, mask)[1], mask), texts, texts.by_length(), device
    )
    fitted = []
    for values in rows.targets.T[1 : len(model.heads)]:
        known = np.isfinite(values)
        fitted.append(fit_ridge(features[known], values[known], ridge))
    wide = nn.Linear(features.shape[1], len(fitted))
    wide.weight.data = torch.tensor(np.array([head.weights for head in fitted]), dtype=torch.float32)
    wide.bias.data = torch.tensor(np.array([head.bias for head in fitted]), dtype=torch.float32)
    model.wide = wide.to(device)
