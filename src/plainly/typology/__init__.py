"""What was done to the sentence: a vocabulary of operations, annotations of them, and a labeller that finds them."""
