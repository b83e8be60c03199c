#!/usr/bin/env bash
# Installs inference servers that nobody of ours wrote, from PyPI, for tests against them: Triton, llama.cpp, mlserver
# and kserve. Needs python3.11 with venv; takes about a minute and 1.2 GB.
#
#   tests/servers/install.sh [DIR]     # target/servers unless given; prints it when all is there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${CARGO_TARGET_DIR:-$here/../../target}/servers}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
venv=$dir/venv

# A server with a venv of its own, by the name of its package. Only what it imports is compiled.
own() {
  python3 -m venv "$dir/$1"
  "$dir/$1/bin/pip" install --quiet --no-compile --no-deps -r "$here/requirements-$1.txt"
  "$dir/$1/bin/python" -c "import $1, onnxruntime" >/dev/null
}

want=$(cat "$here/install.sh" "$here"/requirements*.txt | sha256sum)
if [ "$(cat "$dir/installed" 2>/dev/null)" != "$want" ]; then
  rm -rf "$venv" "$dir/numpy2" "$dir/mlserver" "$dir/kserve" "$dir/installed"
  trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
  own mlserver &
  mlserver=$!
  own kserve &
  kserve=$!
  python3 -m venv "$venv"
  # Without what it depends on: only the server inside it is used, which depends on nothing of that.
  "$venv/bin/pip" install --quiet --no-deps nvidia-pytriton==0.7.0
  # pip says that the dependencies are missing, which is as it should be.
  "$venv/bin/pip" install --quiet -r "$here/requirements.txt" \
    2> >(grep -v -e "dependency resolver" -e nvidia-pytriton >&2)
  # For the test of a server that answers nothing.
  "$venv/bin/pip" install --quiet --no-deps --target "$dir/numpy2" numpy==2.2.6
  python=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  triton=$venv/lib/python$python/site-packages/pytriton/tritonserver
  # It is looked for where it does not lie.
  cp "$triton/python_backend_stubs/$python/triton_python_backend_stub" "$triton/backends/python/"
  wait "$mlserver"
  wait "$kserve"
  echo "$want" >"$dir/installed"
fi
echo "$dir"
