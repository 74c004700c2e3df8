"""Sentences said again in other words, by a small language model.

Sound pairs share most of their words, and what harm makes of them does too. What language models write does not: a
rewriter's versions, right or wrong, show the student what the teachers think of such outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.files import write_whole
from plainly.core.progress import Progress, no_progress
from plainly_lab.training.estimator import load_encoder

_ASKED = "You say sentences again in other, simpler words and keep their meaning."
_SHOWN = (
    (
        "He passed away in 1984 following a protracted illness.",
        "He died in 1984, after he had been sick for a long time.",
    ),
    (
        "Individuals residing in the vicinity were instructed to evacuate the premises.",
        "The people who lived nearby were told that they had to leave.",
    ),
)
_LENGTHS = range(5, 36)  # words of a sentence that a small model can say again
_BATCH = 1536  # sequences on a GPU


def said_again(
    texts: Sequence[str],
    *,
    rewriter: str,
    samples: int,
    path: Path,
    device: torch.device,
    progress: Progress = no_progress,
) -> list[tuple[str, str]]:
    """Texts of a fit length with up to ``samples`` versions of each; kept at ``path`` and read from there next time."""
    if path.is_file():
        return [(source, output) for source, output in json.loads(path.read_text(encoding="utf-8"))]
    fit = [text for text in dict.fromkeys(texts) if len(text.split()) in _LENGTHS]
    pairs = list(dict.fromkeys(_said(fit, rewriter, samples, device, progress)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(pairs, ensure_ascii=False))
    return pairs


def _said(
    texts: Sequence[str], rewriter: str, samples: int, device: torch.device, progress: Progress
) -> Iterator[tuple[str, str]]:
    model, tokenizer = _loaded(rewriter, device)
    end = tokenizer.eos_token_id
    torch.manual_seed(0)
    order = sorted(texts, key=len)
    size = max(1, (_BATCH if device.type == "cuda" else 16) // samples)
    with progress("saying sentences again", total=len(order), unit="sentences") as tell:
        for at in range(0, len(order), size):
            chosen = order[at : at + size]
            prompts = [tokenizer.apply_chat_template(_conversation(text), tokenize=False, add_generation_prompt=True)
                       for text in chosen]  # fmt: skip
            given = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False).to(device)
            room = 2 * max(len(text.split()) for text in chosen) + 4
            how = {"temperature": 0.9, "top_p": 0.9, "num_return_sequences": samples, "max_new_tokens": room}
            with torch.inference_mode():
                made = model.generate(**given, do_sample=True, eos_token_id=end, pad_token_id=end, **how)
            for row, ids in enumerate(made[:, given["input_ids"].shape[1] :].tolist()):
                if end not in ids:
                    continue  # It never came to an end.
                source, output = chosen[row // samples], tokenizer.decode(ids[: ids.index(end)]).strip()
                if output and "\n" not in output and output != source:
                    yield source, output
            tell(len(chosen))


def _loaded(rewriter: str, device: torch.device) -> tuple[Any, Any]:
    try:
        model, tokenizer = load_encoder(rewriter, kind="AutoModelForCausalLM", role="rewriter")
    except DataUnavailable as error:
        raise DataUnavailable(f"{error} It is named in the recipe; rewriter = '' there goes without.") from error
    if not tokenizer.chat_template:
        raise BadInput(f"The rewriter {rewriter} takes no instructions: its tokenizer has no chat template.")
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.pad_token or tokenizer.eos_token
    return model.to(device, torch.bfloat16 if device.type == "cuda" else torch.float32).eval(), tokenizer


def _conversation(text: str) -> list[dict[str, str]]:
    turns = [{"role": "system", "content": _ASKED}]
    for source, output in _SHOWN:
        turns += [{"role": "user", "content": source}, {"role": "assistant", "content": output}]
    return [*turns, {"role": "user", "content": text}]
