"""From a trained judge to what plainly loads: heads mixed, ONNX in eight bits, a check of both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plainly.core.errors import PlainlyError
from plainly.core.metric import Floats
from plainly.learned.encoder import session_options
from plainly_lab.training.cross_encoder import CrossEncoder, PairIds, encode, predict
from plainly_lab.training.onnx_export import SHAPE, ExportCheck, write
from plainly_lab.training.pairs import HEADS

_LEAST = 0.995  # the correlation that eight bits must keep, on every head


class _Exported(torch.nn.Module):
    def __init__(self, model: CrossEncoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = self.model(tokens, mask, types).clamp(0.0, 1.0)
        return values


def folded(model: CrossEncoder, *, gain: float, overall: float = 0.0) -> CrossEncoder:
    """The five heads that are kept: ``gain`` is the share of the gain in simplicity, ``overall`` its own in meaning."""
    mixes = (("simplicity", "gain", gain), ("meaning", "overall", overall))
    weight, bias = model.head.weight.data.clone(), model.head.bias.data.clone()
    for head, other, share in mixes:
        at, extra = model.heads.index(head), model.heads.index(other)
        for values in (weight, bias):
            values[at] = (1 - share) * values[at] + share * values[extra]
    places = [model.heads.index(head) for head in HEADS]
    weight, bias = weight[places], bias[places]
    kept = CrossEncoder(model.encoder, heads=HEADS)
    kept.head.weight.data, kept.head.bias.data = weight, bias
    return kept.eval()


def export(
    model: CrossEncoder,
    tokenizer: Any,
    directory: Path,
    *,
    longest: int,
    facts: Mapping[str, Any],
    check: tuple[Sequence[str], Sequence[str]],
    eight_bits: bool = True,
) -> ExportCheck:
    """Write ``model.onnx``, ``tokenizer.json`` and ``model.json``, and compare both runtimes on the pairs ``check``."""
    inputs = {**SHAPE, "types": torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]])}
    known = {"heads": list(model.heads), "longest": longest, **facts}
    write(_Exported(model), inputs, ["values"], tokenizer, directory, known, eight_bits=eight_bits)
    pairs = encode(tokenizer, *check, longest=longest)
    distance, least = _compare(predict(model, pairs, device=torch.device("cpu")), run(directory, pairs))
    if eight_bits and least < _LEAST:
        raise PlainlyError(
            f"In eight bits a head correlates with the trained one at {least:.4f} only, less than {_LEAST}. "
            "Export without eight bits: eight_bits=False"
        )
    return distance


def run(directory: Path, pairs: PairIds) -> Floats:
    """What the exported model says of pairs, shape (n, heads)."""
    import onnxruntime

    weights = str(directory / "model.onnx")
    session = onnxruntime.InferenceSession(weights, session_options(), providers=["CPUExecutionProvider"])
    rows = np.empty((len(pairs), len(HEADS)))
    for chosen in pairs.by_length(1024):
        tokens, mask, types = (part.numpy() for part in pairs.batch(chosen, torch.device("cpu")))
        rows[chosen] = session.run(["values"], {"tokens": tokens, "mask": mask, "types": types})[0]
    return rows


def _compare(trained: Floats, exported: Floats) -> tuple[ExportCheck, float]:
    """How far apart they are on the first head, and the least correlation of any head that varies."""
    apart = np.abs(trained - exported)[:, 0]
    columns = zip(trained.T, exported.T, strict=True)
    by_head = [_correlation(ours, theirs) for ours, theirs in columns]
    check = ExportCheck(float(apart.max()), float(apart.mean()), by_head[0], len(trained))
    return check, min((value for value in by_head if np.isfinite(value)), default=1.0)


def _correlation(ours: Floats, theirs: Floats) -> float:
    varied = len(ours) > 2 and np.ptp(ours) > 1e-3 and np.ptp(theirs) > 1e-3
    return float(np.corrcoef(ours, theirs)[0, 1]) if varied else float("nan")
