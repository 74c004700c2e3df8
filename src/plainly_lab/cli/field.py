"""``plainly field``: every public output, scored and checked in one way, as a small site."""

import argparse

from plainly.cli.options import add_formats, number
from plainly.core.progress import bar
from plainly.core.result import Result

SUMMARY = "score all public systems and write a site about them"
HELP = """\
Score every public output of every test set and write a small site about it: the state of the field.

  plainly field -o field
  plainly field asset/test tsar2025/test -o field
  plainly field demo -m sari,fkgl --no-papers -o demo-field

Results are kept, and a later build computes only what is new; the site lists what changed since it was last built.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sets", nargs="*", metavar="SET", help="test sets (default: all that have public outputs)")
    parser.add_argument("-m", "--metrics", metavar="SPECS", help="metrics, comma-separated (default: all a set allows)")
    parser.add_argument("-o", "--out", metavar="DIR", default="field", help="directory of the site (%(default)s)")
    parser.add_argument("--no-papers", action="store_true", help="do not compute papers again")
    parser.add_argument("--newsela", metavar="DIR", help="licensed outputs, for the paper that needs them")
    parser.add_argument("--cache", metavar="DIR", help="directory of kept results (default: plainly's cache directory)")
    parser.add_argument("--processes", type=number("--processes"), metavar="N", help="number of processes (all cores)")
    parser.add_argument("--restart", action="store_true", help="ignore kept results and compute everything again")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.core.registry import split_specs
    from plainly_lab.field_site.build import field

    return field(
        args.sets or None,
        out=args.out,
        metrics=split_specs(args.metrics) if args.metrics else None,
        papers=() if args.no_papers else None,
        newsela=args.newsela,
        cache=args.cache,
        restart=args.restart,
        processes=args.processes,
        progress=bar,
    )
