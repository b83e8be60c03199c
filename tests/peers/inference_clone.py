"""The clone of mlcommons/inference, whose scripts some tests ask: --inference names it, or MLCOMMONS_INFERENCE."""

import argparse
import os
import pathlib
import sys


def parsed(parser: argparse.ArgumentParser, needed: list[str]) -> argparse.Namespace:
    """The arguments, with --inference among them; `needed` are paths in the clone. Without a clone the program ends and
    says that it did not run, which is no failure. With one, nothing is written into it."""
    parser.add_argument("--inference", type=pathlib.Path, metavar="CLONE",
                        default=os.environ.get("MLCOMMONS_INFERENCE") or None,
                        help="clone of mlcommons/inference [MLCOMMONS_INFERENCE]")
    args = parser.parse_args()
    if args.inference is None:
        print(f"NOT RUN: {parser.prog} needs a clone of https://github.com/mlcommons/inference, named by --inference "
              "or MLCOMMONS_INFERENCE")
        sys.exit(0)
    for name in needed:
        if not (args.inference / name).exists():
            parser.error(f"there is no {name} in {args.inference}: is this a clone of mlcommons/inference?")
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return args
