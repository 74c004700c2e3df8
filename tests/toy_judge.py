"""A toy model in the format of the shipped one for quality: meaning is the similarity of words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from plainly.learned import encoder

HEADS = ("overall", "fluency", "meaning", "simplicity", "fact")
_WIDTH = 16


def write(directory: Path, *, longest: int = 64, combination: dict[str, Any] | None = None) -> Path:
    """Write the toy model to a directory: model.onnx, tokenizer.json, model.json.

    meaning is the cosine of the mean word vectors of source and output, cut off at 0; fluency, simplicity and fact are
    logistic functions of the output's mean vector; overall is the mean of fluency and meaning.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(encoder.directory(encoder.SHIPPED) / "tokenizer.json", directory)
    rng = np.random.default_rng(7)
    constants = {
        "table": rng.normal(size=(31000, _WIDTH)).astype(np.float32),
        "heads": rng.normal(size=(_WIDTH, 3)).astype(np.float32),
        "one": np.array(1, np.float32),
        "half": np.array(0.5, np.float32),
        "zero": np.array(0, np.float32),
        "tiny": np.array(1e-6, np.float32),
        "middle": np.array([1]),
        "last": np.array([-1]),
        "two": np.array([2]),
    }
    nodes = [helper.make_node("Gather", ["table", "tokens"], ["words"])]

    def node(operation: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output

    node("Cast", ["types"], "second", to=TensorProto.FLOAT)
    node("Sub", ["one", "second"], "first")
    for side in ("first", "second"):
        node("Unsqueeze", [side, "two"], f"{side}/wide")
        node("Mul", ["words", f"{side}/wide"], f"{side}/words")
        node("ReduceSum", [f"{side}/words", "middle"], f"{side}/sum", keepdims=0)
        node("ReduceL2", [f"{side}/sum", "last"], f"{side}/length", keepdims=1)
        node("Max", [f"{side}/length", "tiny"], f"{side}/size")
        node("Div", [f"{side}/sum", f"{side}/size"], f"{side}/unit")
    node("Mul", ["first/unit", "second/unit"], "products")
    node("ReduceSum", ["products", "last"], "cosine", keepdims=1)
    node("Max", ["cosine", "zero"], "meaning")
    node("MatMul", ["second/unit", "heads"], "raised")
    node("Sigmoid", ["raised"], "others")
    node("Split", ["others"], "fluency", axis=1, num_outputs=3)
    nodes[-1].output.extend(["simplicity", "fact"])
    node("Add", ["fluency", "meaning"], "both")
    node("Mul", ["both", "half"], "overall")
    node("Concat", list(HEADS), "values", axis=1)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in ("tokens", "mask", "types")
    ]
    outputs = [helper.make_tensor_value_info("values", TensorProto.FLOAT, ["n", len(HEADS)])]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "toy", inputs, outputs, tensors)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), directory / "model.onnx"
    )
    facts = {
        "name": directory.name,
        "heads": list(HEADS),
        "longest": longest,
        "combination": combination or {},
        "data": [],
    }
    (directory / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    return directory
