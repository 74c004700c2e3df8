"""How many sentences and raters a human evaluation needs to tell systems apart, learnt from ratings that exist."""

from plainly.questions.plan.resampling import Pilot, Point
from plainly.questions.plan.study import StudyPlan, plan

__all__ = ["Pilot", "Point", "StudyPlan", "plan"]
