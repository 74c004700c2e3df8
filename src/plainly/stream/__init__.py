"""Corpora of any size: read a part at a time, measured anywhere, added up exactly, never held whole."""

from plainly.stream.corpus import Corpus, open_corpus
from plainly.stream.parts import Part
from plainly.stream.score import StreamEvaluation, Tally, score_stream

__all__ = ["Corpus", "Part", "StreamEvaluation", "Tally", "open_corpus", "score_stream"]
