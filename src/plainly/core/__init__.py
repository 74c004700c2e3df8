"""What everything else is built on: errors, evaluation sets, metrics, results, sampling, progress, limits and files."""
