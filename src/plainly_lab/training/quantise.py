"""Eight-bit weights and arithmetic in an ONNX graph, with results that do not depend on what else is in the batch.

The usual dynamic quantisation takes one scale for all activations of a batch, so a sentence's score would change with
its neighbours. Here every token vector has its own scale, computed where it is used: products are exact integers,
and a sentence scores the same alone and in company, but for rounding in the remaining floating-point operations.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

_ZERO = np.uint8(128)  # Activations are stored unsigned, which every CPU multiplies fast with signed weights.
_LARGEST = np.float32(127)


def quantise(model: Any) -> Any:
    """The same model with every constant matrix and embedding table in eight bits."""
    quantised = onnx.ModelProto()
    quantised.CopyFrom(model)
    graph = quantised.graph
    rewriting = _Rewriting({tensor.name: tensor for tensor in graph.initializer})
    for node in graph.node:
        rewriting.add(node)
    used = {name for node in rewriting.nodes for name in node.input}
    constants = [tensor for tensor in graph.initializer if tensor.name in used or tensor.name not in rewriting.replaced]
    copies = [onnx.NodeProto() for _ in rewriting.nodes]
    for copy, node in zip(copies, rewriting.nodes, strict=True):
        copy.CopyFrom(node)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(copies)
    graph.initializer.extend([*constants, *rewriting.added.values()])
    if not any(opset.domain == "com.microsoft" for opset in quantised.opset_import):
        quantised.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.checker.check_model(quantised)
    return quantised


class _Rewriting:
    """The nodes of a graph one by one, with products and look-ups of constant matrices in eight bits."""

    def __init__(self, constants: dict[str, Any]) -> None:
        self.constants = constants
        self.nodes: list[Any] = []
        self.added: dict[str, Any] = {}
        self.replaced: set[str] = set()
        self._scaled: dict[str, tuple[str, str]] = {}

    def add(self, node: Any) -> None:
        matrix = self.constants.get(node.input[1]) if node.op_type == "MatMul" else None
        table = self.constants.get(node.input[0]) if node.op_type == "Gather" else None
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
        places, output = node.input[1], node.output[0]
        self._node("Gather", [self._constant(f"{table.name}/q", values.T.copy()), places], f"{output}/q")
        self._node("Gather", [self._constant(f"{table.name}/step", steps[:, None]), places], f"{output}/step")
        self._node("Cast", [f"{output}/q"], f"{output}/float", to=TensorProto.FLOAT)
        self._node("Mul", [f"{output}/float", f"{output}/step"], output)
        self.replaced.add(table.name)

    def _rows(self, activation: str) -> tuple[str, str]:
        """The activation in eight bits, and the step of each row; made once for all products that use it."""
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
        self.added.setdefault(name, numpy_helper.from_array(np.asarray(value), name))
        return name


def _by_column(weight: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Signed eight-bit values and a step for each column, so that values × steps is the weight again."""
    steps = np.maximum(np.abs(weight).max(axis=0), 1e-8).astype(np.float32) / _LARGEST
    return np.round(weight / steps).astype(np.int8), steps
