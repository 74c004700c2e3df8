"""How fast labellers are: pairs a second by the clock and by processor time, on ASSET's references.

Run: python bench/label.py [--processes N] [rules light …]   (needs the public ASSET files, see docs/data.md)

By the clock is what a user waits; processor time, that of all processes together, is what the work costs where other
work runs beside it. The labeller is loaded, and the vocabulary seen, before the first run that counts; processes beside
this one start anew in each run.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # One core a process: what several cores do is the processes' business.

from plainly import data
from plainly.typology.labelling import label
from plainly.typology.selection import reference_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labellers", nargs="*", default=["rules", "light"], help="which labellers (rules light)")
    parser.add_argument("--processes", type=int, default=1, help="processes (1)")
    parser.add_argument("--copies", type=int, default=1, help="how often the 3,590 pairs are repeated (1)")
    args = parser.parse_args()
    sources, outputs = reference_pairs(data.load("asset/test"))
    texts = {"sources": sources * args.copies, "outputs": outputs * args.copies}
    for name in args.labellers:
        label(labeller=name, sources=sources, outputs=outputs)
        best = {"clock": 0.0, "processor": 0.0}
        for _ in range(3):
            clock, processor = time.perf_counter(), sum(os.times()[:4])
            pairs = len(label(labeller=name, processes=args.processes, **texts).pairs)
            best["clock"] = max(best["clock"], pairs / (time.perf_counter() - clock))
            best["processor"] = max(best["processor"], pairs / (sum(os.times()[:4]) - processor))
        line = f"{name}: {best['clock']:,.0f} pairs/s by the clock with {args.processes} process(es)"
        print(f"{line}, {best['processor']:,.0f} a processor second")


if __name__ == "__main__":
    main()
