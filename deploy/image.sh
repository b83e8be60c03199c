#!/usr/bin/env bash
# Builds the images with this machine's Docker engine, and tells compose whose results they are. The programs are those
# of target/release. Where they are missing, this machine's Rust toolchain builds them in target/image; nothing is
# written into target/release.
#
#   deploy/image.sh                       # lon:latest and lon-tools:latest
#   deploy/image.sh --build               # with programs of the sources as they are now, built in target/image
#   deploy/image.sh --binaries DIR        # with the programs in DIR
#   deploy/image.sh --onnxruntime 1.31.1  # with ONNX Runtime beside the embedded engine
#   deploy/image.sh --tag test            # lon:test and lon-tools:test
#   deploy/image.sh --base IMAGE          # on a Debian 12 image; one is made with debootstrap when none is at hand
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tag=latest binaries='' onnxruntime='' base='' builds=no
say() { echo "image.sh: $*" >&2; }
while [ $# -gt 0 ]; do
  case $1 in
    --build) builds=yes; shift; continue ;;
    --tag | --binaries | --onnxruntime | --base)
      [ $# -ge 2 ] || { say "$1 needs a value (see the top of $0)"; exit 2; } ;;
  esac
  case $1 in
    --tag) tag=$2 ;;
    --binaries) binaries=$2 ;;
    --onnxruntime) onnxruntime=$2 ;;
    --base) base=$2 ;;
    *) say "unknown argument $1 (see the top of $0)"; exit 2 ;;
  esac
  shift 2
done

# Checks for missing programs come before all steps that take minutes.
docker version >/dev/null 2>&1 || { say "no Docker engine answers ('docker version' says why)"; exit 2; }
if [ -z "$base" ]; then
  base=debian:bookworm-slim
  if ! docker image inspect "$base" >/dev/null 2>&1; then
    say "1/4 base image: pulls $base"
    docker pull --quiet "$base" >/dev/null 2>&1 || {
      base=lon-debian:bookworm
      docker image inspect "$base" >/dev/null 2>&1 || {
        command -v debootstrap >/dev/null || {
          say "no registry gives debian:bookworm-slim, and debootstrap, which makes such a base, is missing:" \
            "apt-get install debootstrap, or name a Debian 12 image with --base"
          exit 2
        }
        say "1/4 base image: no registry gives one, so debootstrap makes $base, in some minutes"
        "$here/base.sh" "$base" >/dev/null
      }
    }
  fi
fi

source=$(cd "$here/.." && pwd)
usual=${CARGO_TARGET_DIR:-$source/target}
if [ -z "$binaries" ] && [ $builds = no ] && [ -x "$usual/release/loadgen-node" ] && [ -x "$usual/release/sut-node" ]; then
  binaries=$usual/release
  say "2/4 programs: those of $binaries, built $(date -r "$binaries/loadgen-node" '+%F %T') (--build builds others)"
elif [ -n "$binaries" ]; then
  say "2/4 programs: those of $binaries"
else
  say "2/4 programs: builds them in $usual/image, in six to eleven minutes of processor time for the first time"
  # The folders of this machine stay out of the programs: panics name files by these prefixes.
  cargo_home=${CARGO_HOME:-$HOME/.cargo}
  export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$source=/src"
  LON_REVISION=$(git -C "$source" rev-parse HEAD 2>/dev/null || echo unknown)
  export LON_REVISION
  binaries=$usual/image/release
  export CARGO_TARGET_DIR=$usual/image
  (cd "$source" && cargo build --locked --release --package sut-node)
  (cd "$source" && cargo build --locked --release --package loadgen-node --no-default-features)
fi

# The context is this folder, not the source tree with gigabytes of build products.
context=$(mktemp -d) log=$(mktemp)
trap 'rm -rf "$context" "$log"' EXIT
install -m 755 -t "$context" "$binaries/loadgen-node" "$binaries/sut-node"
strip --strip-debug "$context/loadgen-node" "$context/sut-node"
if [ -n "${cargo_home:-}" ] &&
  grep --quiet --text --fixed-strings -e "$cargo_home/" -e "$source/" "$context"/*-node; then
  say "the programs name folders of this machine"
  exit 1
fi
cp "$here/../loadgen-node/qsl/digits/digits.onnx" "$here/image-files.sh" "$here"/{link,certificates}.sh "$context"
if [ -n "$onnxruntime" ]; then
  wheels=$here/onnxruntime-$onnxruntime.txt
  test -e "$wheels" || { say "no sums of wheels for ONNX Runtime $onnxruntime: write $wheels"; exit 2; }
  say "3/4 ONNX Runtime: takes the wheel of $onnxruntime"
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
say "4/4 images: lon:$tag and lon-tools:$tag"
build --target prebuilt --tag "lon:$tag"
build --target tools --tag "lon-tools:$tag"
docker image prune --force --filter label=lon.stage >/dev/null
docker images --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep -E "^lon(-tools)?:$tag "

# The results of `compose up` belong to who called this.
if [ ! -e "$here/.env" ]; then
  printf 'LON_UID=%s\nLON_GID=%s\n' "$(id -u)" "$(id -g)" >"$here/.env"
fi
