#!/usr/bin/env python3
"""Holds documents that tests have collected (LON_TEST_DOCUMENTS) against their schemas, with the package jsonschema.

DOCUMENTS has a folder for each schema, by its name. Every schema has to be one, every kind of document has to be there
unless --lacking names it, and a document that is changed must not fit any more.
"""
import argparse
import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("schemas", type=Path)
    parser.add_argument("--lacking", nargs="*", default=[], metavar="NAME")
    args = parser.parse_args()
    faults = []
    for path in sorted(args.schemas.glob("*.json")):
        schema = json.loads(path.read_text())
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        documents = sorted((args.documents / path.stem).glob("*.json"))
        for document in documents:
            read = json.loads(document.read_text())
            faults += [f"{document}: {error.json_path}: {error.message}" for error in validator.iter_errors(read)]
            if isinstance(read, dict) and schema.get("required"):
                changed = {key: value for key, value in read.items() if key != schema["required"][0]}
                if validator.is_valid(changed):
                    faults.append(f"{document}: it fits without {schema['required'][0]}")
        print(f"{path.stem}: {len(documents)} documents")
        if not documents and path.stem not in args.lacking:
            faults.append(f"no test has written a document of the kind {path.stem}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
