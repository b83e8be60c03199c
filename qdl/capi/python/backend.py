"""Builds the wheel (PEP 517): cargo builds the programs and the library, maturin packs them.

maturin knows no library that ctypes opens, and builds one crate where two programs and a library of one workspace are
wanted. So everything is built by one call of cargo beforehand, with the features of the whole workspace, and laid out
in a folder of its own. There maturin finds all of it but one program, for which it asks cargo: built_cargo.py stands in
for cargo, and answers with the program that is there.

LON_BUILT=FOLDER takes loadgen-node, sut-node and liblon_qdl.so from this folder, and builds nothing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import maturin

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
PROGRAMS = ["loadgen-node", "sut-node"]
LIBRARY = "liblon_qdl.so"
HEADERS = [REPOSITORY / "qdl/capi/include/lon_qdl.h", REPOSITORY / "qdl/capi/cpp/lon_qdl.hpp"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Makes the wheel, and returns its name."""
    if not (REPOSITORY / "Cargo.lock").is_file():
        raise RuntimeError("the wheel is built in a clone of the repository: pip install ./qdl/capi/python")
    wheel_directory = os.path.abspath(wheel_directory)
    built = _built()
    with tempfile.TemporaryDirectory(prefix="loadgen-network-") as folder:
        stage = pathlib.Path(folder)
        _lay_out(stage, built)
        environment = {"CARGO": str(HERE / "built_cargo.py"), "BUILT_CARGO": shutil.which("cargo") or "cargo",
                       "BUILT_PROGRAMS": str(stage / "programs"), "CARGO_TARGET_DIR": str(stage / "target")}
        before = os.getcwd(), dict(os.environ)
        os.chdir(stage)
        os.environ.update(environment)
        try:
            return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
        finally:
            os.chdir(before[0])
            os.environ.clear()
            os.environ.update(before[1])


def build_sdist(sdist_directory, config_settings=None):
    """There is no archive of the sources: they are those of the whole repository."""
    raise RuntimeError("no source archive is made: install from a clone of the repository")


def _built():
    """The folder with what was built."""
    given = os.environ.get("LON_BUILT")
    if given:
        return pathlib.Path(given).resolve()
    # Not --package: with the features of a package alone, crates would be compiled that `cargo build --release
    # --workspace` has compiled otherwise.
    subprocess.run(["cargo", "build", "--release", "--locked", "--workspace"], cwd=REPOSITORY, check=True)
    told = subprocess.run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], cwd=REPOSITORY,
                          check=True, stdout=subprocess.PIPE).stdout
    return pathlib.Path(json.loads(told)["target_directory"], "release")


def _lay_out(stage, built):
    """Everything where maturin looks for it."""
    settings = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    crate = '"../../../loadgen-node/Cargo.toml"'
    assert crate in settings, f"pyproject.toml names no {crate}"
    settings = settings.replace(crate, json.dumps(str(REPOSITORY / "loadgen-node/Cargo.toml")))
    (stage / "pyproject.toml").write_text(settings, encoding="utf-8")
    shutil.copy(HERE / "README.md", stage)
    shutil.copy(REPOSITORY / "LICENSE", stage)
    package = stage / "loadgen_network"
    shutil.copytree(HERE / "loadgen_network", package, ignore=shutil.ignore_patterns("__pycache__", "*.so", "include"))
    (package / "include").mkdir()
    for header in HEADERS:
        shutil.copy(header, package / "include")
    scripts = stage / "data/scripts"
    scripts.mkdir(parents=True)
    (stage / "programs").mkdir()
    _stripped(built / "loadgen-node", stage / "programs")
    _stripped(built / "sut-node", scripts)
    _stripped(built / LIBRARY, package)


def _stripped(file, folder):
    """A copy without symbols where binutils are installed, else a copy."""
    if not file.is_file():
        raise RuntimeError(f"{file} is missing: build it with cargo build --release --workspace")
    copy = pathlib.Path(shutil.copy(file, folder))
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-all", str(copy)], check=True)
