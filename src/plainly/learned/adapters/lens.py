"""LENS (Maddela et al. 2023) and LENS-SALSA (Heineman et al. 2023) from their published checkpoints.

LENS encodes source, output and reference one by one; LENS-SALSA reads output and source together, needs no references,
and tags tokens. Both see lower-cased text, as in the authors' package, lens-metric.

The checkpoints have the layout of COMET: a directory holds ``hparams.yaml`` and ``checkpoints/*.ckpt``. The checkpoint
has every weight of the encoder, so of the encoder that hparams.yaml names only the configuration and the tokenizer are
needed. On top of it stand a mixture of all its layers (softmaxed shares, each layer normalised over the tokens of its
text) and a small network, the estimator.
"""

import functools
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from plainly.core.errors import BadInput, DataUnavailable, needing
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, mean_rows, ratio
from plainly.learned.adapters import weights
from plainly.learned.adapters.weights import PublishedMetric, Text


@dataclass(frozen=True)
class Checkpoint:
    """An encoder with its published weights, and what stands on top of it."""

    weights: weights.PublishedModel
    shares: Any  # how much each layer counts in the mixture
    gamma: float
    normalised: bool
    estimator: Any
    longest: int
    settings: dict[str, Any]
    tagger: Any  # from the vector of a token to its tags; None where the checkpoint has none

    def mixed(self, outputs: Any, mask: Any) -> Any:
        """One vector a token: the layers, normalised by text, and mixed."""
        import torch

        there = mask.unsqueeze(-1).float()
        count = mask.sum(1).float().view(-1, 1, 1) * outputs.hidden_states[0].shape[-1]
        mixture = 0.0
        for share, layer in zip(self.shares, outputs.hidden_states, strict=True):
            values = layer.float()
            if self.normalised:
                mean = (values * there).sum((1, 2), keepdim=True) / count
                spread = (((values - mean) * there) ** 2).sum((1, 2), keepdim=True) / count
                values = (values - mean) / torch.sqrt(spread + 1e-12)
            mixture = mixture + share * values
        return self.gamma * mixture


@lru_cache(maxsize=2)
def load_checkpoint(checkpoint: str, encoder: str, *, metric: str, kind: str) -> Checkpoint:
    """Read the directory that ``metric(checkpoint=…)`` names; ``kind`` is the class that hparams.yaml must name."""
    with needing(metric, extra="torch"):
        import torch
        import yaml
    place = Path(checkpoint)
    path = next(iter(sorted(place.glob("checkpoints/*.ckpt"))), None) if checkpoint else None
    if path is None or not (place / "hparams.yaml").is_file():
        raise DataUnavailable(
            f"{metric} needs its published checkpoint, and {checkpoint or 'no directory'!r} has none. Download "
            f"davidheineman/{metric} (hparams.yaml and checkpoints/*.ckpt) from "
            f"https://huggingface.co/davidheineman/{metric} into a directory, and give it: "
            f"{metric}(checkpoint=DIRECTORY)"
        )
    settings = yaml.safe_load((place / "hparams.yaml").read_text(encoding="utf-8"))
    if settings.get("class_identifier", kind) != kind:
        other = "lens" if metric == "lens-salsa" else "lens-salsa"
        raise BadInput(
            f"{checkpoint!r} holds a model of the kind {settings['class_identifier']!r}, and {metric} is a {kind!r}. "
            f"Is it a checkpoint for {other}(checkpoint=…)?"
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    except (pickle.UnpicklingError, KeyError) as error:
        raise BadInput(
            f"{str(path)!r} is no checkpoint of plain weights with a state_dict "
            f"({next(iter(str(error).splitlines()), '')}). Download it again."
        ) from None
    loaded = weights.untrained(encoder or settings["pretrained_model"], parameter="encoder")
    loaded.model.config.output_hidden_states = True
    _fill(loaded.model, state, where=str(path))
    names = sorted((key for key in state if key.startswith("layerwise_attention.scalar_parameters.")), key=_number)
    if len(names) != loaded.model.config.num_hidden_layers + 1:
        raise BadInput(f"{str(path)!r} mixes {len(names)} layers; the encoder has another number of them.")
    # The published files say layer_transformation: sparsemax, but the package never hands it on and takes softmax.
    shares = torch.softmax(torch.cat([state[key] for key in names]), dim=0)
    return Checkpoint(
        weights=loaded,
        shares=shares.to(loaded.device),
        gamma=float(state["layerwise_attention.gamma"]),
        normalised=bool(settings.get("layer_norm", True)),
        estimator=_estimator(state, settings).to(loaded.device).eval(),
        longest=int(loaded.model.config.max_position_embeddings) - 2,
        settings=settings,
        tagger=_linear(state, "hidden2tag").to(loaded.device).eval() if "hidden2tag.weight" in state else None,
    )


def _fill(model: Any, state: dict[str, Any], *, where: str) -> None:
    prefix = "encoder.model."
    inner = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    # The pooler is not used, and LENS-SALSA was saved without one.
    missing = [key for key in model.load_state_dict(inner, strict=False).missing_keys if not key.startswith("pooler.")]
    if missing:
        raise BadInput(
            f"{where!r} lacks {len(missing)} weights of its encoder ({missing[0]}, …): is encoder=… the encoder that "
            "hparams.yaml names as pretrained_model?"
        )


def _estimator(state: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Linear layers with the named activation between them; dropout does nothing here but keeps the places."""
    from torch import nn

    prefix = "estimator.ff."
    places = sorted({_number(key.rsplit(".", 1)[0]) for key in state if key.startswith(prefix)})
    parts: list[nn.Module] = []
    for at in places:
        parts += [_linear(state, f"{prefix}{at}"), getattr(nn, settings.get("activations") or "Tanh")()]
    last = settings.get("final_activation")
    return nn.Sequential(*parts[:-1], *([getattr(nn, last)()] if last else []))


def _linear(state: dict[str, Any], name: str) -> Any:
    from torch import nn

    weight = state[f"{name}.weight"]
    linear = nn.Linear(weight.shape[1], weight.shape[0])
    linear.load_state_dict({"weight": weight, "bias": state[f"{name}.bias"]})
    return linear


def _number(key: str) -> int:
    return int(key.rsplit(".", 1)[-1])


@dataclass(frozen=True, repr=False)
class Lens(PublishedMetric):
    """LENS: overall quality of a simplification given source and references; 0–100, or unbounded with rescale=false.

    The best reference counts. Scores are mapped to 0–100 by the normal distribution; ``rescale=false`` gives the
    model's own value, a z-score (lens-metric 1.0 multiplies that by 100). It was trained on SimpEval_past, whose
    sources are TurkCorpus test sentences: do not judge it there.
    """

    checkpoint: str = ""
    encoder: str = ""
    rescale: bool = True

    name: ClassVar[str] = "lens"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    outputs: ClassVar[tuple[str, ...]] = ("lens",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("lens")
        loaded = load_checkpoint(self.checkpoint, self.encoder, metric="lens", kind="regression_metric_multi_ref")
        rows = [[text.lower() for text in references] for references in evalset.references]
        sources, lowered = [text.lower() for text in evalset.sources], [text.lower() for text in outputs]
        known = evalset.prepare(
            ("lens", self.checkpoint, self.encoder),
            lambda _: _vectors(loaded, [*sources, *(text for row in rows for text in row)]),
        )
        vectors = known | _vectors(loaded, [text for text in lowered if text not in known])
        best = np.array(
            [
                max(_estimate(loaded, vectors[source], vectors[output], vectors[text]) for text in references)
                for source, output, references in zip(sources, lowered, rows, strict=True)
            ]
        )
        if self.rescale:
            best = np.array([50 * (math.erf(value / math.sqrt(2)) + 1) for value in best])
        return mean_rows(best)


@dataclass(frozen=True, repr=False)
class LensSalsa(PublishedMetric):
    """LENS-SALSA: overall quality without references, 100 times the model's value (mostly, but not always, in 0–100).

    ``bad`` is the percentage of the output's tokens that the model tags as part of a bad edit (probability above one
    half, the package's threshold). It was trained on edits in SimpEval_2022: do not judge it there.
    """

    checkpoint: str = ""
    encoder: str = ""

    name: ClassVar[str] = "lens-salsa"
    outputs: ClassVar[tuple[str, ...]] = ("lens-salsa", "bad")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        loaded = load_checkpoint(self.checkpoint, self.encoder, metric="lens-salsa", kind="unified_metric")
        pairs = [(output.lower(), source.lower()) for output, source in zip(outputs, evalset.sources, strict=True)]
        distinct = list(dict.fromkeys(pairs))
        encoded = [_joined(loaded, *pair) for pair in distinct]
        first = [_tokens(loaded, output) for output, _ in distinct]
        rows = {}
        for at, (value, bad) in loaded.weights.run_encoded(encoded, functools.partial(_judge, loaded)):
            tagged = (0.0, 0.0)
            if bad is not None:
                own = bad[1 : len(first[at]) - 1]  # without the marks of beginning and end
                tagged = (float((own > 0.5).sum()), float(len(own)))
            rows[distinct[at]] = (100 * float(value), 1.0, *tagged)
        return np.array([rows[pair] for pair in pairs]).reshape(len(pairs), 4)

    def score(self, totals: Floats) -> Floats:
        return np.stack([ratio(totals[..., 0], totals[..., 1]), 100 * ratio(totals[..., 2], totals[..., 3])], axis=-1)


def _vectors(loaded: Checkpoint, texts: Sequence[str]) -> dict[Text, Any]:
    """One vector a text: the mixture of layers averaged over its tokens."""

    def read(outputs: Any, mask: Any) -> Any:
        there = mask.unsqueeze(-1).float()
        return (loaded.mixed(outputs, mask) * there).sum(1) / there.sum(1)

    return loaded.weights.run(texts, read, longest=loaded.longest)


def _estimate(loaded: Checkpoint, source: Any, output: Any, reference: Any) -> float:
    import torch

    to_reference, to_source = (output - reference).abs(), (output - source).abs()
    parts = [source, output, reference, output * reference, to_reference, output * source, to_source]
    with torch.inference_mode():
        return float(loaded.estimator(torch.cat(parts)))


def _tokens(loaded: Checkpoint, text: str) -> list[int]:
    ids: list[int] = loaded.weights.tokenizer(text, truncation=True, max_length=loaded.longest)["input_ids"]
    return ids


def _joined(loaded: Checkpoint, output: str, source: str) -> dict[str, list[int]]:
    """Output, mark, source in one sequence: each is cut at the encoder's length, and so is the whole, at its end."""
    tokenizer = loaded.weights.tokenizer
    # RoBERTa puts two marks between two texts where BERT puts one.
    marks = [tokenizer.sep_token_id] * (tokenizer.num_special_tokens_to_add(pair=True) - 3)
    ids = [*_tokens(loaded, output), *marks, *_tokens(loaded, source)[1:]][: loaded.longest]
    return {"input_ids": ids, "attention_mask": [1] * len(ids)}


def _judge(loaded: Checkpoint, outputs: Any, mask: Any) -> list[tuple[Any, Any]]:
    """For each pair its value, and for each of its tokens the probability of being in a bad edit."""
    values = loaded.estimator(loaded.mixed(outputs, mask)[:, 0].float())[:, 0]
    tag = _bad(loaded)
    if tag is None:
        return [(value, None) for value in values]
    layer = outputs.hidden_states[int(loaded.settings.get("word_layer", -1))]
    return list(zip(values, loaded.tagger(layer.float()).softmax(-1)[..., tag], strict=True))


def _bad(loaded: Checkpoint) -> int | None:
    """Which tag says bad: 0 is no edit, then come those that hparams.yaml lists; None where there is no such tag."""
    tags = [str(tag) for tag in loaded.settings.get("span_tokens") or ()]
    has = loaded.tagger is not None and "bad" in tags and loaded.tagger.out_features == len(tags) + 1
    return 1 + tags.index("bad") if has else None
