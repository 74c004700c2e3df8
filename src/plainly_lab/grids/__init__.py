"""Experiment grids: systems × test sets × metrics × seeds from one file."""
