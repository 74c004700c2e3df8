"""How fast scoring is, as ratios of CPU time against named peers on the same data in the same run.

Run: python bench/score.py   (needs the public ASSET files: PLAINLY_MIRROR, or a network for the first run)

Peers: sacrebleu's corpus BLEU, installed from the registry, its tokeniser cache emptied before each uncached run; and a
plain Counter-based SARI of our own, written as most implementations are, since EASSE is not published as a package.
CPU time, so that other work on the machine counts as little as can be; both sides in turns, so that it counts for both;
the best of several runs after a warm-up.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import plainly
from plainly.core.evalset import EvalSet
from plainly.metrics.bleu import Bleu
from plainly.metrics.readability import Fkgl
from plainly.metrics.sari import Sari

_MIRROR = Path(__file__).resolve().parents[2] / "shared" / "mirror"


def cpu_times(actions: dict[str, Callable[[], object]], *, runs: int) -> dict[str, float]:
    """Seconds of CPU time of each action, the least of several rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            start = time.process_time()
            action()
            times[name].append(time.process_time() - start)
    return {name: min(values) for name, values in times.items()}


def cold(*arguments: str, runs: int) -> tuple[float, float]:
    """Seconds of CPU time and by the clock of the fastest of several new Python processes."""
    cpu, clock = [], []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        clock.append(time.perf_counter() - start)
    return min(cpu), min(clock)


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


def score_once(metric: Sari | Bleu | Fkgl, evalset: EvalSet, outputs: list[str]) -> float:
    return float(metric.score(metric.measure(evalset, outputs).sum(axis=0))[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--million", action="store_true", help="also score a million items (a minute)")
    args = parser.parse_args()
    if "PLAINLY_MIRROR" not in os.environ and _MIRROR.is_dir():
        os.environ["PLAINLY_MIRROR"] = str(_MIRROR)
    valid = plainly.load("asset/valid")
    outputs = [references[0] for references in valid.references]
    sari, bleu, fkgl = Sari(), Bleu(), Fkgl()

    ours, theirs = score_once(bleu, valid, outputs), sacrebleu_bleu(valid, outputs)
    assert abs(ours - theirs) < 1e-9, (ours, theirs)
    assert abs(score_once(sari, valid, outputs) - counter_sari(valid, outputs)) < 1e-9

    seconds = cpu_times(
        {
            "sacrebleu BLEU, uncached": lambda: sacrebleu_bleu(valid, outputs),
            "SARI by Counters (ours, as a stand-in for peers)": lambda: counter_sari(valid, outputs),
            "plainly SARI, one shot": lambda: score_once(sari, fresh(valid), outputs),
            "plainly BLEU, one shot": lambda: score_once(bleu, fresh(valid), outputs),
            "plainly SARI + BLEU, set prepared": lambda: (
                score_once(sari, valid, outputs), score_once(bleu, valid, outputs)
            ),
            "plainly FKGL, warm": lambda: score_once(fkgl, valid, outputs),
        },
        runs=args.runs,
    )  # fmt: skip
    wanted = {"plainly SARI, one shot": 7, "plainly BLEU, one shot": 8, "plainly SARI + BLEU, set prepared": 50}
    peer = seconds["sacrebleu BLEU, uncached"]
    print(f"ASSET valid, {len(valid)} items × 10 references; items a second of CPU time")
    for name, spent in seconds.items():
        remark = f"{peer / spent:.1f} × sacrebleu (wanted: {wanted[name]})" if name in wanted else ""
        print(f"  {name:52s} {len(valid) / spent:>12,.0f}   {remark}")
    _leaderboard(sari, bleu)
    _processes(runs=args.runs)
    if args.million:
        _million(valid, outputs, sari)
    return 0


def _leaderboard(sari: Sari, bleu: Bleu) -> None:
    test = fresh(plainly.load("asset/test"))
    published = {name: list(texts) for name, texts in plainly.systems("asset/test").items() if "/" not in name}
    start = time.process_time()
    for texts in published.values():
        score_once(sari, test, texts)
        score_once(bleu, test, texts)
    spent = time.process_time() - start
    print(f"{len(published)} systems on ASSET test, SARI and BLEU: {spent:.2f} s (wanted: 0.5)")


def _processes(*, runs: int) -> None:
    """What a new process costs: the commands that a user waits for, and the import alone."""
    asset = ("score", "-t", "asset/test", "-m", "sari,bleu,fkgl", "ACCESS")
    for command in (("score", "--demo"), asset):
        cpu, clock = cold("-m", "plainly", *command, runs=runs)
        print(f"plainly {' '.join(command)}, cold: {cpu:.2f} s of CPU time, {clock:.2f} s by the clock (wanted: 0.6)")
    bare, importing = cold("-c", "pass", runs=runs)[0], cold("-c", "import plainly", runs=runs)[0]
    print(f"import plainly: {1000 * (importing - bare):.0f} ms of CPU time (wanted: under 30)")


def _million(valid: EvalSet, outputs: list[str], sari: Sari) -> None:
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


if __name__ == "__main__":
    sys.exit(main())
