#!/usr/bin/env python3
"""Links of a book in HTML: each leads to a file of the book, and each anchor to an element.

    tests/pages/links.py FOLDER

Links to other hosts are left out. Exit code 1 when a link leads nowhere.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages that mdBook makes for itself.
OWN = ["print.html", "404.html", "toc.html"]


class Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id") or given.get("name"))
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


def fault(path, link, pages, book):
    """The reason why a link of the page at `path` leads nowhere, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir() and (target / "index.html").is_file():
        target /= "index.html"
    if not target.exists() or not target.is_relative_to(book):
        return "no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "no such anchor"
    return None


def main():
    book = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in book.rglob("*.html") if path.name not in OWN}
    faults = [
        f"{path.relative_to(book)}: {link}: {reason}"
        for path, page in sorted(pages.items())
        for link in page.links
        if (reason := fault(path, link, pages, book))
    ]
    for line in faults:
        print(line)
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(faults)} lead nowhere")
    sys.exit(1 if faults or not pages else 0)


if __name__ == "__main__":
    main()
