"""Eight-bit weights and arithmetic in an ONNX graph, with results that do not depend on what else is in the batch.

The usual dynamic quantisation takes one scale for all activations of a batch, so a sentence's score would change with
its neighbours. Here every token vector has its own scale, computed where it is used: products are exact integers,
and a sentence scores the same alone and in company, but for rounding in the remaining floating-point operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_ZERO = 128  # Activations are stored unsigned, which every CPU multiplies fast with signed weights.


def quantise(model: Any) -> Any:
    """The same model with every constant matrix and embedding table in eight bits."""
    import onnx
    from onnx import helper, numpy_helper

    quantised = onnx.ModelProto()
    quantised.CopyFrom(model)
    graph = quantised.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    used: dict[str, int] = {}
    for node in graph.node:
        for name in node.input:
            used[name] = used.get(name, 0) + 1
    nodes: list[Any] = []
    added: dict[str, Any] = {}
    replaced: set[str] = set()
    scaled: dict[str, tuple[str, str]] = {}

    def constant(name: str, value: npt.ArrayLike) -> str:
        added.setdefault(name, numpy_helper.from_array(np.asarray(value), name))
        return name

    def rows(activation: str) -> tuple[str, str]:
        """The activation in eight bits with a scale for each row; made once for all products that use it."""
        if activation not in scaled:
            part = {name: f"{activation}/{name}" for name in ("size", "largest", "least", "step", "scale", "rows", "q")}
            nodes.extend(
                [
                    helper.make_node("Abs", [activation], [part["size"]]),
                    helper.make_node(
                        "ReduceMax", [part["size"], constant("q/axis", np.array([-1]))], [part["largest"]]
                    ),
                    helper.make_node("Max", [part["largest"], constant("q/tiny", np.float32(1e-6))], [part["least"]]),
                    helper.make_node("Div", [part["least"], constant("q/127", np.float32(127))], [part["step"]]),
                    helper.make_node("Div", [constant("q/127", np.float32(127)), part["least"]], [part["scale"]]),
                    helper.make_node("Mul", [activation, part["scale"]], [part["rows"]]),
                    helper.make_node(
                        "QuantizeLinear",
                        [part["rows"], constant("q/one", np.float32(1)), constant("q/zero", np.uint8(_ZERO))],
                        [part["q"]],
                    ),
                ]
            )
            small, step = part["q"], part["step"]
            scaled[activation] = (small, step)
        return scaled[activation]

    for node in graph.node:
        weight = constants.get(node.input[1]) if len(node.input) > 1 else None
        table = constants.get(node.input[0]) if node.op_type == "Gather" else None
        if node.op_type == "MatMul" and weight is not None and len(weight.dims) == 2:
            values, steps = _by_column(numpy_helper.to_array(weight))
            small, step = rows(node.input[0])
            name = node.output[0]
            nodes.extend(
                [
                    helper.make_node(
                        "MatMulIntegerToFloat",
                        [
                            small,
                            constant(weight.name + "/q", values),
                            constant("q/one", np.float32(1)),
                            constant(weight.name + "/step", steps),
                            constant("q/zero", np.uint8(_ZERO)),
                        ],
                        [name + "/unscaled"],
                        domain="com.microsoft",
                    ),
                    helper.make_node("Mul", [name + "/unscaled", step], [name]),
                ]
            )
            replaced.add(weight.name)
        elif table is not None and len(table.dims) == 2 and table.data_type == onnx.TensorProto.FLOAT:
            values, steps = _by_column(numpy_helper.to_array(table).T)
            name = node.output[0]
            nodes.extend(
                [
                    helper.make_node(
                        "Gather", [constant(table.name + "/q", values.T.copy()), node.input[1]], [name + "/q"]
                    ),
                    helper.make_node(
                        "Gather", [constant(table.name + "/step", steps[:, None]), node.input[1]], [name + "/step"]
                    ),
                    helper.make_node("Cast", [name + "/q"], [name + "/float"], to=onnx.TensorProto.FLOAT),
                    helper.make_node("Mul", [name + "/float", name + "/step"], [name]),
                ]
            )
            replaced.add(table.name)
        else:
            nodes.append(node)
    still = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in still or tensor.name not in replaced]
    copied = [_copy(node) for node in nodes]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(copied)
    graph.initializer.extend([*kept, *added.values()])
    if not any(opset.domain == "com.microsoft" for opset in quantised.opset_import):
        quantised.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.checker.check_model(quantised)
    return quantised


def _by_column(weight: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Signed eight-bit values and a step for each column, so that values × steps is the weight again."""
    steps = np.maximum(np.abs(weight).max(axis=0), 1e-8).astype(np.float32) / np.float32(127)
    return np.round(weight / steps).astype(np.int8), steps


def _copy(node: Any) -> Any:
    import onnx

    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy
