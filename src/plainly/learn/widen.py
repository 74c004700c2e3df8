"""The later scales fitted once more, in closed form, on what every layer says and on how long a text is.

The encoder learns the first scale above all, and its last layer forgets on the way what only the others need: words and
length are clearest in its lower layers. Fitting a linear head to all layers costs one pass and leaves the first scale
and the token vectors as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from plainly.learn.estimator import Estimator, TokenIds, encode, evidence
from plainly.learn.examples import Examples
from plainly.protocol import Floats


def widen(
    model: Estimator, tokenizer: Any, rows: Examples, *, ridge: float, longest: int, device: torch.device
) -> None:
    """Give the model a wide head for all scales but the first, fitted to ``rows`` by ridge regression.

    ``ridge`` is the weight of the squared coefficients beside the summed squared errors, with every feature brought to
    unit variance first.
    """
    features = _evidence(model, encode(tokenizer, rows.texts, longest=longest), device)
    centre, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    features = (features - centre) / spread
    weights, biases = [], []
    for head in range(1, len(model.heads)):
        known = np.isfinite(rows.targets[:, head])
        seen, wanted = features[known], rows.targets[known, head]
        average = wanted.mean()
        products = seen.T @ seen
        products[np.diag_indices_from(products)] += ridge
        slopes = np.linalg.solve(products, seen.T @ (wanted - average)) / spread
        weights.append(slopes)
        biases.append(average - slopes @ centre)
    wide = nn.Linear(features.shape[1], len(weights))
    wide.weight.data = torch.tensor(np.array(weights), dtype=torch.float32)
    wide.bias.data = torch.tensor(np.array(biases), dtype=torch.float32)
    model.wide = wide.to(device)


@torch.no_grad()
def _evidence(model: Estimator, texts: TokenIds, device: torch.device) -> Floats:
    model.to(device).eval()
    rows: dict[int, Floats] = {}
    for chosen in texts.by_length():
        tokens, mask = texts.batch(chosen, device)
        values = evidence(model(tokens, mask)[1], mask).double().cpu().numpy()
        rows.update(zip(chosen, values, strict=True))
    return np.array([rows[place] for place in range(len(rows))])
