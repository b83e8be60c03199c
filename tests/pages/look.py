#!/usr/bin/env python3
"""Opens HTML pages in a browser without a screen, and measures them there: wide and narrow, light and dark.

A page passes when the browser has nothing to say on its console and asks for no other file, nothing is wider than the
window, every text can be told from what is behind it (WCAG 2.1, 1.4.3: a contrast of 4.5, of large texts 3), and it has
less than 2 MiB. Charts, tables and whatever the keyboard reaches have names; what scrolls can be reached with it;
headings follow each other without a level left out. Each chart has a row of values and a place for the pointer for
every point, and draws every value inside its frame; both axes have marks, and no two of them say the same. No text is
what is written of a number that is none. With --pictures DIR the pages are also written as PNG and, as they are
printed, as PDF. A chart is as wide as its room, and its texts have nine pixels or more.
"""
import argparse
import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# A telephone and a desk.
WIDTHS = (412, 1280)
LARGEST_BYTES = 2 << 20
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]

# The page stands in a frame, so that its own policy (no script) stays in force while it is measured from outside.
FRAME = """<!doctype html><meta charset="utf-8">
<iframe id="page" src="PAGE" style="border:0;width:WIDTHpx;height:900px"></iframe><pre id="found"></pre><script>
const said = [];
function colour(text) { return text.match(/[\\d.]+/g).map(Number); }
function light([r, g, b]) {
  const part = value => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}
function behind(element, view) {
  for (let at = element; at; at = at.parentElement) {
    const found = colour(view.getComputedStyle(at).backgroundColor);
    if (found.length === 3 || found[3] > 0.99) return found;
  }
  return [255, 255, 255];
}
function contrast(one, other) {
  const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}
// By this the title of an axis differs from its marks.
const TITLE = "-0.5ex";
// Checks that a chart has something in it, at the right place.
function drawn(figure) {
  const svg = figure.querySelector("svg");
  const id = figure.closest("section")?.id;
  if (!svg) { said.push(`${id}: there is no picture`); return; }
  if (figure.scrollWidth > figure.clientWidth + 1) said.push(`${id}: it is wider than its room`);
  const scale = svg.getBoundingClientRect().width / Number(svg.getAttribute("width"));
  const sizes = [...svg.querySelectorAll("text")].map(text => scale * Number(text.getAttribute("font-size")));
  if (Math.min(...sizes) < 9) said.push(`${id}: a text of ${Math.min(...sizes).toFixed(1)} pixels`);
  const [width, height] = ["width", "height"].map(name => Number(svg.getAttribute(name)));
  const curves = [...svg.querySelectorAll('polyline[stroke-width="2"]')];
  const points = curves.flatMap(curve => (curve.getAttribute("points") ?? "").trim().split(/\s+/).filter(Boolean))
    .map(point => point.split(",").map(Number));
  const dots = [...svg.querySelectorAll("circle")].map(dot => ["cx", "cy"].map(name => Number(dot.getAttribute(name))));
  if (dots.length === 0 && points.length < 2) said.push(`${id}: nothing can be seen in it`);
  if ([...points, ...dots].some(([x, y]) => !(x >= 0 && x <= width && y >= 0 && y <= height)))
    said.push(`${id}: a point lies outside`);
  const marks = anchor => [...svg.querySelectorAll(`text[text-anchor="${anchor}"]`)]
    .filter(text => text.getAttribute("dy") !== TITLE).map(text => text.textContent.trim());
  for (const [axis, texts] of [["x", marks("middle")], ["y", marks("end")]]) {
    if (texts.length === 0) said.push(`${id}: the ${axis} axis has no marks`);
    if (new Set(texts).size < texts.length) said.push(`${id}: marks of the ${axis} axis say the same: ${texts}`);
  }
}
function measure(page, view) {
  const wide = page.documentElement.scrollWidth;
  if (wide > WIDTH) said.push(`it is ${wide} pixels wide in a window of WIDTH`);
  if (!page.title || !page.documentElement.lang) said.push("it has no title or no language");
  let texts = 0;
  for (const element of page.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest(".paper") || element.tagName.toLowerCase() === "title") continue;
    texts += 1;
    const style = view.getComputedStyle(element);
    const ink = element.closest("svg") ? style.fill : style.color;
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = contrast(colour(ink), behind(element, view));
    if (ratio < needed) said.push(`contrast ${ratio.toFixed(2)}: ${element.textContent.trim().slice(0, 40)}`);
  }
  const numbers = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let node = numbers.nextNode(); node; node = numbers.nextNode()) {
    const odd = node.data.match(/(^|[^\w.])(-?NaN|-?inf|-?Infinity|undefined)(?![\w])/);
    if (odd) said.push(`it says '${odd[2]}': ${node.data.trim().slice(0, 60)}`);
  }
  for (const element of page.querySelectorAll("[tabindex], summary, a, button, input, select")) {
    const named = element.getAttribute("aria-label") || (element.tabIndex >= 0 && element.matches("summary, a, button")
      && element.textContent.trim());
    if (!named) said.push(`what the keyboard reaches has no name: ${element.outerHTML.slice(0, 60)}`);
  }
  let level = 0;
  for (const heading of page.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) said.push(`the heading '${heading.textContent}' leaves out a level`);
    level = own;
  }
  for (const figure of page.querySelectorAll("figure")) {
    if (!figure.getAttribute("aria-label")) said.push("a chart has no name");
    drawn(figure);
    const section = figure.closest("section") ?? figure;
    const [zones, rows] = [figure.querySelectorAll(".zone").length, section.querySelectorAll("tbody tr").length];
    if (zones === 0 || zones !== rows) said.push(`${section.id}: ${zones} places and ${rows} rows`);
  }
  for (const table of page.querySelectorAll("table")) {
    const heads = [...table.querySelectorAll("thead th")];
    if (heads.length === 0) said.push("a table has no heads");
    if (heads.some(head => !head.textContent.trim())) said.push("a head of a table is empty");
    if (!table.querySelector("tbody tr")) said.push("a table has no rows");
  }
  for (const part of page.querySelectorAll(".scroll")) {
    if (part.tabIndex < 0) said.push("a part that scrolls cannot be reached with the keyboard");
  }
  return { said, texts, charts: page.querySelectorAll("figure").length };
}
addEventListener("load", () => {
  const frame = document.getElementById("page");
  let found;
  try { found = measure(frame.contentDocument, frame.contentWindow); } catch (error) { found = String(error); }
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>
"""


def browser(*args: str) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                   "--disable-background-networking", "--disable-component-update",
                   "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}",
                   "--enable-logging=stderr", *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def requests(log: Path) -> list[str]:
    """Returns the URLs that a page asked for, by the browser's log, but for files. Requests of the browser itself have
    no origin."""
    events = json.loads(log.read_text())["events"]
    asked = (event["params"] for event in events if "initiator" in event.get("params", {}))
    urls = {params["url"] for params in asked if params["initiator"] != "not an origin"}
    return sorted(url for url in urls if not url.startswith("file://"))


def look(page: Path, width: int, dark: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        frame, log = Path(folder, "frame.html"), Path(folder, "net.json")
        frame.write_text(FRAME.replace("PAGE", html.escape(page.as_uri())).replace("WIDTH", str(width)))
        made = browser(*(DARK if dark else []), "--allow-file-access-from-files", f"--log-net-log={log}",
                       f"--window-size={width + 40},1000", "--virtual-time-budget=20000", "--dump-dom", frame.as_uri())
        found = re.search(r'<pre id="found">(.*?)</pre>', made.stdout, re.DOTALL)
        if not found or not found[1]:
            return ["it did not load"]
        measured = json.loads(html.unescape(found[1]))
        if isinstance(measured, str):
            return [measured]
        said = measured["said"] + [f"console: {line}" for line in made.stderr.splitlines() if "CONSOLE" in line]
        said += [f"it asks for {url}" for url in requests(log)]
        if page.stat().st_size >= LARGEST_BYTES:
            said.append(f"it has {page.stat().st_size} bytes")
        if measured["texts"] < 20:
            said.append(f"it has only {measured['texts']} texts")
        print(f"{page.name} of {page.parent.name}, {width} wide, {'dark' if dark else 'light'}: "
              f"{measured['charts']} charts, {measured['texts']} texts, {len(said)} faults")
        return said


def draw(page: Path, folder: Path) -> None:
    name = f"{page.parent.name}-{page.stem}"
    for width in WIDTHS:
        for look_of, flags in (("light", []), ("dark", DARK)):
            browser(*flags, f"--window-size={width},2400", f"--screenshot={folder}/{name}-{width}-{look_of}.png",
                    page.as_uri())
    browser(f"--print-to-pdf={folder}/{name}.pdf", page.as_uri())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE.html")
    parser.add_argument("--pictures", type=Path, metavar="DIR")
    args = parser.parse_args()
    # A page with every fault must be found to have them, or nothing here can fail.
    with tempfile.TemporaryDirectory() as folder:
        bad = Path(folder, "bad.html")
        bad.write_text('<p style="color:#999">pale</p><div style="width:3000px">wide</div><figure></figure>'
                       '<section id=s><figure><b class=zone></b></figure></section><table></table>'
                       '<h1>one</h1><h3>three</h3><p>NaN ms</p><table><thead><tr><th></th></tr></thead></table>'
                       '<section id=t><figure aria-label=t><svg width=9 height=9>'
                       '<text text-anchor=end>1</text><text text-anchor=end>1</text>'
                       '<polyline stroke-width=2 points="1,1 NaN,1 "></polyline></svg></figure></section>'
                       '<section id=u><figure aria-label=u><svg width=9 height=9></svg></figure></section>'
                       '<div class=scroll></div><div tabindex=0></div><script>console.log("said")</script>'
                       '<img src="http://127.0.0.1:9/x.png">')
        found = "\n".join(look(bad, WIDTHS[0], False))
    for fault in ("contrast", "wide in a window", "no title", "no name", "places and", "no heads", "keyboard",
                  "console", "asks for http://127.0.0.1:9/x.png", "only", "leaves out a level", "says 'NaN'",
                  "keyboard reaches has no name", "head of a table is empty", "has no rows", "s: there is no picture",
                  "t: a point lies outside", "y axis say the same", "x axis has no marks", "u: nothing can be seen"):
        if fault not in found:
            sys.exit(f"a page with the fault '{fault}' passes:\n{found}")
    faults = []
    for page in (page.resolve() for page in args.pages):
        for width in WIDTHS:
            for dark in (False, True):
                faults += [f"{page}, {width} wide, {'dark' if dark else 'light'}: {said}"
                           for said in look(page, width, dark)]
        if args.pictures:
            args.pictures.mkdir(parents=True, exist_ok=True)
            draw(page, args.pictures.resolve())
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
