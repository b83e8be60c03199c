# Places and preparations that .ci/run, .ci/gate and the long checks share. They source this file in the top folder.
# shellcheck shell=bash

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/loadgen-network
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
# Our own crates are compiled anew in each checkout: parts for a next time cost time, and 2 GB.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
# The folder of the programs that cargo builds.
programs=$CARGO_TARGET_DIR/debug
# Most tests wait most of the time.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-4}

# Names the next step of a piece and says how long the one before took.
step() {
  if [ -n "${step_name:-}" ]; then printf -- '-- %5d s  %s\n' $((SECONDS - step_began)) "$step_name"; fi
  step_name=$* step_began=$SECONDS
  printf '\n== %s\n' "$*"
}

# Ends a check that cannot run here, with the reason.
did_not_run() {
  echo "$*"
  exit 77
}

# Makes the target folder fit for this checkout. Cargo takes sources for unchanged that are older than what was built
# from them, and those of another checkout may be. So our own crates are compiled anew there, and other people's are not.
# Remains of old versions of dependencies are removed when they have become much.
prepare_target() {
  local stamp=$CARGO_TARGET_DIR/checkout
  mkdir -p "$CARGO_TARGET_DIR"
  if [ "$(du -s --block-size=G "$CARGO_TARGET_DIR" | cut -f 1 | tr -d G)" -gt 25 ]; then
    rm -rf "$CARGO_TARGET_DIR"
    mkdir -p "$CARGO_TARGET_DIR"
  fi
  if [ "$(cat "$stamp" 2>/dev/null)" != "$PWD" ]; then
    cargo clean --workspace --locked --quiet
    echo "$PWD" >"$stamp"
  fi
}

# Builds all that checks start: programs, library, examples. Nothing to do right after the gate.
built() { cargo build --workspace --all-targets --locked --quiet; }

# Installs Debian's packages whose programs are missing: PROGRAM, or PROGRAM:PACKAGE where the names differ.
installed() {
  local tool missing=()
  for tool in "$@"; do
    command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}")
  done
  test ${#missing[@]} -gt 0 || return 0
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Prints the folder of a virtual environment with these Python packages: `venv NAME PIP_ARGUMENT...`. It is made once for
# a list of packages.
venv() {
  local name=$1 folder key
  shift
  # Lists of packages are arguments that end in .txt.
  key=$({ printf '%s\n' "$@" && grep -s '' "${@/#-r//dev/null}" || true; } | sha256sum | cut -c 1-12)
  folder=$cache/venv/$name-$key
  if [ ! -e "$folder/complete" ]; then
    rm -rf "$cache/venv/$name"-*
    python3 -m venv "$folder" >&2
    "$folder/bin/pip" install --quiet "$@" >&2
    touch "$folder/complete"
  fi
  echo "$folder"
}

# Prints the folder of generated models and pictures, which is made once for what makes them.
models() {
  local python key folder
  python=$(venv models -r tests/models/requirements.txt)/bin/python
  key=$(cat tests/models/*.py tests/models/requirements.txt | sha256sum | cut -c 1-12)
  folder=$cache/models/$key
  if [ ! -e "$folder/complete" ]; then
    rm -rf "$cache/models"
    mkdir -p "$folder"
    "$python" tests/models/make.py "$folder" >&2
    "$python" tests/models/images.py "$folder/images" "$folder/resnet50.onnx" >&2
    # With 50,000 pictures, its default, the runs on them take half an hour.
    "$python" tests/models/imagenet.py "$folder/imagenet" 1200 >&2
    "$python" tests/models/squad.py "$folder/squad" "$folder/bert.onnx" >&2
    touch "$folder/complete"
  fi
  echo "$folder"
}

# Prints the library of ONNX Runtime.
onnxruntime() {
  ls "$(venv models -r tests/models/requirements.txt)"/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*
}

# Prints the Python that has the official LoadGen's wheel and the packages of its accuracy scripts.
peers() { echo "$(venv peers -r tests/peers/requirements.txt)/bin/python"; }

# Prints the folder with the official LoadGen in C++ (loadgen/) and the programs that have it with our library:
# lon-official, and official_rate, with which lon-perf measures.
official() {
  local folder=$cache/official
  mkdir -p "$folder"
  tests/peers/build_loadgen.sh "$folder/loadgen" >&2
  qdl/capi/cpp/build.sh "$folder/lon-official" "$folder/loadgen" "$programs" >&2
  qdl/capi/cpp/build.sh "$folder/official_rate" "$folder/loadgen" "$programs" tests/peers/official_rate.cpp >&2
  echo "$folder"
}

# Ends a check that needs the checker, the audits or the accuracy scripts where no clone of them is named.
need_inference() {
  test -n "${MLCOMMONS_INFERENCE:-}" ||
    did_not_run "needs a clone of mlcommons/inference, named by MLCOMMONS_INFERENCE"
}

# Prints the tests that are ignored with the reason `.ci/run NAME`. A run that asks for ignored tests by name, without
# --ignored, prints their reasons and runs none of them.
ignored_tests() {
  local names
  mapfile -t names < <(cargo test --locked --workspace --tests -- --ignored --list --format terse 2>/dev/null |
    sed -n 's/: test$//p')
  test ${#names[@]} -gt 0 || return 0
  cargo test --locked --workspace --tests -- --exact "${names[@]}" 2>/dev/null |
    sed -n "s|^test \(.*\) \.\.\. ignored, \.ci/run $1\$|\1|p"
}

# Runs the tests that are ignored with the reason `.ci/run NAME`; further arguments go to the test programs. A name that
# no test has is an error.
ignored() {
  local name=$1 tests
  shift
  built
  mapfile -t tests < <(ignored_tests "$name")
  test ${#tests[@]} -gt 0 || { echo "no test is ignored with the reason '.ci/run $name'"; return 1; }
  run_ignored "$@" "${tests[@]}"
}

run_ignored() { cargo test --locked --workspace --tests --no-fail-fast -- --ignored --exact "$@"; }

# The same as `ignored`, and a second try for what failed, one test at a time.
ignored_then_alone() {
  local log failed
  log=$(mktemp)
  if ignored "$@" | tee "$log"; then return; fi
  mapfile -t failed < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log")
  test ${#failed[@]} -gt 0 || return 1
  printf '\n!! failed beside others, once more alone: %s\n' "${failed[@]}"
  unset LON_TEST_BESIDE
  run_ignored --test-threads 1 "${failed[@]}"
}
