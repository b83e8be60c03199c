#!/usr/bin/env bash
# Builds the official LoadGen from a clone of mlcommons/inference, which stays as it is: a folder with
# libmlperf_loadgen.a and its headers in include/. Needs g++ and python3.
#
#   tests/peers/build_loadgen.sh CLONE OUT [FLAG...]
#
# Flags are handed to g++ after the usual ones, for example -fsanitize=address.
set -euo pipefail
test $# -ge 2 || { sed -n '2,8s/^#//p' "$0"; exit 2; }
source=$1/loadgen out=$2
shift 2
if [ ! -f "$source/loadgen.cc" ]; then
  echo "$source/loadgen.cc is missing: is this a clone of mlcommons/inference?" >&2
  exit 2
fi
mkdir -p "$out/include"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/." "$work"
cd "$work"
# Two sources are made from others: one with the version, one with mlperf.conf as text.
mkdir -p generated
python3 -W ignore version_generator.py generated/version_generated.cc . >version.log 2>&1 ||
  { cat version.log >&2; exit 1; }
python3 - <<'PY'
lines = open("mlperf.conf", encoding="utf-8").read().split("\n")
quoted = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
text = "\n".join(f'"{line}\\n"' for line in quoted)
open("mlperf_conf.h", "w", encoding="utf-8").write(f"const char* mlperf_conf =\n{text};\n")
PY
printf '%s\n' ./*.cc generated/*.cc |
  xargs -P "$(nproc)" -I{} sh -c 'file=$1; shift; g++ -std=c++14 -O2 -fPIC -I. "$@" -c "$file" -o "$file.o"' sh {} "$@"
rm -f "$out/libmlperf_loadgen.a"
ar rcs "$out/libmlperf_loadgen.a" ./*.o generated/*.o
cp ./*.h "$out/include"
