"""Corpora that are too large to hold: batches, binned sums, resuming, and engines that run the work."""
