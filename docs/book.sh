#!/usr/bin/env bash
# Makes a book of all pages, with mdBook (`cargo install mdbook`): HTML in FOLDER, target/book unless given.
#
#   docs/book.sh [FOLDER]
#
# Pages of docs/ link to pages and files elsewhere in the repository. So the book is made of a copy of all tracked files,
# in which docs/SUMMARY.md lies at the top.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-target/book}")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$copy"
cp docs/book.toml "$copy"
sed -E -e 's|\]\(|](docs/|' -e 's|\]\(docs/\.\./|](|' docs/SUMMARY.md >"$copy/SUMMARY.md"
rm -rf "$out"
"${MDBOOK:-mdbook}" build "$copy" --dest-dir "$out"
echo "$out/index.html"
