"""Does a metric agree with people, do people agree with each other, and how do dimensions hang together?"""

from plainly.questions.meta.agreement import Agreement, agreement
from plainly.questions.meta.correlations import MetaEvaluation, Row, meta_evaluate
from plainly.questions.meta.scores import MetricScores, given_scores, score_units, with_texts
from plainly.questions.meta.subset import Filter
from plainly.questions.meta.tradeoff import Relation, pareto, tradeoff

__all__ = [
    "Agreement",
    "Filter",
    "MetaEvaluation",
    "MetricScores",
    "Relation",
    "Row",
    "agreement",
    "given_scores",
    "meta_evaluate",
    "pareto",
    "score_units",
    "tradeoff",
    "with_texts",
]
