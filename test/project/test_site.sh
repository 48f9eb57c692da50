#!/bin/sh
# The site of the pages (make docs): the reference has every public name, commands of pages run, the site builds without
# a warning, and a headless browser finds no fault in it.  Prints TAP.
#
# The tools are installed where CI is set, and must otherwise be there: make docs-tools BROWSER=1, and a browser.

cd "$(dirname "$0")/../.." || exit 2
make=${MAKE:-make}
python=build/docs-venv/bin/python
work=$(mktemp -d "${TMPDIR:-/tmp}/test_site.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# ---- the reference

# names HEADER: public functions, structs, enumerators and other types, as a search for words finds them
names() {
    grep -oE '^SAPPORO_API [^(]*' "$1" | grep -oE '[A-Za-z0-9_]+$'
    grep -oE '^(typedef )?(struct|enum) [a-z0-9_]+ \{' "$1" | sed 's/ {//; s/.* //'
    grep -oE 'SAPPORO_[A-Z0-9_]+ = ' "$1" | sed 's/ = //'
    grep -oE '^typedef (struct|void) [^{]*;' "$1" | grep -oE '(\(\*[a-z_]+|[a-z_]+;)' | tr -d '(*;'
}

title="the reference has every public function, struct, enumerator and type, each with one anchor"
if command -v python3 >/dev/null 2>&1; then
    python3 docs/site/reference.py "$work/reference" >"$work/log" 2>&1
    for header in include/sapporo*.h; do
        page=$work/reference/$(basename "$header" .h).md
        [ -f "$page" ] || { echo "$header has no page"; continue; }
        names "$header" | sort -u >"$work/names"
        [ "$(wc -l <"$work/names")" -ge 10 ] || [ "$(wc -l <"$work/names")" -eq "$(grep -c '^SAPPORO_API' "$header")" ] ||
            echo "$header: hardly any names found"
        while read -r name; do
            count=$(grep -cE "\{ #$name \}|<a id=\"$name\">" "$page")
            [ "$count" -eq 1 ] || echo "$name of $header has $count anchors"
        done <"$work/names"
    done >>"$work/log"
    [ ! -s "$work/log" ]
    verdict $? "$title"
    # A name with MC, of a GRAPE-5 device, may share the comment of the name without MC.
    python3 -c '
import sys
sys.path.insert(0, "docs/site")
import reference
found = 0
for header in reference.HEADERS:
    for entry in reference.read_header("include/" + header)[1]:
        names = [d.name for d in getattr(entry, "declarations", []) if d.kind == "function"]
        found += len(names)
        if names and not entry.comment or len({name.replace("MC", "") for name in names}) > 1:
            print(header + ": " + " ".join(names))
assert found > 200, found
' >"$work/log" 2>&1 && [ ! -s "$work/log" ]
    verdict $? "every public function has a comment of its own"
else
    skipped "$title" "python3 is missing"
fi

# ---- figures

python_checks "data of figures say machine, date, commit; figures of pages are the same; figures were drawn from the data" \
    docs/figures/data.py
python_checks "the tables of octrees and kd-trees in docs/tree-errors.md are those of the recorded data" \
    docs/figures/kinds.py --check
python_checks "table 3 of docs/gothic.md is that of the recorded data" docs/figures/gothic.py check
python_checks "times that were disturbed are not drawn, and a figure that its page has not is found" -c '
import sys
sys.path.insert(0, "docs/figures")
import data
calm = {"case": "tree", "seconds": 0.2, "min": 0.1, "sort": 0.05, "link": 0, "moments": 0, "walk": 0.05}
assert data.disturbed(calm) is None
assert "median" in data.disturbed(dict(calm, seconds=0.31))
assert "phases" in data.disturbed(dict(calm, walk=0.3))
assert "median" in data.disturbed({"case": "force", "median": 31, "min": 10})
table = data.Table("t", {"page": "docs/measurements.md", "section": "One NVIDIA H200"}, [
    {"low": 2.8e10, "high": 2.9e10, "case": "N = 1,024", "quote": "2.8e10 to 2.9e10"},
    {"low": 2.7e10, "high": 2.9e10, "case": "N = 1,024", "quote": "2.8e10 to 2.9e10"},
    {"low": 2.8e10, "high": 2.9e10, "case": "N = 4,096", "quote": "2.8e10 to 2.9e10"}])
assert len(list(data.check_quotes(table))) == 2, list(data.check_quotes(table))
'
cat >"$work/bad.csv" <<TEXT
# title: A machine
# machine: of a test
# note: Sums: a note
# note: Nothing: a note on no rows
case,command,commit,date,median,least,error99,unit
Sums: good,make,up to 1234567,2026-11-27,1.5e9 to 2e9,3,4e-3,1/s
Sums: good,,,,1,,,s
no subject,,,,1,,,s
Sums: no value,,,,,,,s
Sums: no unit,,,,1,,,
Sums: words,,,,fast,,,s
Sums: date,,,yesterday,1,,,s
Sums: commit,,some,,1,,,s
TEXT
python_checks "faults of recorded measurements, and tables that pages lack, are found; summaries have two digits" -c '
import sys
sys.path.insert(0, "docs/figures")
import measurements as m
m.FOLDER = sys.argv[1]
bad = m.Machine("bad")
found = list(bad.faults())
wanted = ["Nothing", "twice", "no subject", "no value", "no unit", "fast", "yesterday", "some"]
assert len(found) == len(wanted) and all(any(w in f for f in found) for w in wanted), found
made = {"bad": m.page_of(bad)}
used = []
assert "1.5e9 to 2e9" in m.renewed("<!-- measurements bad -->\nold\n<!-- end measurements -->", made, used) and used == ["bad"]
faults = list(m.faults({}, {"unused": []}, ["unknown"]))
assert any("no page has the table unused" in f for f in faults) and any("no table unknown" in f for f in faults), faults
row = {"median": "2.55", "least": "", "unit": "ms"}
assert [m.measured(dict(row, median=v)) for v in ("2.55", "23 to 25", "262", "6974")] == ["2.6 ms", "23 to 25 ms", "260 ms", "7,000 ms"]
assert m.measured({"median": "103098", "least": "", "unit": "us"}) == "100 ms" and m.grouped("6974") == "6,974"
' "$work"

# ---- formulas

# shellcheck disable=SC2016 # no expansion wanted
python_checks "formulas stay as they are, and the style sheet that draws them has its fonts inside" -c '
import sys
sys.path.insert(0, "docs/site")
import pages
def site(text): return pages.change(text, "docs/a.md", {})
formula = "$$\n- [a](b.md)\n| c |\n    d\n$$"
assert site("so:\n" + formula + "\nand\n- e") == "so:\n\n" + formula + "\n\nand\n\n- e", site("so:\n" + formula + "\nand\n- e")
assert site("so:\n\n" + formula + "\n\nand") == "so:\n\n" + formula + "\n\nand"
assert site("```sh\n$$\n```\n[a](b.md)") == "```sh\n$$\n```\na (`b.md`)", site("```sh\n$$\n```\n[a](b.md)")
sheet = pages.with_fonts("docs/site/assets/katex/katex.min.css")
assert sheet.count("@font-face") == sheet.count("data:font/woff2") == 9 and "url(fonts" not in sheet, sheet[:300]
'

# ---- notebooks

python_checks "notebooks become pages, with all cells, texts and figures that they store" -B - "$work/notebooks" <<'END'
import glob, json, os, sys
sys.path.insert(0, "docs/site")
import notebooks, pages
found = sorted(glob.glob("docs/notebooks/*.ipynb"))
assert len(found) == 2, found
for path in found:
    page = notebooks.convert(path, sys.argv[1])
    name = os.path.splitext(os.path.basename(path))[0]
    cells = json.load(open(path))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    drawn = [output for output in outputs if "image/png" in output.get("data", {})]
    assert all(cell["execution_count"] for cell in code), f"{path}: a cell was not executed"
    assert len(drawn) == 3 == page.count("![Figure of the notebook](notebooks/"), f"{path}: {len(drawn)} figures"
    for k in range(3):
        file = f"{sys.argv[1]}/notebooks/{name}-{k + 1}.png"
        assert open(file, "rb").read(4) == b"\x89PNG", file
    assert page.count("```python\n") == len(code) and page.count("```text\n") == len(outputs) - 3 >= 1
    for cell in cells:
        assert "".join(cell["source"]).rstrip() in page, cell["source"]
    site = pages.sources()
    assert site[path] == f"notebook-{name}.md" and pages.link_target("docs/python.md", f"notebooks/{name}.ipynb", site) == site[path]
    assert pages.link_target(path, "../numerics.md", site) == "numerics.md"
END

# ---- commands of pages

# Blocks that begin with ```sh runs, or ```sh runs TOOL if they need a tool, are run in the top folder.
awk -v work="$work" '
/^```sh runs/ { name = sprintf("%s/block%02d", work, ++n); print FILENAME, FNR, name, $3 >(work "/blocks"); next }
/^```/ { if (name != "") close(name); name = ""; next }
name != "" { print >name }' docs/*.md
if [ -n "${SANITIZE:-}" ] || [ ! -x examples/sapporo ]; then
    skipped "commands of pages" "examples are not built, or for a sanitizer"
else
    OUT=$work/out
    export OUT
    mkdir -p "$OUT"
    # A reader pastes the blocks of a page into a new shell, where OUT is not set.
    awk '/^```/ { inside = /^```sh runs/; next }
        !inside { next }
        /^OUT=/ { set[FILENAME] = 1 }
        /\$OUT/ && !set[FILENAME] { print FILENAME ":" FNR ": $OUT is not set: " $0 }' docs/*.md >"$work/log"
    [ ! -s "$work/log" ]
    verdict $? "pages set OUT before they use it"
    while read -r page line block tool; do
        title="commands in $page, line $line"
        if [ -n "$tool" ] && ! command -v "$tool" >/dev/null 2>&1; then
            skipped "$title" "$tool is missing"
            continue
        fi
        timeout 60 sh -eu "$block" >"$work/log" 2>&1 </dev/null
        verdict $? "$title"
    done <"$work/blocks"
    [ "$(wc -l <"$work/blocks")" -ge 15 ]
    verdict $? "the pages have commands"
fi

# ---- the site

browser=
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name)
done

tools=missing
if [ "${CI:-}" = true ]; then "$make" docs-tools BROWSER=1 >"$work/tools" 2>&1; fi
[ ! -x build/docs-venv/bin/mkdocs ] || tools=

title="make docs builds the site, without a warning"
if [ -n "$tools" ]; then
    skipped "$title" "the tools of the site are missing: make docs-tools BROWSER=1"
    skipped "the pages in a browser" "there is no site"
    exit $((failures > 0))
fi
"$make" --no-print-directory docs >"$work/log" 2>&1
verdict $? "$title"
python_checks "the reference of Python has every public name, with its arguments and examples" -c '
import re, sys
sys.path.insert(0, "docs/site")
import reference
with open("build/site/html/reference/python.html", encoding="utf-8") as file:
    page = file.read()
names = {**reference.python_names("sapporo"), **reference.python_names("sapporo.snapshots")}
del names["snapshots"]
assert len(names) > 40
places = list(names.values()) + [f"sapporo._tree.Tree.{name}" for name in ("set", "build", "force", "neighbours", "kind")]
missing = [place for place in places if page.count(f"id=\"{place}\"") != 1]
assert not missing, missing
assert len(re.findall("Parameters:|Attributes:", page)) > 50 and "Args:" not in page and page.count(">Example<") > 25
'

if [ -z "$browser" ]; then
    skipped "the pages in a browser" "there is no browser: chromium-headless-shell of Debian is one"
elif ! $python -c 'import playwright' 2>/dev/null; then
    skipped "the pages in a browser" "playwright is missing: make docs-tools BROWSER=1"
else
    $python docs/site/look.py build/site/html "$browser" 2>&1 || failures=$((failures + 1))
fi
exit $((failures > 0))
