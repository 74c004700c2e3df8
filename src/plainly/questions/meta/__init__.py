"""Does a metric agree with people, do people agree with each other, and how do dimensions hang together?"""

from plainly.questions.meta.coefficients import agreement
from plainly.questions.meta.evaluation import meta
from plainly.questions.meta.subset import Filter

__all__ = ["Filter", "agreement", "meta"]
