#!/usr/bin/env bash
# Makes packages of what was built, for hosts that build nothing: a wheel (`pip install`) and a .deb. Both have the
# stripped programs. The wheel also has the Python package loadgen_network, the library and its headers; the .deb has
# the manual pages, completions and the systemd unit. What was stripped lies beside them, as FILE.debug, for backtraces
# with lines.
#
#   deploy/packages.sh [BINARIES] [OUT]     # target/release and target/packages unless given
#
# The .deb is made by dpkg-deb, which every Debian has: cargo-deb would have to be compiled first, for minutes, and
# makes a package of one crate, while this one has the programs of two, with pages and completions that they write.
#
# Needs cargo, python3 with venv, binutils and, for the .deb, dpkg-deb.
set -euo pipefail
cd "$(dirname "$0")/.."
binaries=$(cd "${1:-target/release}" && pwd)
out=${2:-target/packages}
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for file in loadgen-node sut-node liblon_qdl.so; do
  objcopy --only-keep-debug "$binaries/$file" "$out/$file.debug"
  objcopy --strip-all --add-gnu-debuglink="$out/$file.debug" "$binaries/$file" "$work/$file"
done

# The wheel: that of `pip install ./qdl/capi/python`, of what was built already.
tools=${CARGO_TARGET_DIR:-target}/package-tools
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
test -x "$tools/bin/python" || python3 -m venv "$tools"
LON_BUILT=$work "$tools/bin/pip" wheel --quiet --no-deps --wheel-dir "$out" ./qdl/capi/python

# The .deb.
arch=$(dpkg --print-architecture)
tree=$work/deb
install -D -m 755 -t "$tree/usr/bin" "$work/loadgen-node" "$work/sut-node"
install -D -m 644 LICENSE "$tree/usr/share/doc/lon/copyright"
install -D -m 644 deploy/systemd/sut-node.env "$tree/usr/share/doc/lon/examples/sut-node.env"
mkdir -p "$tree/usr/share/man/man1" "$tree/usr/share/bash-completion/completions" "$tree/usr/lib/systemd/system"
sed 's#/usr/local/bin/#/usr/bin/#' deploy/systemd/sut-node.service >"$tree/usr/lib/systemd/system/sut-node.service"
for program in loadgen-node sut-node; do
  "$binaries/$program" manual "$tree/usr/share/man/man1"
  "$binaries/$program" completions bash >"$tree/usr/share/bash-completion/completions/$program"
done
gzip -9n "$tree"/usr/share/man/man1/*.1
mkdir "$tree/DEBIAN"
# The newest symbol of the C library that the programs ask for.
libc=$(objdump -T "$work/loadgen-node" "$work/sut-node" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
size=$(du -sk "$tree" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@LIBC@/${libc#GLIBC_}/" -e "s/@SIZE@/$size/" \
  deploy/packages/control >"$tree/DEBIAN/control"
dpkg-deb --root-owner-group --build "$tree" "$out/lon_${version}_$arch.deb" >/dev/null
ls -l "$out"
