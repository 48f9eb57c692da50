#!/usr/bin/env python3
"""Looks at every page of the site in a headless browser: look.py FOLDER BROWSER [SHOTS]

Each page is opened as a file, on a light or a dark background in turn, and shown at the width of a telephone and of a
desk.  Prints TAP: no page is wider than the screen, no request leaves the folder, no console error, no link and no picture is broken,
no two elements of a page share an id, each formula is drawn, with its fonts, and the search finds words.  SHOTS is a folder
for screenshots.
"""
import os
import sys
import urllib.parse

from playwright.sync_api import sync_playwright

WIDTHS = {"phone": 390, "desk": 1280}
SCHEMES = {"light": "default", "dark": "slate"}
FACTS = """() => ({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    out: [...document.querySelectorAll('article *')].filter(e => {
        let box = e.getBoundingClientRect();
        if (box.right <= innerWidth + 1 || box.width === 0) return false;
        for (let p = e; p; p = p.parentElement) if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) return false;
        return true;
    }).map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40)).slice(0, 3),
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    blank: [...document.images].filter(i => i.offsetParent && (!i.complete || !i.naturalWidth)).map(i => i.src),
    scheme: document.body.dataset.mdColorScheme,
    formulas: document.querySelectorAll('.arithmatex').length,
    undrawn: [...document.querySelectorAll('.arithmatex')].filter(e => {
        let drawn = e.querySelector('.katex-html');
        return !drawn || drawn.getBoundingClientRect().width === 0 || e.querySelector('.katex-error');
    }).map(e => e.textContent.trim().slice(0, 40)),
    fonts: !document.querySelector('.arithmatex') || [...document.fonts].some(f => f.family === 'KaTeX_Main' && f.status === 'loaded'),
})"""


def open_page(browser, path, scheme, faults):
    """A page that has settled; what goes wrong on the way is added to the faults."""
    page = browser.new_page(viewport={"width": WIDTHS["desk"], "height": 900}, color_scheme=scheme)
    page.on("console", lambda m: m.type == "error" and faults["errors"].append(f"{path}: {m.text}"))
    page.on("pageerror", lambda e: faults["errors"].append(f"{path}: {e}"))
    page.on("requestfailed", lambda r: faults["errors"].append(f"{path}: {r.url} did not load"))
    page.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:", "about:"))
            or faults["requests"].append(f"{path}: {r.url}"))
    page.goto("file://" + path)
    page.wait_for_load_state("load")
    page.evaluate("document.fonts.ready.then(() => 0)")
    return page


def settled_facts(page):
    """What a page looks like at its present width; a page whose layout is still under way gets two seconds."""
    facts = page.evaluate(FACTS)
    for _ in range(8):
        if facts["wide"] <= 0:
            break
        page.wait_for_timeout(250)
        facts = page.evaluate(FACTS)
    return facts


def check_page(where, scheme, facts, faults):
    """facts: of a page at one width"""
    if facts["wide"] > 0:
        faults["wide"].append(f"{where}: {facts['wide']} pixels too wide")
    faults["wide"] += [f"{where}: {text}" for text in facts["out"]]
    faults["links"] += [f"{where}: {image}" for image in facts["blank"]]
    if facts["scheme"] != SCHEMES[scheme]:
        faults["errors"].append(f"{where}: background {facts['scheme']}, not {SCHEMES[scheme]}")
    faults["formulas"] += [f"{where}: {tex}" for tex in facts["undrawn"]]
    if not facts["fonts"]:
        faults["formulas"].append(f"{where}: the fonts of formulas are not there")
    faults["ids"] += [f"{where}: {i}" for i in sorted(set(facts["ids"])) if facts["ids"].count(i) > 1]


def check_links(folder, links, ids, faults):
    """links: {page: addresses}, ids: {page: anchors}"""
    for path, addresses in links.items():
        for address in sorted(set(addresses)):
            url = urllib.parse.urlparse(address)
            target = urllib.parse.unquote(url.path)
            where = f"{os.path.relpath(path, folder)}: {address}"
            if url.scheme != "file":
                continue
            if not os.path.isfile(target):
                faults["links"].append(f"{where}: no such file")
            elif url.fragment and target in ids and urllib.parse.unquote(url.fragment) not in ids[target]:
                faults["links"].append(f"{where}: no such heading")


def check_search(browser, folder, faults):
    page = open_page(browser, os.path.join(folder, "index.html"), "light", faults)
    page.click("input[name=query]", force=True)
    page.keyboard.type("neighbour lists")
    try:
        page.wait_for_selector(".md-search-result__item", state="attached", timeout=20000)
    except Exception as e:  # pylint: disable=broad-except
        faults["search"].append(str(e).split("\n", maxsplit=1)[0])
    page.close()


def look(folder, program, shots):
    faults = {kind: [] for kind in ("errors", "requests", "wide", "links", "ids", "formulas", "search")}
    pages = sorted(os.path.join(base, f) for base, _, files in os.walk(folder) for f in files
                   if f.endswith(".html") and f != "404.html")
    links, ids, formulas = {}, {}, 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for number, path in enumerate(pages):
            scheme, short = list(SCHEMES)[number % 2], os.path.relpath(path, folder)
            page = open_page(browser, path, scheme, faults)
            for name, width in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": 900})
                facts = settled_facts(page)
                check_page(f"{short} ({name})", scheme, facts, faults)
                links[path], ids[path] = facts["links"], set(facts["ids"])
                if shots:
                    page.screenshot(path=os.path.join(shots, f"{short[:-5].replace('/', '-')}-{name}.png"), full_page=True)
            formulas += facts["formulas"]
            page.close()
        if not formulas:
            faults["formulas"].append("no page has a formula")
        check_links(folder, links, ids, faults)
        check_search(browser, folder, faults)
        browser.close()
    return len(pages), faults


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n", maxsplit=1)[0])
    folder, shots = os.path.abspath(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else None
    if shots:
        os.makedirs(shots, exist_ok=True)
    count, faults = look(folder, sys.argv[2], shots)
    titles = {"errors": "no console error, and nothing that does not load", "requests": "no request leaves the site",
              "wide": "no page is wider than a screen of 390 or 1,280 pixels", "links": "no link or picture is broken",
              "ids": "each id is there once", "formulas": "each formula is drawn", "search": "the search works in files"}
    for kind, title in titles.items():
        print("not " * bool(faults[kind]) + f"ok - {count} pages: {title}")
        for line in faults[kind][:20]:
            print("#   " + line)
    sys.exit(any(faults.values()))


if __name__ == "__main__":
    main()
