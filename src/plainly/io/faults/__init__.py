"""Faults of inputs: small checks of an evaluation set and its outputs, each with a code."""

from plainly.core.files import read_shipped
from plainly.io.faults.corpus_faults import CHECKS, Subject

__all__ = ["CHECKS", "EXPLANATIONS", "Subject"]

EXPLANATIONS: dict[str, str] = read_shipped(__file__, "codes.toml")
