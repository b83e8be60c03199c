#!/usr/bin/env python3
"""Stands in for cargo when maturin runs it: a program that is to be built is there already.

BUILT_PROGRAMS is the folder with the programs, BUILT_CARGO is cargo itself, which answers everything else.
"""

import json
import os
import pathlib
import subprocess
import sys


def main():
    """Answers maturin."""
    words, cargo = sys.argv[1:], os.environ["BUILT_CARGO"]
    os.environ.pop("CARGO", None)
    if words[:1] != ["rustc"]:
        os.execvp(cargo, [cargo, *words])
    name, manifest = words[words.index("--bin") + 1], words[words.index("--manifest-path") + 1]
    executable = pathlib.Path(os.environ["BUILT_PROGRAMS"], name)
    if not executable.is_file():
        sys.exit(f"maturin asks for {name}, which is not in {executable.parent}")
    told = subprocess.run([cargo, "pkgid", "--offline", "--manifest-path", manifest], check=True, text=True,
                          stdout=subprocess.PIPE)
    source = pathlib.Path(manifest).parent / "src/main.rs"
    target = {"kind": ["bin"], "crate_types": ["bin"], "name": name, "src_path": str(source), "edition": "2024",
              "doctest": False, "test": True}
    profile = {"opt_level": "3", "debuginfo": 0, "debug_assertions": False, "overflow_checks": False, "test": False}
    artifact = {"reason": "compiler-artifact", "package_id": told.stdout.strip(), "manifest_path": manifest,
                "target": target, "profile": profile, "features": [], "filenames": [str(executable)],
                "executable": str(executable), "fresh": True}
    print(json.dumps(artifact))
    print(json.dumps({"reason": "build-finished", "success": True}))


if __name__ == "__main__":
    main()
