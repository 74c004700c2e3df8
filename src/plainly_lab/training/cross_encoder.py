"""The judge itself: an encoder that reads source and output together, with linear heads on what it makes of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from plainly.core.metric import Floats

Ids = npt.NDArray[np.int32]


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


@dataclass(frozen=True)
class PairIds:
    """Pairs as token ids: all rows behind one another, where each begins, and where its output begins."""

    ids: Ids
    starts: npt.NDArray[np.int64]
    turns: npt.NDArray[np.int64]
    pad: int

    def __len__(self) -> int:
        return len(self.turns)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.starts)

    def batch(self, chosen: npt.NDArray[np.int64], device: torch.device) -> tuple[torch.Tensor, ...]:
        """Token ids, mask and types of some rows, padded as far as the longest of them."""
        lengths = self.lengths[chosen]
        places = np.arange(int(lengths.max()))
        inside = places < lengths[:, None]
        tokens = np.full(inside.shape, self.pad, dtype=np.int64)
        tokens[inside] = self.ids[(self.starts[chosen][:, None] + places)[inside]]
        types = inside & (places >= self.turns[chosen][:, None])
        return tuple(torch.from_numpy(part.astype(np.int64)).to(device) for part in (tokens, inside, types))

    def by_length(self, budget: int) -> Iterator[npt.NDArray[np.int64]]:
        """All rows in batches of like length, each of about ``budget`` tokens."""
        order = np.argsort(self.lengths, kind="stable")
        fits = np.maximum(1, budget // np.maximum(1, self.lengths[order]))  # rows, were all as long as this one
        at = 0
        while at < len(order):
            size = int(fits[min(at + fits[at], len(order)) - 1])
            yield order[at : at + size]
            at += size


def encode(tokenizer: Any, sources: Sequence[str], outputs: Sequence[str], *, longest: int) -> PairIds:
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
    starts = np.cumsum([0, *map(len, rows)])
    flat = np.fromiter((token for row in rows for token in row), dtype=np.int32, count=int(starts[-1]))
    return PairIds(flat, starts, np.array(turns), int(tokenizer.pad_token_id))


def predict(model: CrossEncoder, pairs: PairIds, *, device: torch.device) -> Floats:
    """The value of every pair on every head, between 0 and 1, shape (n, heads)."""
    return _gathered(model, model, len(model.heads), pairs, device).clip(0, 1)


def features(model: CrossEncoder, pairs: PairIds, *, device: torch.device) -> Floats:
    """What the heads read of every pair, one row each."""
    return _gathered(model, model.features, model.head.in_features, pairs, device)


@torch.no_grad()
def _gathered(
    model: CrossEncoder, said: Callable[..., torch.Tensor], width: int, pairs: PairIds, device: torch.device
) -> Floats:
    training = model.training
    model.to(device).eval()
    rows = np.empty((len(pairs), width))
    for chosen in pairs.by_length(65536 if device.type == "cuda" else 2048):
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            values = said(*pairs.batch(chosen, device))
        rows[chosen] = values.float().cpu().numpy()
    model.train(training)
    return rows
