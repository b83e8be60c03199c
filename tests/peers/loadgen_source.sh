#!/usr/bin/env bash
# Fetches the sources of the official LoadGen from PyPI, the package of the version in requirements.txt, and prints
# their folder. What is there already is not fetched again. Needs python3 with pip.
#
#   tests/peers/loadgen_source.sh [DIR]     # target/loadgen-source unless given
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
package=$(grep '^mlcommons-loadgen==' "$here/requirements.txt")
dir=${1:-${CARGO_TARGET_DIR:-$here/../../target}/loadgen-source}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
source=$dir/${package#*==}
if [ ! -d "$source" ]; then
  work=$(mktemp -d "$dir/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # pip asks the package for its metadata, for which it fetches what would build the wheel; no wheel is built.
  if ! python3 -m pip download --quiet --no-deps --no-binary mlcommons-loadgen --dest "$work" "$package" \
    >"$work/pip.log" 2>&1; then
    cat "$work/pip.log" >&2
    echo "the source package $package cannot be fetched from PyPI: pip says why above" >&2
    exit 1
  fi
  mkdir "$work/source"
  tar -xzf "$work"/mlcommons*loadgen-*.tar.gz -C "$work/source" --strip-components 1
  # The folder has its name when it is whole. Another call may have been faster.
  mv -T "$work/source" "$source" 2>"$work/mv.log" || test -d "$source" || { cat "$work/mv.log" >&2; exit 1; }
fi
echo "$source"
