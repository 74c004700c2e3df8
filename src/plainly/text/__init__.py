"""Text as counts and units: tokenizers, n-grams, sentences, syllables, words, lexicons, word alignment, languages."""
