"""Does a metric agree with people, do people agree with each other, and how do dimensions hang together?"""

from plainly.questions.meta.coefficients import RaterAgreement, agreement
from plainly.questions.meta.correlations import MetricCorrelation, MetricCorrelations
from plainly.questions.meta.dimensions import Tradeoff
from plainly.questions.meta.evaluation import MetaEvaluation, meta
from plainly.questions.meta.subset import Filter

__all__ = [
    "Filter",
    "MetaEvaluation",
    "MetricCorrelation",
    "MetricCorrelations",
    "RaterAgreement",
    "Tradeoff",
    "agreement",
    "meta",
]
