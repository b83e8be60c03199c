#!/usr/bin/env bash
# Makes what the rows `official-...` of lon-perf need: official_rate.sh OUT MLCOMMONS LIBRARY
#
# OUT gets official_rate and the Python environment `venv` with the official wheel. MLCOMMONS is a clone of
# mlcommons/inference, LIBRARY the folder with liblon_qdl.so.
set -euo pipefail
if [ $# -ne 3 ]; then
  echo "Usage: $0 OUT MLCOMMONS LIBRARY" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
"$here/build_loadgen.sh" "$2" "$out/loadgen"
"$here/../../qdl/capi/cpp/build.sh" "$out/official_rate" "$out/loadgen" "$3" "$here/official_rate.cpp"
[ -x "$out/venv/bin/python3" ] || python3 -m venv "$out/venv"
"$out/venv/bin/pip" install -q -c "$here/requirements.txt" mlcommons-loadgen
