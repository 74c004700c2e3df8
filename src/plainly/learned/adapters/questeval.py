"""QuestEval (Scialom et al. 2021): do output and source give the same answers to each other's questions?

It follows the authors' package (0.2) as it is used for simplification: answers are the named entities and noun phrases
of the first five sentences; each gives a question; a question counts by how answerable it is from the other text, how
close the answer is in words (F1), and how close in meaning (BERTScore). Recall is the mean over the questions about the
source, answered from the output; precision the mean over those about the output, answered from the source; the score
the mean of both.

Published T5 models ask and answer: one generates a question for an answer in a text, another answers a question from a
text and estimates the probability that it has an answer there, a third may estimate how much a question matters. The
formats of the inputs, the 512 tokens read and the 20 tokens generated are those of the package.
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
from plainly.learned.adapters import bertscore, models
from plainly.learned.adapters.models import PublishedMetric
from plainly.learned.events import load_pipeline

Finder = Callable[[Sequence[str]], list[list[str]]]
_FINDERS: dict[str, Finder] = {}
_SENTENCES = 5
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
LONGEST_INPUT = 512
LONGEST_OUTPUT = 20  # including the start token; a longer question is cut off, as in the package
MARK = "</s>"


@dataclass(frozen=True)
class ModelAnswer:
    """The answer of a model, and its probability that the text has an answer at all."""

    text: str
    answerable: float


@dataclass(frozen=True)
class PublishedAsker:
    """The published models that a metric names, by hub names or directories; an empty name leaves that one out."""

    metric: "QuestEval"

    def questions(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Return for each (answer, text) a question whose answer in the text it is."""
        # sv1 names the data set (SQuAD 1) that the model was to imitate.
        prompts = [f"sv1 {MARK} {answer} {MARK} {text}" for answer, text in pairs]
        return [question for question, _ in _generate(self.metric.qg, "qg", prompts, first="")]

    def answers(self, pairs: Sequence[tuple[str, str]]) -> list[ModelAnswer]:
        """Return the answer to each (question, text)."""
        prompts = [f"{question} {MARK} {text}" for question, text in pairs]
        answers = _generate(self.metric.qa, "qa", prompts, first="unanswerable")
        return [ModelAnswer(text, 1 - probability) for text, probability in answers]

    def weights(self, triples: Sequence[tuple[str, str, str]]) -> list[float] | None:
        """Return how much each (answer, question, text) matters; None where all matter equally."""
        if not self.metric.weighter:
            return None
        prompts = [f"{answer} {MARK} {question} {MARK} {text}" for answer, question, text in triples]
        return [probability for _, probability in _generate(self.metric.weighter, "weighter", prompts, first="true")]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        """Return how similar in meaning, 0–1, the answers of each pair are; None where that is left out."""
        if not self.metric.bertscore:
            return None
        return bertscore.compare_pairs(self.metric.bertscore, pairs, layer=self.metric.layer, parameter="bertscore")


def _generate(name: str, parameter: str, prompts: Sequence[str], *, first: str) -> list[tuple[str, float]]:
    """Return what a T5 model generates for each prompt, and its probability of beginning with the word ``first``."""
    models.require("sentencepiece")  # without it, transformers asks for a package that does not help
    network = models.load(name, "AutoModelForSeq2SeqLM", parameter=parameter)
    import torch

    tokenizer = network.tokenizer
    first_token = tokenizer(first)["input_ids"][0] if first else 0
    distinct = list(dict.fromkeys(prompts))
    encodings = [dict(tokenizer(prompt, truncation=True, max_length=LONGEST_INPUT)) for prompt in distinct]
    results: dict[str, tuple[str, float]] = {}
    for positions, batch in network.batches(encodings):
        with torch.inference_mode():
            generation = network.model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_length=LONGEST_OUTPUT,
                num_beams=1,
                do_sample=False,
                output_scores=True,
                return_dict_in_generate=True,
            )
        likely = generation.scores[0].float().softmax(-1)[:, first_token].cpu().numpy().astype(np.float64)
        texts = tokenizer.batch_decode(
            generation.sequences, skip_special_tokens=True, clean_up_tokenization_spaces=True
        )
        results |= {distinct[at]: (text, float(p)) for at, text, p in zip(positions, texts, likely, strict=True)}
    return [results[prompt] for prompt in prompts]


def use_answers(name: str, finder: Finder) -> None:
    """Register a function from texts to the phrases to ask for in each, for ``questeval(answers=NAME)``."""
    _FINDERS[name] = finder


@dataclass(frozen=True)
class Question:
    """A question about a text, the answer that it was generated for, and its weight."""

    text: str
    answer: str
    weight: float = 1.0


@dataclass(frozen=True, repr=False)
class QuestEval(PublishedMetric):
    """QuestEval, 0–100: questions about source and output, answered from the other.

    ``answers`` is a spaCy pipeline, or a name given to ``use_answers``. ``bertscore=`` (empty) leaves out closeness in
    meaning. ``against=references`` compares with the best reference, ``both`` with the best of source and references,
    as the package does when it gets both. ``weighter`` weights questions about the source by how much they matter. A
    text without questions scores 0 in its direction, as in the package; ``questions`` is their number per item.
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
        find = _FINDERS.get(self.answers) or spacy_finder(self.answers)
        asker = PublishedAsker(self)
        texts = [text for row in others for text in row]
        about = evalset.prepare(
            ("questeval", repr(self)), lambda evalset: _ask(texts, find, asker, weighted=frozenset(evalset.sources))
        )
        about = {**_ask(outputs, find, asker), **about}
        pairs = [(output, other) for output, row in zip(outputs, others, strict=True) for other in row]
        scores = _score_answers(asker, about, pairs)
        rows = np.zeros((len(outputs), 5))
        for row, output, texts in zip(rows, outputs, others, strict=True):
            precision, recall, best = max(
                ((scores.get((other, output), 0.0), scores.get((output, other), 0.0), other) for other in texts),
                key=lambda candidate: candidate[0] + candidate[1],
            )
            questions = len(about.get(output, ())) + len(about.get(best, ()))
            row[:] = ((precision + recall) / 2, precision, recall, questions, 1)
        return rows

    def score(self, totals: Floats) -> Floats:
        return ratio(totals[..., :4], totals[..., 4:]) * np.array([100.0, 100.0, 100.0, 1.0])


def _ask(
    texts: Sequence[str], find: Finder, asker: PublishedAsker, *, weighted: frozenset[str] = frozenset()
) -> dict[str, list[Question]]:
    """Return the questions about each text that has words; the weighter reads those about the texts ``weighted``."""
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    pairs = [(answer, text) for text, row in zip(distinct, find(distinct), strict=True) for answer in row]
    triples = [(answer, question, text) for (answer, text), question in zip(pairs, asker.questions(pairs), strict=True)]
    important = [triple for triple in triples if triple[2] in weighted]
    weight = dict(zip(important, asker.weights(important) or [1.0] * len(important), strict=True))
    about: dict[str, list[Question]] = {text: [] for text in distinct}
    for answer, question, text in triples:
        about[text].append(Question(question, answer, weight.get((answer, question, text), 1.0)))
    return about


def _score_answers(
    asker: PublishedAsker, about: dict[str, list[Question]], pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    """Return for each (text, other) and its reverse how well the first answers the questions about the second."""
    directions = sorted({(a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a in about and about.get(b)})
    questions = list(dict.fromkeys((q.text, text) for text, other in directions for q in about[other]))
    answers = dict(zip(questions, asker.answers(questions), strict=True))
    phrases = list(
        dict.fromkeys((answers[q.text, text].text, q.answer) for text, other in directions for q in about[other])
    )
    similarities = asker.similarities(phrases)
    similarity = None if similarities is None else dict(zip(phrases, similarities, strict=True))
    scores = {}
    for text, other in directions:
        values = []
        for question in about[other]:
            answer = answers[question.text, text]
            parts = [answer.answerable, f1(answer.text, question.answer)]
            if similarity is not None:
                parts.append(similarity[answer.text, question.answer])
            values.append(np.clip(parts, 0, 1).mean())
        weight = np.array([question.weight for question in about[other]])
        scores[text, other] = float(np.average(values, weights=weight)) if weight.sum() > 0 else 0.0
    return scores


def f1(answer: str, truth: str) -> float:
    """Return the F1 of words, as in SQuAD: without case, punctuation and articles.

    >>> f1("The Eagle", "an eagle, red")
    0.6666666666666666
    """
    left, right = (_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split() for text in (answer, truth))
    if not left or not right:
        return float(left == right)
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right))


def spacy_finder(name: str) -> Finder:
    """Return a function that finds named entities and noun phrases by a spaCy pipeline."""
    network = load_pipeline(name, metric="questeval", parameter="answers", gives=("DEP", "POS", "ENT_IOB"))

    def find(texts: Sequence[str]) -> list[list[str]]:
        # A phrase that is both a name and a noun phrase counts twice, as in the package.
        return [
            [span.text for span in (*document.ents, *document.noun_chunks)]
            for document in network.pipe([_beginning(document) for document in network.pipe(texts)])
        ]

    return find


def _beginning(document: Any) -> str:
    """Return the first five sentences; one ends at . ! or ? before the next token other than punctuation."""
    sentences, start, is_over = [], 0, False
    for token in document:
        if is_over and not token.is_punct:
            sentences.append(document[start : token.i].text)
            start, is_over = token.i, False
        elif token.text in (".", "!", "?"):
            is_over = True
    sentences.append(document[start:].text)
    return " ".join(sentences[:_SENTENCES])
