"""What every answer about ratings says of them, and an estimate as a record."""

from __future__ import annotations

from dataclasses import asdict

from plainly.ratings.types import Judgements
from plainly.result import Record
from plainly.sampling import Sampling
from plainly.stats.estimate import Estimate


def described(judgements: Judgements, sampling: Sampling) -> Record:
    """What was rated: the start of the JSON, schema plainly.meta/1."""
    return {
        "schema": "plainly.meta/1",
        "ratings": judgements.name,
        "seed": sampling.seed,
        "dimensions": [
            {
                "dimension": name,
                "systems": len(judgements.systems),
                "items": len(judgements.items),
                "raters": len(judgements[name].raters),
                "outputs": len(judgements[name].units()),
                "scale": list(judgements[name].scale or ()) or None,
            }
            for name in judgements
        ],
    }


def estimate_record(estimate: Estimate) -> Record:
    """An estimate as it stands in JSON and in records, where its level is called confidence."""
    return {"confidence" if name == "level" else name: value for name, value in asdict(estimate).items()}
