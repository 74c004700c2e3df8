"""How fast scoring is, as ratios against named peers on the same data in the same run.

Run: python bench/score.py   (needs the public ASSET files: PLAINLY_MIRROR, or a network for the first run)

Peers: sacrebleu's corpus BLEU, installed from the registry, its tokeniser cache emptied before each uncached run; and a
plain Counter-based SARI of our own, written as most implementations are, since EASSE is not published as a package.
Every figure is the best of several runs after a warm-up, so that both sides are warm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import plainly
from plainly.evalset import EvalSet
from plainly.metrics.bleu import Bleu
from plainly.metrics.readability import Fkgl
from plainly.metrics.sari import Sari

_MIRROR = Path(__file__).resolve().parents[2] / "shared" / "mirror"


clock = time.perf_counter


def best(action: Callable[[], object], *, runs: int, clock: Callable[[], float] | None = None) -> float:
    """Seconds of the fastest of several runs."""
    clock = clock or globals()["clock"]
    times = []
    for _ in range(runs):
        start = clock()
        action()
        times.append(clock() - start)
    return min(times)


def fresh(evalset: EvalSet) -> EvalSet:
    """The same texts, with nothing prepared."""
    return EvalSet(ids=evalset.ids, sources=evalset.sources, references=evalset.references, name=evalset.name)


def empty_sacrebleu_caches() -> None:
    """sacrebleu memoises whole sentences; timing a second run on the same data would measure the cache."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


def sacrebleu_bleu(evalset: EvalSet, outputs: list[str]) -> float:
    from sacrebleu.metrics import BLEU

    empty_sacrebleu_caches()
    return float(BLEU().corpus_score(outputs, [list(column) for column in zip(*evalset.references, strict=True)]).score)


def counter_sari(evalset: EvalSet, outputs: list[str]) -> float:
    """SARI by Counters, sentence by sentence, as most implementations do it."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    empty_sacrebleu_caches()
    tokenise = Tokenizer13a()

    def grams(text: str) -> list[Counter[str]]:
        words = tokenise(text.lower()).split()
        return [Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1)) for n in range(1, 5)]

    sums = [[0] * 9 for _ in range(4)]
    for source, output, references in zip(evalset.sources, outputs, evalset.references, strict=True):
        k = len(references)
        of_source, of_output = grams(source), grams(output)
        of_references = [sum(column, Counter()) for column in zip(*map(grams, references), strict=True)]
        for s, c, r, total in zip(of_source, of_output, of_references, sums, strict=True):
            ks, kc = Counter({g: k * n for g, n in s.items()}), Counter({g: k * n for g, n in c.items()})
            counts = (
                len((set(c) - set(s)) & set(r)), len(set(c) - set(s)), len(set(r) - set(s)),
                (ks & kc & r).total(), (ks & kc).total(), (ks & r).total(),
                ((ks - kc) & (ks - r)).total(), (ks - kc).total(), (ks - r).total(),
            )  # fmt: skip
            for place, count in enumerate(counts):
                total[place] += count
    scores = []
    for total in sums:
        for good, by_output, by_references in (total[0:3], total[3:6], total[6:9]):
            p = good / by_output if by_output else 0.0
            r = good / by_references if by_references else 0.0
            scores.append(2 * p * r / (p + r) if p + r else 0.0)
    return 100 * sum(scores) / len(scores)


def score_once(metric: Sari | Bleu, evalset: EvalSet, outputs: list[str]) -> float:
    return float(metric.score(metric.measure(evalset, outputs).sum(axis=0))[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--million", action="store_true", help="also score a million items (a minute)")
    parser.add_argument("--cpu", action="store_true", help="compare CPU time, for a machine that does other work too")
    args = parser.parse_args()
    if args.cpu:
        globals()["clock"] = time.process_time
    if "PLAINLY_MIRROR" not in os.environ and _MIRROR.is_dir():
        os.environ["PLAINLY_MIRROR"] = str(_MIRROR)
    valid = plainly.load("asset/valid")
    outputs = [references[0] for references in valid.references]
    n = len(valid)
    sari, bleu, fkgl = Sari(), Bleu(), Fkgl()

    ours, theirs = score_once(bleu, valid, outputs), sacrebleu_bleu(valid, outputs)
    assert abs(ours - theirs) < 1e-9, (ours, theirs)
    assert abs(score_once(sari, valid, outputs) - counter_sari(valid, outputs)) < 1e-9

    peer = best(lambda: sacrebleu_bleu(valid, outputs), runs=args.runs)
    slow_sari = best(lambda: counter_sari(valid, outputs), runs=2)
    one_shot = best(lambda: score_once(sari, fresh(valid), outputs), runs=args.runs)
    one_shot_bleu = best(lambda: score_once(bleu, fresh(valid), outputs), runs=args.runs)
    both = best(lambda: (score_once(sari, valid, outputs), score_once(bleu, valid, outputs)), runs=3 * args.runs)
    readability = best(lambda: fkgl.score(fkgl.measure(valid, outputs).sum(axis=0)), runs=args.runs)

    print(f"ASSET valid, {n} items × 10 references; items a second")
    _line("sacrebleu BLEU, uncached", n / peer)
    _line("SARI by Counters (ours, as a stand-in for peers)", n / slow_sari)
    _line("plainly SARI, one shot", n / one_shot, f"{peer / one_shot:.1f} × sacrebleu (wanted: 7)")
    _line("plainly BLEU, one shot", n / one_shot_bleu, f"{peer / one_shot_bleu:.1f} × sacrebleu (wanted: 8)")
    _line("plainly SARI + BLEU, set prepared", n / both, f"{peer / both:.1f} × sacrebleu (wanted: 50)")
    _line("plainly FKGL, warm", n / readability, "wanted: 50,000 a second")

    test = plainly.load("asset/test")
    published = {name: list(texts) for name, texts in plainly.systems("asset/test").items() if "/" not in name}
    start = clock()
    again = fresh(test)
    for texts in published.values():
        score_once(sari, again, texts)
        score_once(bleu, again, texts)
    print(f"{len(published)} systems on ASSET test, SARI and BLEU: {clock() - start:.2f} s (wanted: 0.5)")

    command = [sys.executable, "-m", "plainly", "score", "-t", "asset/test", "-m", "sari,bleu,fkgl", "ACCESS"]
    wall = time.perf_counter
    cold = best(lambda: subprocess.run(command, check=True, capture_output=True), runs=args.runs, clock=wall)
    print(f"plainly score -t asset/test -m sari,bleu,fkgl ACCESS, cold process: {cold:.2f} s (wanted: 0.6)")
    bare = best(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), runs=args.runs, clock=wall)
    importing = best(
        lambda: subprocess.run([sys.executable, "-c", "import plainly"], check=True), runs=args.runs, clock=wall
    )
    print(f"import plainly: {1000 * (importing - bare):.0f} ms (wanted: under 100)")
    if args.million:
        _million(valid, outputs, sari)
    return 0


def _million(valid: EvalSet, outputs: list[str], sari: Sari) -> None:
    import resource

    for items in (100_000, 1_000_000):
        repeats = -(-items // len(valid))
        large = EvalSet.of(
            (list(valid.sources) * repeats)[:items], references=(list(valid.references) * repeats)[:items]
        )
        texts = (outputs * repeats)[:items]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        score_once(sari, large, texts)
        seconds = time.perf_counter() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        rate = f"{items / seconds:,.0f} a second"
        print(f"SARI on {items:,} items: {seconds:.1f} s, {rate}, {grown:.0f} MB more at the peak")


def _line(what: str, rate: float, remark: str = "") -> None:
    print(f"  {what:52s} {rate:>12,.0f}   {remark}")


if __name__ == "__main__":
    sys.exit(main())
