#!/usr/bin/env bash
# Builds every fuzz target and runs each for some seconds, from its seeds: tests/fuzz/run.sh [SECONDS] [TARGET...].
# 0 seconds only builds them.
# What crashes is left in target/fuzz/artifacts, or below CARGO_TARGET_DIR where it is set. Works with the stable
# toolchain: what libFuzzer needs of the compiler is asked for by flags, as `cargo fuzz --sanitizer none` does. Needs a
# C++ compiler, for libFuzzer itself.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-5}
shift || true
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
# The targets use a part of each crate; what is unused here is for clippy to find, with all of them.
coverage+=" -Awarnings"
dir=${CARGO_TARGET_DIR:-target}/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
# With --target the flags are not those of build scripts, which are no fuzz targets.
RUSTFLAGS="$coverage" cargo build --quiet --release --locked --manifest-path tests/fuzz/Cargo.toml \
  --target-dir "$dir" --target "$host"
test "$seconds" != 0 || exit 0
built=$dir/$host/release
targets=("$@")
if [ $# = 0 ]; then mapfile -t targets < <(sed -n 's/^path = "targets\/\(.*\)\.rs"$/\1/p' tests/fuzz/Cargo.toml); fi
mkdir -p "$dir/artifacts" "$dir/logs"
# One target, from its seeds; what it says is a line, and the end of its log where it fails.
fuzz() {
  local target=$1 corpus=$dir/corpus/$1 log=$dir/logs/$1.log status=0
  mkdir -p "$corpus"
  "$built/$target" "$corpus" "tests/fuzz/seeds/$target" -max_total_time="$seconds" -max_len=8192 -timeout=10 \
    -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1 -artifact_prefix="$dir/artifacts/$target-" \
    ${FUZZ_ARGS:-} >"$log" 2>&1 || status=1
  printf '%-10s %s runs\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  if [ $status != 0 ]; then printf '%s FAILED:\n%s\n' "$target" "$(tail -n 40 "$log")"; fi
  return $status
}
# One for each processor at a time.
export -f fuzz
export dir built seconds
failed=0
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I TARGET bash -c 'fuzz TARGET' || failed=1
rm -rf /dev/shm/lon-fuzz-* "${TMPDIR:-/tmp}"/lon-fuzz-*
exit $failed
