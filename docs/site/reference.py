#!/usr/bin/env python3
"""Writes the reference pages of the site from the headers in include/.

    reference.py OUTPUT      one page per header in the folder OUTPUT, index.md, and python.md

The comments of the headers are the documentation; this script adds anchors and links.  It relies on the layout that
clang-format gives the headers: a declaration begins in the first column, its comment stands above it without a blank
line between, and a comment of a member stands behind the member.
"""
import ast
import html
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = ["sapporo.h", "sapporo_types.h", "sapporo_tree.h", "sapporo_stepper.h", "sapporo_g6.h", "sapporo_g5.h",
           "sapporo_nbody6.h", "sapporo_hermite6.h", "sapporo_sphgrav.h", "sapporo_cunbody1.h", "sapporo_harp3.h",
           "sapporo_g5c.h",
           "sapporo_mpi.h", "sapporo_experiments.h"]
# The pages that explain the calls of a header.
GUIDES = {"sapporo.h": "conventions", "sapporo_types.h": "conventions", "sapporo_tree.h": "tree",
          "sapporo_stepper.h": "stepper", "sapporo_g6.h": "grape6", "sapporo_g5.h": "grape5",
          "sapporo_nbody6.h": "other-calls", "sapporo_hermite6.h": "other-calls", "sapporo_sphgrav.h": "other-calls",
          "sapporo_cunbody1.h": "other-calls", "sapporo_harp3.h": "other-calls", "sapporo_g5c.h": "grape5",
          "sapporo_mpi.h": "mpi"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Entry:
    """Declarations that stand together below one comment."""

    def __init__(self, comment, condition):
        self.comment, self.condition, self.declarations = comment, condition, []


class Declaration:
    def __init__(self, kind, name, text, remark="", members=()):
        self.kind, self.name, self.text, self.remark, self.members = kind, name, text, remark, list(members)


# ---- reading ---------------------------------------------------------------------------------------------------


def comment_text(raw):
    """The text of a comment without the marks of C, with its paragraphs and indents."""
    inner = raw.strip()[2:-2]
    lines = [re.sub(r"^ ?\* ?", "", line.rstrip()) if n else line.strip() for n, line in enumerate(inner.split("\n"))]
    return "\n".join(lines).strip("\n").strip()


def take(lines, at, ends):
    """The lines from `at` on until one for which `ends` holds, and the place behind them."""
    taken = [lines[at]]
    while not ends("\n".join(taken)):
        at += 1
        taken.append(lines[at])
    return "\n".join(taken), at + 1


def complete(text):
    """Whether a declaration has ended: a semicolon outside braces and comments, and no comment left open."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return "/*" not in bare and bare.count("{") == bare.count("}") and bare.rstrip().endswith(";")


def split_members(body, separator):
    """(declaration, comment) of each member; a comment that stands alone has an empty declaration."""
    members, rest = [], body.strip()
    while rest:
        comment = re.match(r"/\*.*?\*/", rest, re.S)
        if comment:
            text = " ".join(comment_text(comment.group()).split())
            same_line = members and members[-1][0] and not members[-1][1] and not members[-1][2]
            if same_line:
                members[-1][1] = text
            else:
                members.append(["", text, True])
            rest = rest[comment.end():]
        else:
            end = re.search(separator + r"|(?=/\*)|$", rest)
            text = " ".join(rest[:end.start()].split())
            if text:
                members.append([text, "", False])
            rest = rest[max(end.end(), 1):]
        if rest.startswith("\n") and members:
            members[-1][2] = True  # a comment on a later line belongs to no member before it
        rest = rest.lstrip()
    return [(declaration, comment) for declaration, comment, _ in members]


def declared(text):
    """The declaration that a text of C makes."""
    tail = re.search(r";\s*/\*(.*?)\*/\s*$", text, re.S)
    remark = " ".join(comment_text("/*" + tail.group(1) + "*/").split()) if tail else ""
    code = text[:tail.start() + 1] if tail else text
    block = re.match(r"(typedef )?(struct|enum) ?(\w*) ?\{(.*)\}\s*(\w*);\s*$", code, re.S)
    if block:
        kind, body = block.group(2), block.group(4)
        name = block.group(5) or block.group(3)
        members = split_members(body, ";" if kind == "struct" else ",")
        if not name:
            name = next(NAME.match(d).group() for d, _ in members if d)
        return Declaration(kind, name, code, remark, members)
    if code.startswith("SAPPORO_API"):
        shown = " ".join(code[len("SAPPORO_API"):].split())
        return Declaration("function", re.search(r"(\w+)\(", shown).group(1), shown, remark)
    pointer = re.search(r"\(\*(\w+)\)", code)
    name = pointer.group(1) if pointer else re.search(r"(\w+);\s*$", code).group(1)
    return Declaration("type", name, " ".join(code.split()), remark)


def conditions_at(line, conditions):
    """The conditions of the preprocessor behind a line with one of its commands."""
    if re.match(r"#\s*if", line):
        named = re.match(r"#\s*if defined\((SAPPORO_(?:YEBISU|NBODY6_AARSETH|NBODY6_2010|G5_SYMMETRIC))\)", line)
        return conditions + [named.group(1) + " defined" if named else ""]
    if re.match(r"#\s*el", line) and conditions:
        other = conditions[-1].replace(" not defined", " defined").replace(" defined", " not defined")
        return conditions[:-1] + [other]
    if re.match(r"#\s*endif", line):
        return conditions[:-1]
    return conditions


def read_header(path):
    """(file comment, [section title or Entry, ...]) of a header."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    about, items, entry, comment, conditions, at = None, [], None, "", [], 0
    while at < len(lines):
        line = lines[at]
        section = re.match(r"/\* -{3,} (.*?) -+ \*/", line)
        if section:
            items.append(section.group(1))
            entry, comment, at = None, "", at + 1
        elif line.startswith("/*"):
            raw, at = take(lines, at, lambda t: "*/" in t)
            if about is None:
                about = comment_text(raw)
            else:
                entry, comment = None, comment_text(raw)
        elif line.startswith("#define SAPPORO_VERSION"):
            entry = Entry(comment, "")
            entry.declarations.append(Declaration("macro", "SAPPORO_VERSION", line))
            items.append(entry)
            comment, at = "", at + 1
        elif line.startswith("#"):
            conditions = conditions_at(line, conditions)
            entry, at = None, at + 1
        elif re.match(r"(SAPPORO_API|typedef|enum|struct)\b", line):
            text, at = take(lines, at, complete)
            if entry is None:
                entry = Entry(comment, " and ".join(c for c in conditions if c))
                items.append(entry)
            entry.declarations.append(declared(text))
        else:
            if not line.strip():
                entry, comment = None, ""
            at += 1
    return about or "", items


# ---- writing ---------------------------------------------------------------------------------------------------


class Links:
    """Where each public name is described: page and anchor."""

    def __init__(self, headers):
        self.places = {}
        for header, (_, items) in headers.items():
            page = header.replace(".h", ".html")
            for entry in items:
                for d in entry.declarations if isinstance(entry, Entry) else []:
                    self.places.setdefault(d.name, page)
                    for member, _ in d.members if d.kind == "enum" else []:
                        self.places.setdefault(NAME.match(member).group(), page) if member else None

    def mark(self, text, own=""):
        """Text as HTML, with a link at each public name but its own; what is between back quotes is code."""
        parts = text.split("`")
        if len(parts) > 1 and len(parts) % 2:
            return "".join(self.mark(p, own) if n % 2 == 0 else f"<code>{html.escape(p)}</code>"
                           for n, p in enumerate(parts))
        out, at = [], 0
        for word in re.finditer(r"docs/([\w-]+)\.md|[A-Za-z_]\w*", text):
            out.append(html.escape(text[at:word.start()]))
            name = word.group()
            if word.group(1):
                out.append(f'<a href="../{word.group(1)}.html">{name}</a>')
            elif name in self.places and name not in own:
                out.append(f'<a href="{self.places[name]}#{name}"><code>{name}</code></a>')
            else:
                out.append(html.escape(name))
            at = word.end()
        return "".join(out) + html.escape(text[at:])

    def code(self, text, own=""):
        return f'<pre class="declaration"><code>{re.sub("</?code>", "", self.mark(text, own))}</code></pre>'

    def prose(self, text):
        """A comment as HTML: paragraphs, lists of lines that begin with -, and formulas, which are indented."""
        out = []
        for block in re.split(r"\n\s*\n", text):
            lines = block.split("\n")
            if all(line.startswith("    ") for line in lines if line):
                out.append("<pre><code>" + html.escape("\n".join(line[4:] for line in lines)) + "</code></pre>")
                continue
            parts = re.split(r"(?m)^ *- ", block)
            if parts[0].strip():
                out.append("<p>" + self.mark(" ".join(parts[0].split())) + "</p>")
            if len(parts) > 1:
                rows = "".join("<li>" + self.mark(" ".join(p.split())) + "</li>" for p in parts[1:])
                out.append(f"<ul>{rows}</ul>")
        return "\n".join(out)

    def members(self, declaration):
        rows = []
        for member, comment in declaration.members:
            if not member:
                rows.append(f'<tr><td colspan="2"><em>{self.mark(comment)}</em></td></tr>')
                continue
            name = NAME.match(member).group() if declaration.kind == "enum" else ""
            anchor = f'<a id="{name}"></a>' if name and name != declaration.name else ""
            shown = re.sub("</?code>", "", self.mark(member, name))
            rows.append(f"<tr><td>{anchor}<code>{shown}</code></td><td>{self.mark(comment, name)}</td></tr>")
        return '<table class="members"><tbody>' + "\n".join(rows) + "</tbody></table>"


def capital(text):
    """A text with a capital at its beginning, unless it begins with a symbol such as j-particles."""
    return text if text[1:2] == "-" else text[0].upper() + text[1:]


def write_entry(entry, links, used):
    """Lines of an entry.  `used` has the anchors of the page; of a name that is declared again links lead to the first."""
    seen = list(dict.fromkeys(d.name for d in entry.declarations))
    anchors = []
    for name in seen:
        while name in used:
            name += "-again"
        anchors.append(name)
        used.add(name)
    out = ["### " + ", ".join(f"`{name}`" for name in seen) + f" {{ #{anchors[0]} }}", ""]
    out += ["".join(f'<a id="{name}"></a>' for name in anchors[1:]), ""] if anchors[1:] else []
    body = [f"<p><em>With {entry.condition}.</em></p>"] if entry.condition else []
    kinds = {d.kind for d in entry.declarations}
    if kinds <= {"function", "type", "macro"}:
        body.append(links.code("\n".join(d.text for d in entry.declarations), seen))
    body.append(links.prose(entry.comment) if entry.comment else "")
    for d in entry.declarations:
        if d.remark:
            body.append(f"<p><code>{d.name}</code>: {links.mark(d.remark)}.</p>")
        if d.members:
            label = f"{d.kind} {d.name}" if d.name not in [NAME.match(m).group() for m, _ in d.members if m] else d.kind
            body.append(f"<p><code>{label}</code></p>" + links.members(d))
    return out + ['<div class="entry">'] + [b for b in body if b] + ["</div>", ""]


def summary(about):
    """The first sentence of a file comment, without the name of the file."""
    text = re.sub(r"^\S+\.h - ", "", " ".join(about.split("\n\n")[0].split()))
    return capital(text)


def write_page(header, about, items, links):
    guide = f" See also [{GUIDES[header]}.md](../{GUIDES[header]}.md)." if header in GUIDES else ""
    out = [f"# {header}", "", f"Generated from `include/{header}`: the comments of the header are the text.{guide}", "",
           '<div class="entry">', links.prose(capital(re.sub(r"^\S+\.h - ", "", about))), "</div>", ""]
    if not isinstance(items[0], str):
        out += ["## Declarations", ""]
    used = set()
    for item in items:
        out += [f"## {capital(item)}", ""] if isinstance(item, str) else write_entry(item, links, used)
    return "\n".join(out) + "\n"


def write_index(headers):
    out = ["# Reference", "",
           "These pages are generated from the headers in `include/`. They state what each call promises. "
           "The [conventions](../conventions.md) hold for all of them.", "",
           "| header | what it declares |", "| --- | --- |"]
    out += [f"| [{h}]({h[:-2]}.md) | {summary(about)} |" for h, (about, _) in headers.items()]
    return "\n".join(out + ["", "The [Python package](python.md) has a page from its docstrings.", "", "Headers under the names of older libraries are in `include/compat/`; they include the "
                            "headers above. The Fortran module `sapporo` is `include/sapporo.f90`.", ""])


# ---- Python ----------------------------------------------------------------------------------------------------

# Public names of the package by topic; the page has the others last.
PYTHON = [("One call", ["accelerations", "potentials"]),
          ("Direct sums", ["Context", "Force", "Job", "NeighbourLists", "Particles", "SmallForce", "BatchForce", "Batch", "Memory"]),
          ("Trees", ["Tree", "TreeStatistics", "Seconds"]),
          ("Steppers", ["Stepper", "Field", "Orbits", "Totals", "StepperStatistics"]),
          ("Devices and messages", ["devices", "variables", "version", "arith_version", "set_log", "Device", "Variable"])]


def python_names(package):
    """{public name: where it is defined} of a package, without importing it."""
    path = os.path.join(TOP, "lib/api/python", *package.split("."), "__init__.py")
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names = next(ast.literal_eval(node.value) for node in tree.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    modules = {alias.name: "." + node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1
               for alias in node.names if node.module}
    return {name: f"{package}{modules.get(name, '')}.{name}" for name in names}


def write_python():
    """The page of the Python package: what mkdocstrings fills in."""
    names, files = python_names("sapporo"), python_names("sapporo.snapshots")
    del names["snapshots"]
    out = ["# The package sapporo", "", "Generated from the docstrings of the package `sapporo`. See also [python.md](../python.md). "
           "In the examples, `np` is numpy.", ""]
    rest = [name for name in names if not any(name in some for _, some in PYTHON)]
    for title, some in [*PYTHON, ("Words, errors and warnings", rest)]:
        out += [f"## {title}", ""] + [line for name in some for line in (f"::: {names[name]}", "")]
    out += ["## sapporo.snapshots", "", "Files: see also [snapshots.md](../snapshots.md).", ""]
    return "\n".join(out + [line for place in files.values() for line in (f"::: {place}", "")])


def generate(folder):
    headers = {name: read_header(os.path.join(TOP, "include", name)) for name in HEADERS}
    links = Links(headers)
    os.makedirs(folder, exist_ok=True)
    for name, (about, items) in headers.items():
        with open(os.path.join(folder, name[:-2] + ".md"), "w", encoding="utf-8") as file:
            file.write(write_page(name, about, items, links))
    with open(os.path.join(folder, "index.md"), "w", encoding="utf-8") as file:
        file.write(write_index(headers))
    with open(os.path.join(folder, "python.md"), "w", encoding="utf-8") as file:
        file.write(write_python())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: reference.py OUTPUT")
    generate(sys.argv[1])
