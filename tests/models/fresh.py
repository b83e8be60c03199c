"""Checks that the output of a script is there already: all of it, and newer than everything that it is made from."""

from pathlib import Path

HERE = Path(__file__).resolve().parent


def is_there(made, *sources):
    """Of the last files that a script writes. The scripts here and the versions that pip installs are sources, too."""
    made = [Path(path) for path in made]
    if not all(path.exists() for path in made):
        return False
    sources = [*HERE.glob("*.py"), HERE / "requirements.txt", *map(Path, sources)]
    return max(path.stat().st_mtime for path in sources) < min(path.stat().st_mtime for path in made)
