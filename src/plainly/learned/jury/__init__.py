"""Language models as judges: ``judge(model=NAME, rubric=quality)`` asks a server that speaks the OpenAI protocol.

``judges.toml`` describes the models (``settings``), files the questions (``rubrics``). The texts go into frames that
they cannot close (``prompts``); ``client`` sends what is not in the cache (``answers``) and survives what servers do.
"""
