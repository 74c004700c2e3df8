"""``plainly models``: list, describe and download the models that learned metrics use."""

import argparse

from plainly.cli import options
from plainly.core.errors import BadInput
from plainly.core.progress import bar
from plainly.core.result import Result

HELP = """\
List the models that learned metrics use, shipped or published; describe and download the published ones.

  plainly models
  plainly models info lens
  plainly models get bertscore lens

Downloads are kept in the folder PLAINLY_MODELS (default: models in plainly's cache), one folder OWNER/NAME per model.
To work offline, set PLAINLY_MODELS to a folder, download into it where there is a network, copy it, and set
PLAINLY_MODELS there too. HF_ENDPOINT names a mirror of the hub, HF_TOKEN lets you into models that are not public.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "info", "get"),
        default="list",
        help="what to do (default: list all models)",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="metrics, or names of models: lens, OWNER/NAME")
    options.add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.learned.adapters import published

    if args.action == "list":
        if args.names:
            raise BadInput(f"list takes no names. Did you mean: plainly models info {args.names[0]}")
        return published.catalogue()
    if args.action == "get":
        return published.get(*args.names, progress=bar)
    if len(args.names) != 1:
        raise BadInput("Name one metric or model to describe, such as lens. See: plainly models")
    return published.describe(args.names[0])
