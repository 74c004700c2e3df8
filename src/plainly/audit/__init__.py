"""Can a metric be fooled? Attack a share of the outputs and watch every metric."""
