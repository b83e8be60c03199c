#!/usr/bin/env bash
# Makes what the rows `official-...` of lon-perf need: official_rate.sh OUT LIBRARY
#
# OUT gets official_rate and the Python environment `venv` with the official wheel. LIBRARY is the folder with
# liblon_qdl.so.
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "Usage: $0 OUT LIBRARY" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
"$here/build_loadgen.sh" "$out/loadgen"
"$here/../../qdl/capi/cpp/build.sh" "$out/official_rate" "$out/loadgen" "$2" "$here/official_rate.cpp"
[ -x "$out/venv/bin/python3" ] || python3 -m venv "$out/venv"
"$out/venv/bin/pip" install -q -c "$here/requirements.txt" mlcommons-loadgen
