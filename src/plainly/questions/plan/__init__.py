"""How many sentences and raters a human evaluation needs to tell systems apart, learnt from ratings that exist."""

from plainly.questions.plan.components import Components, components, detectable, sentences_needed
from plainly.questions.plan.resampling import Point, Reference, budget, pattern, raters, sentences
from plainly.questions.plan.study import Plan, make_plan

__all__ = [
    "Components",
    "Plan",
    "Point",
    "Reference",
    "budget",
    "components",
    "detectable",
    "make_plan",
    "pattern",
    "raters",
    "sentences",
    "sentences_needed",
]
