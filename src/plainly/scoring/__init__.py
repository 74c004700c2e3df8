"""From texts and metrics to an evaluation, and what follows from one: comparisons, claims, subsets, score files."""
