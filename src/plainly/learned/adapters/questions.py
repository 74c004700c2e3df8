"""Asking a text questions with published T5 models: what QuestEval needs from its networks.

One model writes a question for an answer found in a text, another answers a question from a text and says how likely it
has an answer there, a third may say how much a question matters. The formats of the inputs, the 512 tokens read and the
20 tokens written are those of the authors' package (0.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plainly.learned.adapters import bertscore, weights

LONGEST_READ = 512
LONGEST_WRITTEN = 20  # with the token that starts it; a longer question is cut off, as in the package
MARK = "</s>"


@dataclass(frozen=True)
class ModelAnswer:
    """What a model answers, and its probability that the text has an answer at all."""

    text: str
    answerable: float


@dataclass(frozen=True)
class PublishedAsker:
    """The published models, by hub names or directories; an empty name leaves that one out."""

    qa: str
    qg: str
    weighter: str
    bertscore: str
    layer: int

    def questions(self, asked: Sequence[tuple[str, str]]) -> list[str]:
        """For (answer, text): a question that the text answers so."""
        loaded = weights.seq2seq(self.qg, parameter="qg")
        # sv1 names the data set (SQuAD 1) that the model was to imitate.
        written = _written(loaded, [f"sv1 {MARK} {answer} {MARK} {text}" for answer, text in asked], first="")
        return [text for text, _ in written]

    def answers(self, asked: Sequence[tuple[str, str]]) -> list[ModelAnswer]:
        """For (question, text): the answer."""
        loaded = weights.seq2seq(self.qa, parameter="qa")
        written = _written(loaded, [f"{question} {MARK} {text}" for question, text in asked], first="unanswerable")
        return [ModelAnswer(text, 1 - likely) for text, likely in written]

    def weights(self, asked: Sequence[tuple[str, str, str]]) -> list[float] | None:
        """For (answer, question, text): how much the question matters; None where all matter alike."""
        if not self.weighter:
            return None
        loaded = weights.seq2seq(self.weighter, parameter="weighter")
        prompts = [f"{answer} {MARK} {question} {MARK} {text}" for answer, question, text in asked]
        return [likely for _, likely in _written(loaded, prompts, first="true")]

    def similarities(self, asked: Sequence[tuple[str, str]]) -> list[float] | None:
        """For (answer, known answer): how alike in meaning, 0–1; None where that is left out."""
        if not self.bertscore:
            return None
        return bertscore.pairs(self.bertscore, asked, layer=self.layer, parameter="bertscore")


def _written(loaded: weights.PublishedModel, prompts: Sequence[str], *, first: str) -> list[tuple[str, float]]:
    """What the model writes for each prompt, and how likely it was to begin as the word ``first`` does."""
    import torch

    tokenizer = loaded.tokenizer
    begins = tokenizer(first)["input_ids"][0] if first else 0
    distinct = list(dict.fromkeys(prompts))
    encoded = [dict(tokenizer(prompt, truncation=True, max_length=LONGEST_READ)) for prompt in distinct]
    answers: dict[str, tuple[str, float]] = {}
    for chosen, batch in loaded.batches(encoded):
        with torch.inference_mode():
            written = loaded.model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_length=LONGEST_WRITTEN,
                num_beams=1,
                do_sample=False,
                output_scores=True,
                return_dict_in_generate=True,
            )
        likely = written.scores[0].float().softmax(-1)[:, begins].cpu().numpy().astype(np.float64)
        texts = tokenizer.batch_decode(written.sequences, skip_special_tokens=True, clean_up_tokenization_spaces=True)
        answers |= {distinct[at]: (text, float(p)) for at, text, p in zip(chosen, texts, likely, strict=True)}
    return [answers[prompt] for prompt in prompts]
