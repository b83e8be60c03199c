#!/usr/bin/env bash
# Makes a Debian base image with debootstrap, for builds where no registry can be reached: what DEBIAN_IMAGE is to name.
#
#   deploy/base.sh [NAME]          # lon-debian:bookworm unless given; root, debootstrap and a Debian mirror needed
set -euo pipefail
image=${1:-lon-debian:bookworm}
release=bookworm

command -v debootstrap >/dev/null || { echo "base.sh: apt-get install debootstrap" >&2; exit 2; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# libstdc++6 is what ONNX Runtime is linked with; iproute2 and openssl are for links and certificates in compose.
debootstrap --variant=minbase --include=iproute2,libstdc++6,openssl "$release" "$root" >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log" >&2; exit 1; }
rm -rf "$root.log" "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,info,locale,man}
tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$image" >/dev/null
echo "$image"
