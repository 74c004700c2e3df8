"""How good and how fast the shipped models are: figures of their model cards, computed from the public data sets.

    python bench/learned.py human cefr meaning speed
    python bench/learned.py quality rewordings pairs
    python bench/learned.py published        (needs torch and transformers; on a GPU where there is one)

``human``, ``meaning`` and ``quality`` read Simplicity-DA: run them to check a finished model, never to choose one.
``ratings`` reads the other public ratings, on which choices were made. ``speed`` and ``pairs`` remember nothing; they
say how busy the machine was (``load``), and what two cores would do that do nothing else. ``published`` compares our
adapter for published weights with the way the published SLE scorer goes through its texts, on the same random weights
of the same size. What attacks do to the models is the business of ``plainly audit``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from plainly import data
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.learned import encoder, score_cache
from plainly.learned.cefr import load as load_reader
from plainly.learned.cefr import number_of
from plainly.learned.quality import Meaning, Quality
from plainly.learned.sle import Sle
from plainly_lab.training.documents import close_up


def human(model: str) -> dict[str, Any]:
    """Delta SLE against human simplicity: Pearson on Simplicity-DA, filtered as in the paper and whole."""
    table = data.table("simplicity-da/averages")
    z = {name: np.array(table[f"{name}_zscore"], dtype=float) for name in ("fluency", "meaning", "simplicity")}
    delta = _delta(model, table["orig_sent"], table["simp_sent"])
    sound = (z["fluency"] >= 0.3) & (z["meaning"] >= 0.3)  # 167 items; the paper's 139 leave out sources of LENS
    return {
        "filtered": _correlation(delta[sound], z["simplicity"][sound]),
        "filtered_raw": _correlation(delta[sound], np.array(table["simplicity"], dtype=float)[sound]),
        "all": _correlation(delta, z["simplicity"]),
    }


def ratings(model: str) -> dict[str, Any]:
    """The ratings on which choices were made: SimpEval's and those of ACL 2018."""
    past = data.table("simpeval/past")
    quality = np.mean([np.array(past[f"rating_{i}_z_score"], dtype=float) for i in range(1, 6)], axis=0)
    gain = _delta(model, past["original"], past["processed_generation"])
    better = quality > np.median(quality)
    acl = data.table("structural-simplicity/averages")
    acl_gain = _delta(model, acl["orig_sent"], acl["simp_sent"])
    simplicity = np.array(acl["simplicity"], dtype=float)
    sound = (np.array(acl["meaning"]) >= 4) & (np.array(acl["grammaticality"]) >= 4)
    return {
        "simpeval": _correlation(gain, quality),
        "simpeval_better_half": _correlation(gain[better], quality[better]),
        "acl2018_sound": _correlation(acl_gain[sound], simplicity[sound]),
        "acl2018": _correlation(acl_gain, simplicity),
    }


def cefr(model: str) -> dict[str, Any]:
    """Levels of test sentences against people's (CEFR-SP, ReadMe++), of TSAR's trial texts against their targets."""
    figures: dict[str, Any] = {}
    estimates, truths = [], []
    reader = load_reader(model)
    for name in ("cefr-sp/wiki-auto", "cefr-sp/score"):
        table = data.table(name)
        rows = [at for at, part in enumerate(table["part"]) if part == "test"]
        estimate = reader.levels([close_up(table["sentence"][at]) for at in rows])
        truth = np.array([(table["level_a"][at] + table["level_b"][at]) / 2 for at in rows])
        figures[f"{name} test"] = _correlation(estimate, truth)
        estimates.append(estimate)
        truths.append(truth)
    figures["both"] = _correlation(np.concatenate(estimates), np.concatenate(truths))
    readme = data.table("readme/english")
    rows = [at for at, part in enumerate(readme["part"]) if part == "test"]
    truth = np.array([readme["level"][at] for at in rows], dtype=float)
    figures["readme/english test"] = _correlation(reader.levels([readme["sentence"][at] for at in rows]), truth)
    figures["tsar2025/trial"] = aimed("tsar2025/trial", model)
    return figures


def aimed(name: str, model: str) -> dict[str, float]:
    """How references for two levels are told apart, and how far they are from their levels."""
    evalset = data.load(name)
    readings = load_reader(model).levels([row[0] for row in evalset.references])
    targets = np.array([number_of(level) for level in evalset.columns["target"]])
    easy, hard = readings[targets == 2], readings[targets == 3]
    whole = np.clip(np.floor(readings + 0.5), 1, 6)
    return {
        "auroc": float(np.mean(easy[:, None] < hard)),
        "rmse": float(np.sqrt(np.mean((whole - targets) ** 2))),
        "A2": float(easy.mean()),
        "B1": float(hard.mean()),
    }


def meaning(model: str) -> dict[str, Any]:
    """The meaning score against human ratings of meaning preservation."""
    table = data.table("simplicity-da/averages")
    metric = Meaning(variant="tokens", model=model)
    f1 = metric.score(metric.measure(EvalSet.of(table["orig_sent"]), table["simp_sent"]))[:, 0]
    return {"simplicity-da": _correlation(f1, np.array(table["meaning_zscore"], dtype=float))}


def quality(model: str) -> dict[str, Any]:
    """Quality and its parts against people, on the items of Simplicity-DA whose source no other ratings have."""
    table, seen = data.table("simplicity-da/averages"), set()
    for name, column in (
        ("simpeval/past", "original"),
        ("structural-simplicity/averages", "orig_sent"),
        ("asset/ratings", "original"),
    ):
        seen |= {_bare(source) for source in data.table(name)[column]}
    rows = [at for at, source in enumerate(table["orig_sent"]) if _bare(source) not in seen]
    metric = Quality(model=model)
    evalset = EvalSet.of([table["orig_sent"][at] for at in rows])
    scores = metric.score(metric.measure(evalset, [table["simp_sent"][at] for at in rows]))
    dimensions = {"quality": "simplicity", "fluency": "fluency", "meaning": "meaning", "simplicity": "simplicity"}
    systems = np.array([table["sys_name"][at] for at in rows])
    figures: dict[str, Any] = {}
    for place, output in enumerate(metric.outputs):
        people = np.array([table[f"{dimensions[output]}_zscore"][at] for at in rows], dtype=float)
        means = [[column[systems == system].mean() for system in set(systems)] for column in (scores[:, place], people)]
        figures[f"{output} with {dimensions[output]}"] = _correlation(scores[:, place], people) | {
            "between_systems": float(np.corrcoef(*means)[0, 1])
        }
    return figures


def rewordings(model: str) -> dict[str, Any]:
    """What the judge says of texts said again in other words: all of it, less, or something wrong.

    The texts were written for this project; those that a recipe learns from are others. ``wrong`` keeps the words of
    the source, ``off`` those of the right version.
    """
    lines = (Path(__file__).parent / "rewordings.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    metric = Quality(model=model)
    scores: dict[str, Floats] = {}
    for kind in ("same", "less", "wrong", "off"):
        texts = [item.get(kind, "") for item in items]
        values = metric.score(metric.measure(EvalSet.of([item["source"] for item in items]), texts))
        scores[kind] = np.where([[bool(text)] for text in texts], values, np.nan)
    figures: dict[str, Any] = {"texts": len(items)}
    for place, output in enumerate(metric.outputs[:3]):
        column = {kind: values[:, place] for kind, values in scores.items()}
        figures[output] = {kind: float(np.nanmedian(values)) for kind, values in column.items()} | {
            f"same above {kind}": float(np.mean((column["same"] > column[kind])[np.isfinite(column[kind])]))
            for kind in ("less", "wrong", "off")
        }
    return figures


def pairs(model: str) -> dict[str, Any]:
    """Pairs a second on ASSET test as ``quality`` reads them, and how far a score depends on its batch and order."""
    evalset, outputs = data.load("asset/test"), data.outputs("asset/test", "ACCESS")
    metric = Quality(model=model)
    metric.measure(evalset[:32], outputs[:32])
    wall, cpu = np.inf, np.inf
    for _ in range(3):
        start, used = time.perf_counter(), time.process_time()
        together = metric.score(metric.measure(EvalSet.of(evalset.sources), outputs))
        wall, cpu = min(wall, time.perf_counter() - start), min(cpu, time.process_time() - used)
    alone = [metric.score(metric.measure(evalset[[at]], [outputs[at]]))[0] for at in range(100)]
    turned = metric.score(metric.measure(evalset[::-1], outputs[::-1]))[::-1]
    return {
        "pairs": len(outputs),
        "per_second": len(outputs) / wall,
        "per_second_of_two_full_cores": 2 * len(outputs) / cpu,
        "load": os.getloadavg()[0],
        "largest_difference_by_batch": float(np.abs(np.array(alone) - together[:100]).max()),
        "largest_difference_by_order": float(np.abs(turned - together).max()),
    }


def _bare(text: str) -> str:
    """A sentence without case, spaces and punctuation."""
    return "".join(character for character in text.casefold() if character.isalnum())


def speed(model: str) -> dict[str, Any]:
    """Sentences a second on ASSET test with two threads, and how far a score depends on its batch."""
    loaded = encoder.load(model, threads=2)
    texts = list(dict.fromkeys([*data.load("asset/test").sources, *data.outputs("asset/test", "ACCESS")]))
    loaded.estimates(texts[:64])
    wall, cpu = np.inf, np.inf
    for _ in range(3):
        start, used = time.perf_counter(), time.process_time()
        together = loaded.estimates(texts)
        wall, cpu = min(wall, time.perf_counter() - start), min(cpu, time.process_time() - used)
    alone = np.concatenate([loaded.estimates([text]) for text in texts[:100]])
    return {
        "sentences": len(texts),
        "per_second": len(texts) / wall,
        "per_second_of_two_full_cores": 2 * len(texts) / cpu,
        "load": os.getloadavg()[0],
        "largest_difference_by_batch": float(np.abs(alone - together[:100]).max()),
    }


def published(model: str) -> dict[str, Any]:
    """Sentences a second of a random RoBERTa-base: our adapter, and a loop as the published scorer has it.

    That loop takes eight texts at a time in the order given, keeps what a gradient would need, and fetches each value
    from the device by itself. It is written here after its description; the scorer's progress bar and printing, which
    would slow it further, are left out.
    """
    import torch
    import transformers

    from plainly.learned.adapters import models as published_models

    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(encoder.directory(model) / "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]"
    )
    config = transformers.RobertaConfig(vocab_size=len(tokenizer), num_labels=1, max_position_embeddings=514)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    network = transformers.RobertaForSequenceClassification(config).to(device).eval()
    loaded = published_models.PublishedModel(network, tokenizer, device)
    names = data.system_names("asset/test")[: 40 if device == "cuda" else 2]
    texts = list(dict.fromkeys(text for name in names for text in data.outputs("asset/test", name)))
    texts = [texts[at] for at in np.random.default_rng(0).permutation(len(texts))]

    def ours(texts: list[str]) -> Floats:
        return published_models.values(loaded, texts, longest=128)[:, 0]

    def theirs(texts: list[str]) -> Floats:
        values: list[float] = []
        for at in range(0, len(texts), 8):
            batch = tokenizer(texts[at : at + 8], max_length=128, padding=True, truncation=True, return_tensors="pt")
            batch.pop("token_type_ids", None)
            values += [value.item() for value in network(**batch.to(device)).logits]
        return np.array(values)

    figures: dict[str, Any] = {"device": device, "sentences": len(texts)}
    values = {}
    for name, way in (("ours", ours), ("theirs", theirs)):
        way(texts[:64])
        start = time.perf_counter()
        values[name] = way(texts)
        figures[name] = len(texts) / (time.perf_counter() - start)
    figures["ratio"] = figures["ours"] / figures["theirs"]
    figures["largest_difference"] = float(np.abs(values["ours"] - values["theirs"]).max())
    return figures


def _delta(model: str, sources: Sequence[str], outputs: Sequence[str]) -> Floats:
    metric = Sle(model=model)
    return metric.score(metric.measure(EvalSet.of(sources), outputs))[:, 0]


def _correlation(values: Floats, truth: Floats) -> dict[str, float]:
    """Pearson with a 95 % percentile bootstrap interval, and Spearman, over the items that have a score."""
    scored = np.isfinite(values)
    values, truth = values[scored], truth[scored]
    drawn = np.random.default_rng(12345).integers(len(values), size=(2000, len(values)))
    low, high = np.percentile([np.corrcoef(values[at], truth[at])[0, 1] for at in drawn], [2.5, 97.5])
    return {
        "pearson": float(np.corrcoef(values, truth)[0, 1]),
        "low": float(low),
        "high": float(high),
        "spearman": float(spearmanr(values, truth).statistic),
        "n": len(values),
    }


SECTIONS: dict[str, Callable[[str], dict[str, Any]]] = {
    "ratings": ratings,
    "human": human,
    "cefr": cefr,
    "meaning": meaning,
    "speed": speed,
    "quality": quality,
    "rewordings": rewordings,
    "pairs": pairs,
    "published": published,
}
_JUDGE = ("quality", "rewordings", "pairs")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=[name for name in SECTIONS if name != "published"])
    parser.add_argument("--model", help="a shipped model's name or a directory")
    arguments = parser.parse_args()
    os.environ[score_cache.SWITCH] = "off"
    for section in arguments.sections:
        print(f"{section} …", file=sys.stderr)
        model = arguments.model or (encoder.JUDGE if section in _JUDGE else encoder.SHIPPED)
        print(json.dumps({section: SECTIONS[section](model)}, indent=1))
