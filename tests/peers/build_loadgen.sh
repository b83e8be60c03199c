#!/usr/bin/env bash
# Builds the official LoadGen from its source package on PyPI: a folder with libmlperf_loadgen.a and its headers in
# include/. What is there already, of the same sources, flags and compiler, is not built again. Needs g++, and python3
# with pip.
#
#   tests/peers/build_loadgen.sh OUT [FLAG...]
#
# Flags are handed to g++ after the usual ones, for example -fsanitize=address. The version is the one in
# requirements.txt; loadgen_source.sh fetches the sources, once.
set -euo pipefail
test $# -ge 1 || { sed -n '2,9s/^#//p' "$0"; exit 2; }
case $1 in -*) echo "OUT comes first, not $1" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
source=$("$here/loadgen_source.sh")
want=$({ cat "$here/build_loadgen.sh" && g++ --version && printf '%s\n' "${source##*/}" "$@"; } | sha256sum)
if [ "$(cat "$out/built" 2>/dev/null)" = "$want" ]; then exit; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The package has the two sources that are made from others: one with the version, one with mlperf.conf as text.
cp -r "$source/." "$work"
cd "$work"
printf '%s\n' ./*.cc generated/*.cc |
  xargs -P "$(nproc)" -I{} sh -c 'file=$1; shift; g++ -std=c++14 -O2 -fPIC -I. "$@" -c "$file" -o "$file.o"' sh {} "$@"
ar rcs libmlperf_loadgen.a ./*.o generated/*.o
rm -rf "$out/built" "$out/include"
mkdir "$out/include"
cp libmlperf_loadgen.a "$out"
cp ./*.h "$out/include"
echo "$want" >"$out/built"
