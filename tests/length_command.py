"""A program as people bring them to ``command(run=…)``: JSON in, a number a line out. It counts words."""

import json
import sys

for line in sys.stdin:
    pair = json.loads(line)
    print(len(pair["output"].split()))  # noqa: T201
