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
from plainly.learned import encoder
from plainly_lab.training.estimator import Estimator, encode, predict

_TOKENS = torch.tensor([[2, 3, 4, 5, 3], [3, 4, 2, 0, 0], [4, 2, 5, 0, 0]])
SHAPE = {"tokens": _TOKENS, "mask": (_TOKENS > 0).long()}  # some inputs to trace a model with


@dataclass(frozen=True, slots=True)
class ExportCheck:
    """How far the exported model is from the trained one on so many texts, on the first head."""

    largest: float
    mean: float
    correlation: float
    texts: int


class _Exported(torch.nn.Module):
    def __init__(self, model: Estimator, layer: int) -> None:
        super().__init__()
        self.model, self.layer = model, layer

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, layers = self.model(tokens, mask)
        return values, layers[self.layer]


def export(
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
    write(_Exported(model, layer), SHAPE, ["values", "vectors"], tokenizer, directory, facts, eight_bits=eight_bits)
    distance = _compare(model, tokenizer, directory, check, longest=longest)
    allowed = 0.1 if eight_bits else 1e-3
    if not (distance.mean if eight_bits else distance.largest) <= allowed:
        raise PlainlyError(
            f"The exported model differs from the trained one by {distance.mean:.3g} on average and "
            f"{distance.largest:.3g} at most on {distance.texts} texts, more than the {allowed} allowed. "
            "Export without eight bits: eight_bits=False"
        )
    return distance


def _compare(model: Estimator, tokenizer: Any, directory: Path, texts: Sequence[str], *, longest: int) -> ExportCheck:
    device = next(model.parameters()).device
    trained = predict(model, encode(tokenizer, texts, longest=longest), device=device)[:, 0]
    exported = encoder.load(str(directory)).estimates(texts)[:, 0]
    apart = np.abs(trained - exported)
    varied = len(texts) > 1 and np.ptp(trained) > 0 and np.ptp(exported) > 0
    return ExportCheck(
        largest=float(apart.max()),
        mean=float(apart.mean()),
        correlation=float(np.corrcoef(trained, exported)[0, 1]) if varied else float("nan"),
        texts=len(texts),
    )


def write(
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
    graph = _traced(module, inputs, outputs)
    onnx.save(quantise(graph) if eight_bits else graph, directory / "model.onnx")
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
    named = json.dumps({"name": directory.name, **facts}, indent=2, ensure_ascii=False)
    (directory / "model.json").write_text(f"{named}\n", encoding="utf-8")


def _traced(module: Any, inputs: Mapping[str, torch.Tensor], outputs: Sequence[str]) -> Any:
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
