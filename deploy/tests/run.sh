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
have() {
  command -v "$1" >/dev/null ||
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes "$2" >/dev/null; }
}

have kubectl kubernetes-client
have objcopy binutils
have ip iproute2
have iperf3 iperf3
have pgrep procps
have slurmctld slurm-wlm
have munged munge
have podman podman
have catatonit catatonit

# A ResNet50's shape and pictures, where they are not made yet.
LON_TEST_MODELS=${LON_TEST_MODELS:-${CARGO_TARGET_DIR:-target}/models}
if [ ! -e "$LON_TEST_MODELS/images/val_map.txt" ]; then
  "$tools/bin/pip" install --quiet -r tests/models/requirements.txt
  "$tools/bin/python" tests/models/make.py "$LON_TEST_MODELS"
  "$tools/bin/python" tests/models/images.py "$LON_TEST_MODELS/images" "$LON_TEST_MODELS/resnet50.onnx"
fi
LON_TEST_MODELS=$(cd "$LON_TEST_MODELS" && pwd)
export LON_TEST_MODELS

export LON_TEST_COMPOSE=${LON_TEST_COMPOSE:-docker-compose}
base=lon-debian:bookworm made_base=no
remove_images() {
  docker image rm --force "lon:$LON_TEST_TAG" "lon-tools:$LON_TEST_TAG" >/dev/null 2>&1 || true
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
  deploy/image.sh --binaries "$LON_TEST_BINARIES" --tag "$LON_TEST_TAG" --base "$base" --onnxruntime 1.31.1
  test "$env" = kept || rm deploy/.env
else
  echo "no Docker engine answers here: tests that need one are skipped"
fi

"$tools/bin/python" -m unittest discover --verbose --start-directory deploy/tests
