"""How fast labellers are: pairs a second by the clock and by processor time, on ASSET's references.

Run: python bench/label.py [--workers N] [rules light …]   (needs the public ASSET files, see docs/data.md)

By the clock is what a user waits; processor time is what the work costs where other work runs beside it. The labeller
is loaded, and the vocabulary seen, before the first run that counts.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # One core a process: what several cores do is the workers' business.

from plainly import data
from plainly.typology.label import labeller


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labellers", nargs="*", default=["rules", "light"], help="which labellers (rules light)")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--copies", type=int, default=1, help="how often the 3,590 pairs are repeated (1)")
    args = parser.parse_args()
    evalset = data.load("asset/test")
    sources = [source for source, row in zip(evalset.sources, evalset.references, strict=True) for _ in row]
    outputs = [reference for row in evalset.references for reference in row]
    for name in args.labellers:
        chosen = labeller(name)
        chosen.label(sources, outputs)
        best = {"clock": 0.0, "processor": 0.0}
        for _ in range(3):
            clock, processor = time.perf_counter(), time.process_time()
            found = chosen.label(sources * args.copies, outputs * args.copies, workers=args.workers)
            best["clock"] = max(best["clock"], len(found) / (time.perf_counter() - clock))
            best["processor"] = max(best["processor"], len(found) / (time.process_time() - processor))
        shown = f"{name}: {best['clock']:,.0f} pairs/s by the clock with {args.workers} worker(s)"
        print(shown + (f", {best['processor']:,.0f} a processor second" if args.workers == 1 else ""))


if __name__ == "__main__":
    main()
