#!/usr/bin/env python3
"""Prepares the site: pages.py OUTPUT.  `make docs` runs it, then mkdocs.

OUTPUT/pages gets README.md, CHANGELOG.md and docs/*.md, which stay the one source, and the reference that reference.py
makes from the headers.  OUTPUT/mkdocs.yml gets the navigation.  On the way
  - links to pages of the repository become links of the site, links to headers become links to their reference, links
    to other files become text;
  - the words `complete` and `prints`, by which the tests find programs, leave the code blocks;
  - lists get the blank line before them that this Markdown needs;
  - figures are shown in the form for a light or a dark page;
  - formulas between lines of $$ stay as they are; the style sheet that draws them gets its fonts inside.
  - docs/notebooks/NAME.ipynb becomes notebook-NAME.md, with the outputs that it stores.
"""
import base64
import glob
import os
import posixpath
import re
import shutil
import sys

import notebooks
import reference

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FIGURES = ("svg", "png", "webp", "mp4")
HOME = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}

# Pages by reader, behind index.md.  A page that is not there is left out; a page that no section names comes last, in a section "More".
NAVIGATION = [
    ("Get started", ["install.md", "first-force.md", "star-cluster.md", "galaxy.md", "notebook-precision.md",
                     "notebook-tree.md"]),
    ("How to", ["link.md", "choose-precision.md", "choose-tree.md", "integrate.md", "several-gpus.md", "mpi.md", "tune.md",
                "report.md", "amuse.md", "nbody6.md", "fdps.md", "starsmasher.md", "snapshots.md", "units.md",
                "troubles.md"]),
    ("Reference", ["conventions.md", "settings.md", "grape6.md", "grape5.md", "other-calls.md", "python.md", "tool.md",
                   "programs.md", "clients.md", "versions.md", "reference/index.md"] +
     [f"reference/{h[:-2]}.md" for h in reference.HEADERS] + ["reference/python.md", "changelog.md"]),
    ("Explanation", ["numerics.md", "bits.md", "tree.md", "stepper.md", "ranks.md", "hermite.md", "models.md", "reliability.md"]),
    ("Performance", ["performance.md", "scaling.md", "gothic.md", "tree-errors.md", "measurements.md",
                     "measured-clients.md"]),
    ("Development", ["building.md", "platforms.md", "design.md", "internals.md", "contributing.md", "decisions.md"]),
]

def sources():
    """{path in the repository: path in the site} of all pages."""
    pages = {path: name for path, name in HOME.items() if os.path.exists(os.path.join(TOP, path))}
    for path in sorted(glob.glob(os.path.join(TOP, "docs", "*.md"))):
        name = os.path.basename(path)
        pages["docs/" + name] = name
    for path in sorted(glob.glob(os.path.join(TOP, "docs", "notebooks", "*.ipynb"))):
        name = os.path.basename(path)
        pages["docs/notebooks/" + name] = f"notebook-{os.path.splitext(name)[0]}.md"
    return pages


def link_target(page, link, pages):
    """The link in the site, or None if it leads to a file that the site does not have."""
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return link
    file, mark, anchor = link.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), file))
    if path in pages:
        return pages[path] + mark + anchor
    if path.startswith("include/") and path[len("include/"):] in reference.HEADERS:
        return "reference/" + path[len("include/"):-2] + ".md" + mark + anchor
    if re.match(r"docs/(figures|notebooks)/", path) and os.path.exists(os.path.join(TOP, path)):
        return path[len("docs/"):] + mark + anchor
    return None


def change_links(text, page, pages):
    """Text outside of code, with its links and figures for the site.  The words of a link may hold a line end."""
    def figure(match):
        words, link = match.groups()
        target = link_target(page, link, pages)
        if not target:
            return match.group()  # of a notebook; mkdocs looks whether it is there
        folder, name = posixpath.split(target)
        dark = posixpath.join(folder, "dark", name)
        if not os.path.exists(os.path.join(TOP, "docs", dark)):
            return f"![{words}]({target})"
        return f"![{words}]({target}#light)![{words}]({dark}#dark)"

    def link(match):
        words, where = match.groups()
        target = link_target(page, where, pages)
        return f"[{words}]({target})" if target else f"{words} (`{re.sub('^(../)+', '', where)}`)"

    def both(match):
        return figure(match) if match.group().startswith("!") else link(match)

    either = r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]*)\)"
    return re.sub(either, both, text)


def change_line(line, before):
    """A line of text with the blank line that lists and tables need behind a paragraph."""
    item = re.compile(r"(?:[-*]|\d+\.) ")
    starts_list = item.match(line) and not item.match(before) and not before.startswith("  ")
    starts_table = line.startswith("|") and not before.startswith("|")
    return "\n" + line if before.strip() and (starts_list or starts_table) else line


def change(text, page, pages):
    """A page of the repository as a page of the site."""
    out, plain, before = [], [], ""

    def end_of_text():
        if plain:
            out.append(change_links("\n".join(plain), page, pages))
            plain.clear()

    fence = None  # what ends the block of code or the formula
    for line in text.split("\n"):
        mark = "```" if line.startswith("```") else "$$" if line.rstrip() == "$$" else None
        if mark or fence or line.startswith("    "):
            end_of_text()
            if mark == "$$" and fence is None and before.strip():
                out.append("")  # a formula behind a line of its paragraph
            fence = mark if fence is None else None if mark == fence else fence
            out.append(re.sub(r"^(```\w*) .*", r"\1", line))
        else:
            if before.rstrip() == "$$" and line.strip():
                plain.append("")
            plain.append(change_line(line, before))
        before = line
    end_of_text()
    return "\n".join(out)


def with_fonts(sheet):
    """The style sheet of formulas with its fonts inside, because some browsers refuse fonts to a page that is opened as a file.
    Faces whose font is not there are left out."""
    def face(match):
        path = os.path.join(os.path.dirname(sheet), re.search(r"url\(([^)]*\.woff2)\)", match.group()).group(1))
        if not os.path.exists(path):
            return ""
        with open(path, "rb") as font:
            data = base64.b64encode(font.read()).decode()
        return re.sub(r"src:[^;]*", f"src:url(data:font/woff2;base64,{data}) format('woff2')", match.group())

    with open(sheet, encoding="utf-8") as file:
        return re.sub(r"@font-face\{[^}]*\}", face, file.read())


def read(path, folder):
    """A page of the repository; the pictures of a notebook go to the folder."""
    if path.endswith(".ipynb"):
        return notebooks.convert(os.path.join(TOP, path), folder)
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def navigation(folder):
    """Lines of mkdocs.yml for the pages that are in the folder."""
    there = sorted(os.path.relpath(p, folder).replace(os.sep, "/")
                   for p in glob.glob(os.path.join(folder, "**", "*.md"), recursive=True))
    named = {"index.md"}.union(*(some for _, some in NAVIGATION))
    lines = ["nav:", "  - index.md"]
    for section, some in NAVIGATION + [("More", [page for page in there if page not in named])]:
        some = [page for page in some if page in there]
        lines += [f"  - {section}:"] * bool(some) + [f"    - {page}" for page in some]
    return "\n".join(lines) + "\n"


def main(output):
    folder, pages = os.path.join(output, "pages"), sources()
    shutil.rmtree(folder, ignore_errors=True)
    for path, name in pages.items():
        text = change(read(path, folder), path, pages)
        if path.endswith(".ipynb"):
            text += f"\nThis page is a notebook: [{os.path.basename(path)}]({path[len('docs/'):]}).\n"
        write(os.path.join(folder, name), text)
    figures = os.path.join(TOP, "docs", "figures")
    files = [path for kind in FIGURES for path in glob.glob(f"{figures}/**/*.{kind}", recursive=True)]
    for path in files + glob.glob(os.path.join(TOP, "docs", "notebooks", "*.ipynb")):
        copy = os.path.join(folder, os.path.relpath(path, os.path.join(TOP, "docs")))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(path, copy)
    shutil.copytree(os.path.join(HERE, "assets"), os.path.join(folder, "assets"), ignore=shutil.ignore_patterns("fonts"))
    sheet = os.path.join("assets", "katex", "katex.min.css")
    write(os.path.join(folder, sheet), with_fonts(os.path.join(HERE, sheet)))
    reference.generate(os.path.join(folder, "reference"))
    settings = os.path.relpath(os.path.join(HERE, "mkdocs.yml"), output)
    write(os.path.join(output, "mkdocs.yml"),
          f"INHERIT: {settings}\ndocs_dir: pages\nsite_dir: html\n" + navigation(folder))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: pages.py OUTPUT")
    main(sys.argv[1])
