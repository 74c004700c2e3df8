"""Comparison of the numbers, names, negations, relations and statements of an output with those of its source."""
