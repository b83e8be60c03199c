#!/bin/sh
# Lays out the image's files: the programs, the libraries they are linked with, and what the C library wants to find.
# Runs in a stage of the Dockerfile, on the system that the libraries are taken from.
#
#   image-files.sh IN OUT
set -eu
in=$1
out=$2

install -D -m 755 -t "$out/usr/local/bin" "$in/loadgen-node" "$in/sut-node"
install -D -m 644 -t "$out/usr/local/share/lon" "$in/digits.onnx"
# Beside the programs is where they look for ONNX Runtime.
for library in "$in"/libonnxruntime.so*; do
  if [ -f "$library" ]; then install -m 644 -t "$out/usr/local/bin" "$library"; fi
done

# Every file that the loader would open, under the path where it looks for it.
ldd "$out"/usr/local/bin/* >/tmp/linked 2>&1 || true
if grep 'not found' /tmp/linked; then
  echo "image-files.sh: linked against another system's libraries: build on the release that DEBIAN_IMAGE has" >&2
  exit 1
fi
grep -o '/[^ ]*\.so[^ ]*' /tmp/linked | grep -v "^$out" | sort -u | while read -r library; do
  mkdir -p "$out$(dirname "$library")"
  cp -L "$library" "$out$library"
done

mkdir -p "$out/etc" "$out/results"
# Names are looked up in files, then DNS: what --sut dns:NAME:PORT and --sut NAME:PORT go by.
printf 'hosts: files dns\n' >"$out/etc/nsswitch.conf"
printf 'root:x:0:0::/:\nlon:x:65532:65532::/:\n' >"$out/etc/passwd"
printf 'root:x:0:\nlon:x:65532:\n' >"$out/etc/group"
mkdir -m 1777 "$out/tmp"
chmod 1777 "$out/results"
