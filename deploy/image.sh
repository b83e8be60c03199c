#!/usr/bin/env bash
# Builds the images with this machine's Rust toolchain and Docker engine, and tells compose whose results they are.
#
#   deploy/image.sh                       # lon:latest and lon-tools:latest
#   deploy/image.sh --binaries DIR        # with the programs in DIR instead of building them
#   deploy/image.sh --onnxruntime 1.31.1  # with ONNX Runtime beside the embedded engine
#   deploy/image.sh --tag test            # lon:test and lon-tools:test
#   deploy/image.sh --base IMAGE          # on a Debian 12 image; one is made with debootstrap when none is at hand
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tag=latest binaries='' onnxruntime='' base=''
while [ $# -gt 0 ]; do
  case $1 in
    --tag) tag=$2 ;;
    --binaries) binaries=$2 ;;
    --onnxruntime) onnxruntime=$2 ;;
    --base) base=$2 ;;
    *) echo "image.sh: unknown argument $1 (see the top of $0)" >&2; exit 2 ;;
  esac
  shift 2
done

if [ -z "$binaries" ]; then
  # Where this machine keeps its sources is nobody's business: panics name files by these prefixes.
  cargo_home=${CARGO_HOME:-$HOME/.cargo} source=$(cd "$here/.." && pwd)
  export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$source=/src"
  LON_REVISION=$(git -C "$source" rev-parse HEAD 2>/dev/null || echo unknown)
  export LON_REVISION
  binaries=${CARGO_TARGET_DIR:-$here/../target}/release
  (cd "$here/.." && cargo build --locked --release --package sut-node)
  (cd "$here/.." && cargo build --locked --release --package loadgen-node --no-default-features)
fi

if [ -z "$base" ]; then
  base=debian:bookworm-slim
  docker image inspect "$base" >/dev/null 2>&1 || docker pull --quiet "$base" 2>/dev/null || {
    base=lon-debian:bookworm
    docker image inspect "$base" >/dev/null 2>&1 || "$here/base.sh" "$base"
  }
fi

# The context is this folder, not the source tree with gigabytes of build products.
context=$(mktemp -d) log=$(mktemp)
trap 'rm -rf "$context" "$log"' EXIT
install -m 755 -t "$context" "$binaries/loadgen-node" "$binaries/sut-node"
strip --strip-debug "$context/loadgen-node" "$context/sut-node"
if [ -n "${cargo_home:-}" ] &&
  grep --quiet --text --fixed-strings -e "$cargo_home/" -e "$source/" "$context"/*-node; then
  echo "image.sh: the programs name folders of this machine" >&2
  exit 1
fi
cp "$here/../loadgen-node/qsl/digits/digits.onnx" "$here/image-files.sh" "$here"/{link,certificates}.sh "$context"
if [ -n "$onnxruntime" ]; then
  wheels=$here/onnxruntime-$onnxruntime.txt
  test -e "$wheels" || { echo "image.sh: no sums of wheels for ONNX Runtime $onnxruntime: write $wheels" >&2; exit 2; }
  python3 -m pip download --quiet --no-deps --require-hashes --dest "$context/wheel" --requirement "$wheels"
  python3 -m zipfile -e "$context"/wheel/*.whl "$context/wheel/unpacked"
  mv "$context"/wheel/unpacked/onnxruntime/capi/libonnxruntime.so.* "$context"
  rm -r "$context/wheel"
fi

version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml" | head -n 1)
revision=$(git -C "$here" rev-parse HEAD 2>/dev/null || echo unknown)
# The same arguments each time: with others, stages that both images have would be built twice, and one copy would stay
# behind.
arguments=(--build-arg DEBIAN_IMAGE="$base" --build-arg VERSION="$version" --build-arg REVISION="$revision")
build() {
  docker build --quiet --file "$here/Dockerfile" "${arguments[@]}" "$@" "$context" >/dev/null 2>"$log" ||
    { cat "$log" >&2; exit 1; }
}
build --target prebuilt --tag "lon:$tag"
build --target tools --tag "lon-tools:$tag"
docker image prune --force --filter label=lon.stage >/dev/null
docker images --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep -E "^lon(-tools)?:$tag "

# The results of `compose up` belong to who called this.
if [ ! -e "$here/.env" ]; then
  printf 'LON_UID=%s\nLON_GID=%s\n' "$(id -u)" "$(id -g)" >"$here/.env"
fi
