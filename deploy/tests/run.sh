#!/usr/bin/env bash
# Tests everything in deploy: images built, clusters run, manifests held against their schemas. Installs what it needs
# from Debian's packages and PyPI; removes every container, network and image it made.
#
#   deploy/tests/run.sh [DIR]     # DIR has both programs and the library; target/debug, freshly built, unless given
#
# LON_TEST_COMPOSE names the compose command (docker-compose; "docker compose" works, too). Where no Docker engine
# answers, the tests that need one are skipped and say so.
set -euo pipefail
cd "$(dirname "$0")/../.."
binaries=${1:-}
if [ -z "$binaries" ]; then
  cargo build --locked --workspace
  binaries=${CARGO_TARGET_DIR:-target}/debug
fi
LON_TEST_BINARIES=$(cd "$binaries" && pwd)
export LON_TEST_BINARIES

tools=${CARGO_TARGET_DIR:-target}/deploy-tools
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
test -x "$tools/bin/python" || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet -r deploy/tests/requirements.txt
export PATH=$tools/bin:$PATH

# Installs a Debian package unless its program is there.
have() { command -v "$1" >/dev/null || { apt-get update -qq && apt-get install -qq --yes "$2" >/dev/null; }; }

have kubectl kubernetes-client
have objcopy binutils

export LON_TEST_COMPOSE=${LON_TEST_COMPOSE:-docker-compose}
base=lon-debian:bookworm made_base=no
remove_images() {
  docker image rm --force "lon:$LON_TEST_TAG" "lon-shaper:$LON_TEST_TAG" >/dev/null 2>&1 || true
  if [ "$made_base" = yes ]; then docker image rm --force "$base" >/dev/null; fi
  docker image prune --force --filter label=lon.stage >/dev/null
}
if docker info >/dev/null 2>&1; then
  have docker-compose docker-compose
  have debootstrap debootstrap
  export LON_TEST_TAG=test$$
  trap remove_images EXIT
  docker image inspect "$base" >/dev/null 2>&1 || { deploy/base.sh "$base" && made_base=yes; }
  env=$(test -e deploy/.env && echo kept || echo made)
  deploy/image.sh --binaries "$LON_TEST_BINARIES" --tag "$LON_TEST_TAG" --base "$base"
  test "$env" = kept || rm deploy/.env
else
  echo "no Docker engine answers here: tests that need one are skipped"
fi

"$tools/bin/python" -m unittest discover --verbose --start-directory deploy/tests
