"""QuestEval (Scialom et al. 2021): do output and source give the same answers to each other's questions?

It follows the authors' package (0.2) as it is used for simplification: answers are the named entities and noun phrases
of the first five sentences; each gives a question; a question counts by how answerable it is from the other text, how
close the answer is in words (F1), and how close in meaning (BERTScore). Recall is the mean over the questions of the
source asked of the output, precision the mean over those of the output asked of the source, the score the mean of both.

Published T5 models ask and answer: one writes a question for an answer found in a text, another answers a question from
a text and says how likely it has an answer there, a third may say how much a question matters. The formats of the
inputs, the 512 tokens read and the 20 tokens written are those of the package.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, ratio
from plainly.learned.adapters import bertscore, weights
from plainly.learned.adapters.weights import PublishedMetric
from plainly.learned.events import pipeline

Finder = Callable[[Sequence[str]], list[list[str]]]
_FINDERS: dict[str, Finder] = {}
_SENTENCES = 5
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
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


def use_answers(name: str, finder: Finder) -> None:
    """Let ``questeval(answers=NAME)`` use any way to find answers: from texts to the phrases to ask for in each."""
    _FINDERS[name] = finder


@dataclass(frozen=True)
class Question:
    """A question about a text, the answer that it was made for, and how much it counts."""

    text: str
    answer: str
    weight: float = 1.0


@dataclass(frozen=True, repr=False)
class QuestEval(PublishedMetric):
    """QuestEval, 0–100: questions about source and output, answered from the other.

    ``answers`` is a spaCy pipeline, or a name given to ``use_answers``. ``bertscore=`` (empty) leaves out closeness in
    meaning. ``against=references`` compares with the best reference, ``both`` with the best of source and references,
    as the package does when it is given both. ``weighter`` makes questions about the source count by how much they
    matter. A text without questions scores 0 in its direction, as in the package; ``questions`` is how many were asked
    an item.
    """

    qa: str = "ThomasNLG/t5-qa_squad2neg-en"
    qg: str = "ThomasNLG/t5-qg_squad1-en"
    bertscore: str = "google-bert/bert-base-multilingual-cased"
    layer: int = 9
    weighter: str = ""
    answers: str = "en_core_web_sm"
    against: Literal["source", "references", "both"] = "source"

    name: ClassVar[str] = "questeval"
    outputs: ClassVar[tuple[str, ...]] = ("questeval", "precision", "recall", "questions")
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "spacy")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        if self.against != "source":
            evalset.require_references("questeval")
        others = [
            [*([source] if self.against != "references" else []), *(refs if self.against != "source" else [])]
            for source, refs in zip(evalset.sources, evalset.references or [()] * len(evalset), strict=True)
        ]
        find = _FINDERS.get(self.answers) or _spacy(self.answers)
        asker = PublishedAsker(self.qa, self.qg, self.weighter, self.bertscore, self.layer)
        texts = [text for row in others for text in row]
        known = evalset.prepare(
            ("questeval", repr(self)),
            lambda evalset: _questions(texts, find, asker, weighed=frozenset(evalset.sources)),
        )
        about = {**_questions(outputs, find, asker), **known}
        pairs = [(output, other) for output, row in zip(outputs, others, strict=True) for other in row]
        judged = _judge(asker, about, pairs)
        rows = np.zeros((len(outputs), 5))
        for at, (output, row) in enumerate(zip(outputs, others, strict=True)):
            precision, recall, best = max(
                ((judged.get((other, output), 0.0), judged.get((output, other), 0.0), other) for other in row),
                key=lambda candidate: candidate[0] + candidate[1],
            )
            asked = len(about.get(output, ())) + len(about.get(best, ()))
            rows[at] = ((precision + recall) / 2, precision, recall, asked, 1)
        return rows

    def score(self, totals: Floats) -> Floats:
        return ratio(totals[..., :4], totals[..., 4:]) * np.array([100.0, 100.0, 100.0, 1.0])


def _questions(
    texts: Sequence[str], find: Finder, asker: PublishedAsker, *, weighed: frozenset[str] = frozenset()
) -> dict[str, list[Question]]:
    """The questions about each text that has words; ``weighed`` are the texts whose questions the weighter sees."""
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    asked = [(answer, text) for text, row in zip(distinct, find(distinct), strict=True) for answer in row]
    triples = [(answer, question, text) for (answer, text), question in zip(asked, asker.questions(asked), strict=True)]
    chosen = [triple for triple in triples if triple[2] in weighed]
    weight = dict(zip(chosen, asker.weights(chosen) or [1.0] * len(chosen), strict=True))
    about: dict[str, list[Question]] = {text: [] for text in distinct}
    for answer, question, text in triples:
        about[text].append(Question(question, answer, weight.get((answer, question, text), 1.0)))
    return about


def _judge(
    asker: PublishedAsker, about: dict[str, list[Question]], pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    """For each (text, other) and its reverse: how well the first answers the questions about the second."""
    both = {(a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a in about and about.get(b)}
    directions = sorted(both)
    asked = list(dict.fromkeys((q.text, text) for text, other in directions for q in about[other]))
    answers = dict(zip(asked, asker.answers(asked), strict=True))
    compared = list(
        dict.fromkeys((answers[q.text, text].text, q.answer) for text, other in directions for q in about[other])
    )
    meaning = asker.similarities(compared)
    alike = dict(zip(compared, meaning, strict=True)) if meaning is not None else None
    judged = {}
    for text, other in directions:
        values = []
        for question in about[other]:
            answer = answers[question.text, text]
            parts = [answer.answerable, f1(answer.text, question.answer)]
            if alike is not None:
                parts.append(alike[answer.text, question.answer])
            values.append(np.clip(parts, 0, 1).mean())
        weight = np.array([question.weight for question in about[other]])
        judged[text, other] = float(np.average(values, weights=weight)) if weight.sum() > 0 else 0.0
    return judged


def f1(answer: str, known: str) -> float:
    """Words in common, as SQuAD counts them: without case, punctuation and articles.

    >>> f1("The Eagle", "an eagle, red")
    0.6666666666666666
    """
    left, right = (_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split() for text in (answer, known))
    if not left or not right:
        return float(left == right)
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right))


def _spacy(name: str) -> Finder:
    loaded = pipeline(name, metric="questeval", parameter="answers", gives=("DEP", "POS", "ENT_IOB"))

    def find(texts: Sequence[str]) -> list[list[str]]:
        # A phrase that is both a name and a noun phrase is asked for twice, and so counts twice, as in the package.
        return [
            [span.text for span in (*document.ents, *document.noun_chunks)]
            for document in loaded.pipe([_beginning(document) for document in loaded.pipe(texts)])
        ]

    return find


def _beginning(document: Any) -> str:
    """The first five sentences; one ends at . ! or ? before the next token that is no punctuation."""
    sentences, start, ended = [], 0, False
    for token in document:
        if ended and not token.is_punct:
            sentences.append(document[start : token.i].text)
            start, ended = token.i, False
        elif token.text in (".", "!", "?"):
            ended = True
    sentences.append(document[start:].text)
    return " ".join(sentences[:_SENTENCES])
