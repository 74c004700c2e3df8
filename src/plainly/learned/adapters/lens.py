"""LENS (Maddela et al. 2023) and LENS-SALSA (Heineman et al. 2023) from their published checkpoints.

LENS encodes source, output and reference one by one; LENS-SALSA reads output and source together, needs no references,
and tags tokens. Both read lower-cased text, as in the authors' package, lens-metric.

The checkpoints are downloaded by hub name. They have the layout of COMET: a directory holds ``hparams.yaml`` and
``checkpoints/*.ckpt``. The checkpoint has every weight of the encoder, so only the configuration and the tokenizer of
the encoder that hparams.yaml names are needed. The output of the encoder is a mixture of all its layers (softmaxed
shares, each layer normalised over the tokens of its text), which a small network, the estimator, reads.
"""

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats, Needs, mean_rows, ratio
from plainly.learned.adapters import hub, models
from plainly.learned.adapters.models import PublishedMetric
from plainly.learned.score_cache import Text


@dataclass(frozen=True)
class Checkpoint:
    """An encoder with its published weights, the mixture of its layers, and the networks that read it."""

    encoder: models.PublishedModel
    shares: Any  # of the layers in the mixture
    gamma: float
    is_normalised: bool
    estimator: Any
    longest: int
    settings: dict[str, Any]
    tagger: Any  # from the vector of a token to its tags; None where the checkpoint has none

    def mix_layers(self, outputs: Any, mask: Any) -> Any:
        """Return one vector per token: the layers, normalised by text, and mixed."""
        import torch

        present = mask.unsqueeze(-1).float()
        count = mask.sum(1).float().view(-1, 1, 1) * outputs.hidden_states[0].shape[-1]
        mixture = 0.0
        for share, layer in zip(self.shares, outputs.hidden_states, strict=True):
            values = layer.float()
            if self.is_normalised:
                mean = (values * present).sum((1, 2), keepdim=True) / count
                spread = (((values - mean) * present) ** 2).sum((1, 2), keepdim=True) / count
                values = (values - mean) / torch.sqrt(spread + 1e-12)
            mixture = mixture + share * values
        return self.gamma * mixture


@lru_cache(maxsize=2)
def load_checkpoint(checkpoint: str, encoder: str, *, metric: str, kind: str) -> Checkpoint:
    """Read what ``metric(checkpoint=…)`` names; ``kind`` is the class that hparams.yaml must name."""
    models.require("yaml")
    directory = hub.directory(checkpoint, part="checkpoint", parameter="checkpoint")
    import torch
    import yaml

    path = next(iter(sorted(directory.rglob("*.ckpt"))), None)
    if path is None or not hub.find_settings(directory).is_file():
        raise DataUnavailable(
            f"{str(directory)!r} does not hold a checkpoint: hparams.yaml and checkpoints/*.ckpt. Leave out "
            f"{metric}(checkpoint=…) to use the published one, which is downloaded."
        )
    settings = yaml.safe_load(hub.find_settings(directory).read_text(encoding="utf-8"))
    if settings.get("class_identifier", kind) != kind:
        other = "lens" if metric == "lens-salsa" else "lens-salsa"
        raise BadInput(
            f"{checkpoint!r} holds a {settings['class_identifier']!r}, and {metric} needs a {kind!r}. "
            f"Is it a checkpoint for {other}(checkpoint=…)?"
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    except (pickle.UnpicklingError, KeyError) as error:
        raise BadInput(
            f"{str(path)!r} is not a checkpoint of plain weights with a state_dict "
            f"({next(iter(str(error).splitlines()), '')}). Download it again."
        ) from None
    network = models.load_model(encoder or settings["pretrained_model"], "", parameter="encoder")
    network.model.config.output_hidden_states = True
    prefix = "encoder.model."
    inner = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    missing = network.model.load_state_dict(inner, strict=False).missing_keys
    # The pooler is not used, and LENS-SALSA was saved without one.
    missing = [key for key in missing if not key.startswith("pooler.")]
    if missing:
        raise BadInput(
            f"{str(path)!r} lacks {len(missing)} weights of its encoder ({missing[0]}, …): is encoder=… the encoder "
            "that hparams.yaml names as pretrained_model?"
        )
    names = sorted((key for key in state if key.startswith("layerwise_attention.scalar_parameters.")), key=_number)
    if len(names) != network.model.config.num_hidden_layers + 1:
        raise BadInput(f"{str(path)!r} mixes {len(names)} layers; the encoder has another number of them.")
    # The published files say layer_transformation: sparsemax, but the package ignores it and uses softmax.
    shares = torch.softmax(torch.cat([state[key] for key in names]), dim=0)
    return Checkpoint(
        encoder=network,
        shares=shares.to(network.device),
        gamma=float(state["layerwise_attention.gamma"]),
        is_normalised=bool(settings.get("layer_norm", True)),
        estimator=_estimator(state, settings).to(network.device).eval(),
        longest=int(network.model.config.max_position_embeddings) - 2,
        settings=settings,
        tagger=_linear(state, "hidden2tag").to(network.device).eval() if "hidden2tag.weight" in state else None,
    )


def _estimator(state: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Return linear layers with the named activation between them; numbers of dropout layers are skipped."""
    from torch import nn

    prefix = "estimator.ff."
    parts: list[nn.Module] = []
    for at in sorted({_number(key.rsplit(".", 1)[0]) for key in state if key.startswith(prefix)}):
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

    The best reference counts. Scores are mapped to 0–100 by the normal distribution; ``rescale=false`` returns the
    model's own value, a z-score (lens-metric 1.0 multiplies that by 100). It was trained on SimpEval_past, whose
    sources are TurkCorpus test sentences: do not evaluate it there.
    """

    checkpoint: str = "davidheineman/lens"
    encoder: str = ""
    rescale: bool = True

    name: ClassVar[str] = "lens"
    needs: ClassVar[Needs] = frozenset({"source", "references"})
    outputs: ClassVar[tuple[str, ...]] = ("lens",)

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        evalset.require_references("lens")
        checkpoint = load_checkpoint(self.checkpoint, self.encoder, metric="lens", kind="regression_metric_multi_ref")
        rows = [[text.lower() for text in references] for references in evalset.references]
        sources, lower = [text.lower() for text in evalset.sources], [text.lower() for text in outputs]
        vectors = evalset.prepare(
            ("lens", self.checkpoint, self.encoder),
            lambda _: _vectors(checkpoint, [*sources, *(text for row in rows for text in row)]),
        )
        vectors = vectors | _vectors(checkpoint, [text for text in lower if text not in vectors])
        best = [
            max(_estimate(checkpoint, vectors[source], vectors[output], vectors[text]) for text in references)
            for source, output, references in zip(sources, lower, rows, strict=True)
        ]
        if self.rescale:
            best = [50 * (math.erf(value / math.sqrt(2)) + 1) for value in best]
        return mean_rows(np.array(best))


@dataclass(frozen=True, repr=False)
class LensSalsa(PublishedMetric):
    """LENS-SALSA: overall quality without references, 100 times the model's value (mostly, but not always, in 0–100).

    ``bad`` is the percentage of the output's tokens that the model tags as part of a bad edit (probability above one
    half, the package's threshold). It was trained on edits in SimpEval_2022: do not evaluate it there.
    """

    checkpoint: str = "davidheineman/lens-salsa"
    encoder: str = ""

    name: ClassVar[str] = "lens-salsa"
    outputs: ClassVar[tuple[str, ...]] = ("lens-salsa", "bad")

    def measure(self, evalset: EvalSet, outputs: Sequence[str]) -> Floats:
        checkpoint = load_checkpoint(self.checkpoint, self.encoder, metric="lens-salsa", kind="unified_metric")
        pairs = [(output.lower(), source.lower()) for output, source in zip(outputs, evalset.sources, strict=True)]
        distinct = list(dict.fromkeys(pairs))
        encodings = [_encode(checkpoint, *pair) for pair in distinct]
        rows = {}
        for at, (value, bad) in checkpoint.encoder.run_encoded(encodings, partial(_read_tags, checkpoint)):
            counts = (0.0, 0.0)
            if bad is not None:
                size = len(_token_ids(checkpoint, distinct[at][0]))
                of_output = bad[1 : size - 1]  # without the special tokens
                counts = (float((of_output > 0.5).sum()), float(len(of_output)))
            rows[distinct[at]] = (100 * float(value), 1.0, *counts)
        return np.array([rows[pair] for pair in pairs]).reshape(len(pairs), 4)

    def score(self, totals: Floats) -> Floats:
        return np.stack([ratio(totals[..., 0], totals[..., 1]), 100 * ratio(totals[..., 2], totals[..., 3])], axis=-1)


def _vectors(checkpoint: Checkpoint, texts: Sequence[str]) -> dict[Text, Any]:
    """Return one vector per text: the mixture of layers averaged over its tokens."""

    def read(outputs: Any, mask: Any) -> Any:
        present = mask.unsqueeze(-1).float()
        return (checkpoint.mix_layers(outputs, mask) * present).sum(1) / present.sum(1)

    return checkpoint.encoder.run(texts, read, longest=checkpoint.longest)


def _estimate(checkpoint: Checkpoint, source: Any, output: Any, reference: Any) -> float:
    import torch

    to_reference, to_source = (output - reference).abs(), (output - source).abs()
    parts = [source, output, reference, output * reference, to_reference, output * source, to_source]
    with torch.inference_mode():
        return float(checkpoint.estimator(torch.cat(parts)))


def _token_ids(checkpoint: Checkpoint, text: str) -> list[int]:
    ids: list[int] = checkpoint.encoder.tokenizer(text, truncation=True, max_length=checkpoint.longest)["input_ids"]
    return ids


def _encode(checkpoint: Checkpoint, output: str, source: str) -> dict[str, list[int]]:
    """Return output and source as one sequence; each is cut at the encoder's length, and then the whole."""
    tokenizer = checkpoint.encoder.tokenizer
    # RoBERTa puts two separators between two texts where BERT puts one.
    separators = [tokenizer.sep_token_id] * (tokenizer.num_special_tokens_to_add(pair=True) - 3)
    ids = [*_token_ids(checkpoint, output), *separators, *_token_ids(checkpoint, source)[1:]][: checkpoint.longest]
    return {"input_ids": ids, "attention_mask": [1] * len(ids)}


def _read_tags(checkpoint: Checkpoint, outputs: Any, mask: Any) -> list[tuple[Any, Any]]:
    """Return the value of each pair, and the probability that each token is in a bad edit; None without that tag."""
    values = checkpoint.estimator(checkpoint.mix_layers(outputs, mask)[:, 0].float())[:, 0]
    tags = ["no edit", *map(str, checkpoint.settings.get("span_tokens") or ())]
    if checkpoint.tagger is None or "bad" not in tags or checkpoint.tagger.out_features != len(tags):
        return [(value, None) for value in values]
    layer = outputs.hidden_states[int(checkpoint.settings.get("word_layer", -1))]
    return list(zip(values, checkpoint.tagger(layer.float()).softmax(-1)[..., tags.index("bad")], strict=True))
