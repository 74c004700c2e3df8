"""From a trained model to what plainly loads: ONNX in eight bits, the tokenizer, and a check that both agree."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plainly.core.errors import MissingExtra, PlainlyError
from plainly.core.metric import Floats
from plainly.learned import encoder
from plainly_lab.training.models import (
    CrossEncoder,
    Estimator,
    TokenIds,
    encode_pairs,
    encode_texts,
    predict_levels,
    predict_ratings,
)
from plainly_lab.training.pairs import HEADS

_TOKENS = torch.tensor([[2, 3, 4, 5, 3], [3, 4, 2, 0, 0], [4, 2, 5, 0, 0]])
_INPUTS = {"tokens": _TOKENS, "mask": (_TOKENS > 0).long()}  # some inputs to trace a model with
_TYPES = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]])
_LEAST = 0.995  # the correlation that eight bits must keep, on every head of a judge


@dataclass(frozen=True, slots=True)
class ExportCheck:
    """How far the exported model is from the trained one on so many texts, on the first head."""

    largest: float
    mean: float
    correlation: float
    texts: int


class _LevelsAndVectors(torch.nn.Module):
    def __init__(self, model: Estimator, layer: int) -> None:
        super().__init__()
        self.model, self.layer = model, layer

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, layers = self.model(tokens, mask)
        return values, layers[self.layer]


class _Ratings(torch.nn.Module):
    def __init__(self, model: CrossEncoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = self.model(tokens, mask, types).clamp(0.0, 1.0)
        return values


def export_estimator(
    model: Estimator,
    tokenizer: Any,
    directory: Path,
    *,
    layer: int,
    longest: int,
    check: Sequence[str],
    eight_bits: bool = True,
) -> ExportCheck:
    """Write ``model.onnx``, ``tokenizer.json`` and ``model.json``, and compare both runtimes on the texts ``check``.

    Without ``eight_bits`` they must agree to 1e-3; in eight bits the mean difference must stay under 0.1 levels.
    """
    facts = {"heads": list(model.heads), "longest": longest, "layer": layer}
    module = _LevelsAndVectors(model, layer)
    _write(module, _INPUTS, ["values", "vectors"], tokenizer, directory, facts, eight_bits=eight_bits)
    device = next(model.parameters()).device
    trained = predict_levels(model, encode_texts(tokenizer, check, longest=longest), device=device)[:, 0]
    exported = encoder.load(str(directory)).estimates(check)[:, 0]
    distance = _compare(trained, exported, correlate(trained, exported))
    allowed = 0.1 if eight_bits else 1e-3
    if not (distance.mean if eight_bits else distance.largest) <= allowed:
        raise PlainlyError(
            f"The exported model differs from the trained one by {distance.mean:.3g} on average and "
            f"{distance.largest:.3g} at most on {distance.texts} texts, more than the {allowed} allowed. "
            "Export without eight bits: eight_bits=False"
        )
    return distance


def mix_heads(model: CrossEncoder, *, gain: float, overall: float = 0.0) -> CrossEncoder:
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


def export_judge(
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
    inputs = {**_INPUTS, "types": _TYPES}
    known = {"heads": list(model.heads), "longest": longest, **facts}
    _write(_Ratings(model), inputs, ["values"], tokenizer, directory, known, eight_bits=eight_bits)
    pairs = encode_pairs(tokenizer, *check, longest=longest)
    trained, exported = predict_ratings(model, pairs, device=torch.device("cpu")), _run_judge(directory, pairs)
    by_head = [correlate(*both, fewest=3, range_=1e-3) for both in zip(trained.T, exported.T, strict=True)]
    distance = _compare(trained[:, 0], exported[:, 0], by_head[0])
    least = min((value for value in by_head if np.isfinite(value)), default=1.0)
    if eight_bits and least < _LEAST:
        raise PlainlyError(
            f"In eight bits a head correlates with the trained one at {least:.4f} only, less than {_LEAST}. "
            "Export without eight bits: eight_bits=False"
        )
    return distance


def _run_judge(directory: Path, pairs: TokenIds) -> Floats:
    """What the exported model says of pairs, shape (n, heads)."""
    import onnxruntime

    weights = str(directory / "model.onnx")
    session = onnxruntime.InferenceSession(weights, encoder.session_options(), providers=["CPUExecutionProvider"])
    rows = np.empty((len(pairs), len(HEADS)))
    for chosen in pairs.by_length(tokens=1024):
        tokens, mask, types = (part.numpy() for part in pairs.batch(chosen, torch.device("cpu")))
        rows[chosen] = session.run(["values"], {"tokens": tokens, "mask": mask, "types": types})[0]
    return rows


def _compare(trained: Floats, exported: Floats, correlation: float) -> ExportCheck:
    apart = np.abs(trained - exported)
    return ExportCheck(float(apart.max()), float(apart.mean()), correlation, len(trained))


def correlate(ours: Floats, theirs: Floats, *, fewest: int = 2, range_: float = 0.0) -> float:
    """Pearson's correlation; NaN where there are fewer values, or one side varies no more than ``range_``."""
    varied = len(ours) >= fewest and np.ptp(ours) > range_ and np.ptp(theirs) > range_
    return float(np.corrcoef(ours, theirs)[0, 1]) if varied else float("nan")


def _write(
    module: Any,
    inputs: Mapping[str, torch.Tensor],
    outputs: Sequence[str],
    tokenizer: Any,
    directory: Path,
    facts: Mapping[str, Any],
    *,
    eight_bits: bool,
) -> None:
    """``model.onnx``, ``tokenizer.json``, which neither pads nor cuts, and the facts with a name as ``model.json``."""
    try:
        import onnx

        from plainly_lab.training.quantise import quantise
    except ImportError:
        raise MissingExtra("Exporting a model", package="onnx", extra="train") from None
    directory.mkdir(parents=True, exist_ok=True)
    graph = _trace(module, inputs, outputs)
    onnx.save(quantise(graph) if eight_bits else graph, directory / "model.onnx")
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
    named = json.dumps({"name": directory.name, **facts}, indent=2, ensure_ascii=False)
    (directory / "model.json").write_text(f"{named}\n", encoding="utf-8")


def _trace(module: Any, inputs: Mapping[str, torch.Tensor], outputs: Sequence[str]) -> Any:
    """The graph of a module whose inputs all have the shape (texts, tokens)."""
    import onnx

    device = next(module.parameters()).device
    module, network = module.cpu().eval(), module.model.encoder
    if hasattr(network, "set_attn_implementation"):
        network.set_attn_implementation("eager")  # Written out, it is fused again by the runtime.
    sizes = {0: torch.export.Dim("batch", min=1, max=8192), 1: torch.export.Dim("length", min=2, max=512)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=(sizes,) * len(inputs),
            dynamo=True,
            opset_version=20,  # the first with GELU as one operation
            verbose=False,
        )
    module.to(device)
    exported: Any = program.model_proto  # type: ignore[union-attr]
    graph = exported.graph
    for node in graph.node:  # The exporter's notes hold paths of the machine it ran on.
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del value.metadata_props[:]
    del exported.metadata_props[:], graph.metadata_props[:]
    onnx.checker.check_model(exported)
    return exported
