"""Operations on sentences: a vocabulary, annotations, a labeller, and profiles; sentence alignment."""
