"""From a trained model to one that plainly loads: ONNX in eight bits, the tokenizer, and a check that both agree.

The usual dynamic quantisation has one scale for all activations of a batch, so a sentence's score would change with its
neighbours. Here every token vector has its own scale, computed where it is used: products are exact integers, and a
sentence scores the same alone and in a batch, except for rounding in the remaining floating-point operations.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from plainly.core.errors import PlainlyError
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
_INPUTS = {"tokens": _TOKENS, "mask": (_TOKENS > 0).long()}  # example inputs to trace a model with
_TYPES = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]])
_LEAST = 0.995  # the correlation with the trained model that eight bits must keep, on every head of pairs
_ZERO = np.uint8(128)  # Activations are unsigned, which every CPU multiplies fast with signed weights.
_LARGEST = np.float32(127)


@dataclass(frozen=True, slots=True)
class ExportCheck:
    """How far the exported model is from the trained one on some texts, on the first head."""

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

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Any:
        return self.model(tokens, mask, types).clamp(0.0, 1.0)


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
    limit = 0.1 if eight_bits else 1e-3
    if not (distance.mean if eight_bits else distance.largest) <= limit:
        raise PlainlyError(
            f"The exported model differs from the trained one by {distance.mean:.3g} on average and "
            f"{distance.largest:.3g} at most on {distance.texts} texts; {limit} is the limit. "
            "Export without eight bits: eight_bits=False"
        )
    return distance


def mix_heads(model: CrossEncoder, *, gain: float, overall: float = 0.0) -> CrossEncoder:
    """Return a model with the five final heads.

    ``gain`` is the share of the head of that name in simplicity, ``overall`` that of its head in meaning.
    """
    weight, bias = model.head.weight.data.clone(), model.head.bias.data.clone()
    for head, other, share in (("simplicity", "gain", gain), ("meaning", "overall", overall)):
        at, extra = model.heads.index(head), model.heads.index(other)
        for values in (weight, bias):
            values[at] = (1 - share) * values[at] + share * values[extra]
    indices = [model.heads.index(head) for head in HEADS]
    final = CrossEncoder(model.encoder, heads=HEADS)
    final.head.weight.data, final.head.bias.data = weight[indices], bias[indices]
    return final.eval()


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
    facts = {"heads": list(model.heads), "longest": longest, **facts}
    _write(_Ratings(model), inputs, ["values"], tokenizer, directory, facts, eight_bits=eight_bits)
    pairs = encode_pairs(tokenizer, *check, longest=longest)
    trained, exported = predict_ratings(model, pairs, device=torch.device("cpu")), _run_judge(directory, pairs)
    by_head = [correlate(*both, fewest=3, range_=1e-3) for both in zip(trained.T, exported.T, strict=True)]
    distance = _compare(trained[:, 0], exported[:, 0], by_head[0])
    least = min((value for value in by_head if np.isfinite(value)), default=1.0)
    if eight_bits and least < _LEAST:
        raise PlainlyError(
            f"In eight bits a head correlates with the trained one at {least:.4f}; {_LEAST} is the limit. "
            "Export without eight bits: eight_bits=False"
        )
    return distance


def _run_judge(directory: Path, pairs: TokenIds) -> Floats:
    """Return the values of the exported model for pairs, shape (n, heads)."""
    weights = str(directory / "model.onnx")
    session = onnxruntime.InferenceSession(weights, encoder.session_options(), providers=["CPUExecutionProvider"])
    rows = np.empty((len(pairs), len(HEADS)))
    for indices in pairs.by_length(tokens=1024):
        arrays = (part.numpy() for part in pairs.batch(indices, torch.device("cpu")))
        inputs = dict(zip(("tokens", "mask", "types"), arrays, strict=True))
        rows[indices] = session.run(["values"], inputs)[0]
    return rows


def _compare(trained: Floats, exported: Floats, correlation: float) -> ExportCheck:
    differences = np.abs(trained - exported)
    return ExportCheck(float(differences.max()), float(differences.mean()), correlation, len(trained))


def correlate(a: Floats, b: Floats, *, fewest: int = 2, range_: float = 0.0) -> float:
    """Return Pearson's correlation; NaN where there are fewer values, or one side varies no more than ``range_``."""
    is_defined = len(a) >= fewest and np.ptp(a) > range_ and np.ptp(b) > range_
    return float(np.corrcoef(a, b)[0, 1]) if is_defined else float("nan")


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
    """Write ``model.onnx``, ``tokenizer.json``, which neither pads nor truncates, and ``model.json``."""
    directory.mkdir(parents=True, exist_ok=True)
    graph = _trace(module, inputs, outputs)
    onnx.save(quantise(graph) if eight_bits else graph, directory / "model.onnx")
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
    content = json.dumps({"name": directory.name, **facts}, indent=2, ensure_ascii=False)
    (directory / "model.json").write_text(f"{content}\n", encoding="utf-8")


def _trace(module: Any, inputs: Mapping[str, torch.Tensor], outputs: Sequence[str]) -> Any:
    """Return the graph of a module whose inputs all have the shape (texts, tokens)."""
    device = next(module.parameters()).device
    module, network = module.cpu().eval(), module.model.encoder
    if hasattr(network, "set_attn_implementation"):
        network.set_attn_implementation("eager")  # The runtime fuses the written-out form again.
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
    for node in graph.node:  # The exporter's notes contain paths of the machine.
        del node.metadata_props[:]
        node.doc_string = ""
    for value in (*graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del value.metadata_props[:]
    del exported.metadata_props[:], graph.metadata_props[:]
    onnx.checker.check_model(exported)
    return exported


def quantise(model: Any) -> Any:
    """Return a copy of a model with every constant matrix and embedding table in eight bits."""
    small = onnx.ModelProto()
    small.CopyFrom(model)
    graph = small.graph
    rewriter = _GraphRewriter({tensor.name: tensor for tensor in model.graph.initializer})
    for node in model.graph.node:
        rewriter.add(node)
    inputs = {name for node in rewriter.nodes for name in node.input}
    constants = [
        tensor for tensor in model.graph.initializer if tensor.name in inputs or tensor.name not in rewriter.replaced
    ]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(rewriter.nodes)
    graph.initializer.extend([*constants, *rewriter.constants.values()])
    if not any(opset.domain == "com.microsoft" for opset in small.opset_import):
        small.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.checker.check_model(small)
    return small


class _GraphRewriter:
    """The nodes of a graph, with products and look-ups of constant matrices in eight bits."""

    def __init__(self, matrices: dict[str, Any]) -> None:
        self.matrices = matrices
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}  # new ones
        self.replaced: set[str] = set()  # names of old ones
        self._scaled: dict[str, tuple[str, str]] = {}

    def add(self, node: Any) -> None:
        matrix = self.matrices.get(node.input[1]) if node.op_type == "MatMul" else None
        table = self.matrices.get(node.input[0]) if node.op_type == "Gather" else None
        if matrix is not None and len(matrix.dims) == 2:
            self._multiply(node, matrix)
        elif table is not None and len(table.dims) == 2 and table.data_type == TensorProto.FLOAT:
            self._look_up(node, table)
        else:
            self.nodes.append(node)

    def _multiply(self, node: Any, matrix: Any) -> None:
        values, steps = _by_column(numpy_helper.to_array(matrix))
        rows, step = self._rows(node.input[0])
        output = node.output[0]
        factors = [rows, self._constant(f"{matrix.name}/q", values), self._constant("q/one", np.float32(1))]
        scales = [self._constant(f"{matrix.name}/step", steps), self._constant("q/zero", _ZERO)]
        self._node("MatMulIntegerToFloat", [*factors, *scales], f"{output}/unscaled", domain="com.microsoft")
        self._node("Mul", [f"{output}/unscaled", step], output)
        self.replaced.add(matrix.name)

    def _look_up(self, node: Any, table: Any) -> None:
        values, steps = _by_column(numpy_helper.to_array(table).T)
        indices, output = node.input[1], node.output[0]
        self._node("Gather", [self._constant(f"{table.name}/q", values.T.copy()), indices], f"{output}/q")
        self._node("Gather", [self._constant(f"{table.name}/step", steps[:, None]), indices], f"{output}/step")
        self._node("Cast", [f"{output}/q"], f"{output}/float", to=TensorProto.FLOAT)
        self._node("Mul", [f"{output}/float", f"{output}/step"], output)
        self.replaced.add(table.name)

    def _rows(self, activation: str) -> tuple[str, str]:
        """Return the activation in eight bits and the step of each row, shared by all products that use it."""
        if activation not in self._scaled:
            axis, tiny = self._constant("q/axis", np.array([-1])), self._constant("q/tiny", np.float32(1e-6))
            largest, one = self._constant("q/127", _LARGEST), self._constant("q/one", np.float32(1))
            size = self._node("Abs", [activation], f"{activation}/size")
            most = self._node("ReduceMax", [size, axis], f"{activation}/largest")
            least = self._node("Max", [most, tiny], f"{activation}/least")
            step = self._node("Div", [least, largest], f"{activation}/step")
            scale = self._node("Div", [largest, least], f"{activation}/scale")
            rows = self._node("Mul", [activation, scale], f"{activation}/rows")
            zero = self._constant("q/zero", _ZERO)
            self._scaled[activation] = self._node("QuantizeLinear", [rows, one, zero], f"{activation}/q"), step
        return self._scaled[activation]

    def _node(self, operation: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output

    def _constant(self, name: str, value: npt.ArrayLike) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.asarray(value), name))
        return name


def _by_column(weight: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return signed eight-bit values and a step for each column, so that values × steps is the weight again."""
    steps = np.maximum(np.abs(weight).max(axis=0), 1e-8).astype(np.float32) / _LARGEST
    return np.round(weight / steps).astype(np.int8), steps
