#!/usr/bin/env bash
# Installs inference servers that nobody of ours wrote, from PyPI, for tests against them: Triton and llama.cpp. Needs
# python3.11 with venv; takes some twenty seconds and 400 MB.
#
#   tests/servers/install.sh [DIR]     # target/servers unless given; prints it when all is there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-${CARGO_TARGET_DIR:-$here/../../target}/servers}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
venv=$dir/venv
want=$(cat "$here/install.sh" "$here/requirements.txt" | sha256sum)
if [ "$(cat "$dir/installed" 2>/dev/null)" != "$want" ]; then
  rm -rf "$venv" "$dir/numpy2" "$dir/installed"
  python3 -m venv "$venv"
  # Without what it depends on: only the server inside it is used, which depends on nothing of that.
  "$venv/bin/pip" install --quiet --no-deps nvidia-pytriton==0.7.0
  # pip says that the dependencies are missing, which is as it should be.
  "$venv/bin/pip" install --quiet -r "$here/requirements.txt" 2> >(grep -v -e "dependency resolver" -e nvidia-pytriton >&2)
  # For the test of a server that answers nothing.
  "$venv/bin/pip" install --quiet --no-deps --target "$dir/numpy2" numpy==2.2.6
  python=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  triton=$venv/lib/python$python/site-packages/pytriton/tritonserver
  # It is looked for where it does not lie.
  cp "$triton/python_backend_stubs/$python/triton_python_backend_stub" "$triton/backends/python/"
  echo "$want" >"$dir/installed"
fi
echo "$dir"
