"""Whether an output says what its source says: numbers, names, negations, relations and claims, found and compared."""
