"""Programs for users: examples, and the blocks of README.md, docs/first-force.md, python.md and snapshots.md."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import forces

ROOT = Path(__file__).parents[3]


def run(name, folder, *arguments, **variables):
    """Runs a copy of an example in a folder that holds nothing else."""
    shutil.copy(ROOT / "examples" / name, folder)
    return subprocess.run(
        [sys.executable, name, *arguments],
        cwd=folder,
        env=dict(os.environ, **variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("precision", ["sp", "ds", "dp"])
def test_first_force(tmp_path, precision):
    done = run("first_force.py", tmp_path, SAPPORO_PRECISION=precision)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.startswith("# cpu") and precision in head
    rows = np.array([[float(word) for word in line.split()] for line in lines])
    right, pot = forces([rows[:, 1:4]], rows[:, 0], [rows[:, 1:4]], 0.01, np.eye(4, dtype=bool))
    np.testing.assert_allclose(rows[:, 4:7], right[0].astype(float), atol=1e-5)
    np.testing.assert_allclose(rows[:, 7], pot.astype(float), atol=1e-5)


def test_leapfrog(tmp_path):
    done = run("leapfrog.py", tmp_path, "300", "2")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    head, *lines = done.stdout.splitlines()
    assert "octree" in head and "300 stars" in head and len(lines) == 2
    for line in lines:
        assert 1e-12 < abs(float(line.split()[-1])) < 1e-3, line


@pytest.mark.parametrize("name", ["first_force.py", "leapfrog.py"])
def test_errors_are_told(tmp_path, name):
    done = run(name, tmp_path, SAPPORO_BACKEND="none")
    assert done.returncode == 1 and done.stdout == "" and "SAPPORO_BACKEND" in done.stderr
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, name, "100", "1"][: 4 if "leap" in name else 2],
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode != 0 and "No space left" in done.stderr


def program_of(name):
    return (ROOT / "examples" / name).read_text().split('"""', 2)[2].strip()


def test_the_readme_has_the_example():
    assert f"```python\n{program_of('first_force.py')}\n```\n" in (ROOT / "README.md").read_text()


def test_the_page_has_what_the_example_prints(tmp_path):
    section = (ROOT / "docs/first-force.md").read_text().split("\n## Python\n")[1].split("\n## ")[0]
    printed = re.findall(r"^```text prints\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    lines = run("first_force.py", tmp_path, SAPPORO_BACKEND="cpu").stdout.splitlines()
    assert len(printed) == 1 and len(lines) == 5 and printed[0].splitlines()[1:] == lines[1:]


@pytest.mark.parametrize(("name", "most"), [("first_force.py", 20), ("leapfrog.py", 40)])
def test_examples_are_short(name, most):
    assert sum(1 for line in program_of(name).splitlines() if line.strip()) <= most


def test_blocks_of_the_page_run(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(block, names)
    assert "(1000, 3)" in capsys.readouterr().out


def test_blocks_of_the_snapshots_page_read_and_write(tmp_path, monkeypatch, capsys):
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/snapshots.md").read_text()
    first, *blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names = {}
    exec(first, names)
    pytest.importorskip("pandas")
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 5 and len(names["table"]) == 100 and names["mass"][0] == names["cluster"].mass[0] == 0.01
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("cluster.csv", "cluster.hdf5", "cluster.nemo", "cluster.tipsy", "cluster.txt", "heavy.hdf5")
    ]
    assert "1.0 1 Msun, 1 pc" in capsys.readouterr().out
    text = re.search(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL).group(1)
    Path("page.txt").write_text(text)
    found = names["read"]("page.txt")
    assert found.time == 0.5 and found.id[0] == 1 and found.G == 1 and found.v[0, 2] == 0.47


def test_the_page_names_all_that_is_public():
    import sapporo

    page = (ROOT / "docs/python.md").read_text()
    missing = [name for name in sapporo.__all__ if not re.search(rf"\b{name}\b", page)]
    # What functions return and help() describes.
    assert set(missing) <= {
        "BatchForce",
        "Device",
        "Memory",
        "Orbits",
        "Particles",
        "Seconds",
        "Status",
        "StepperStatistics",
        "Totals",
        "TreeStatistics",
        "Variable",
    }
    for kind in (sapporo.Context, sapporo.Tree, sapporo.Job):
        for name in vars(kind):
            assert name.startswith("_") or name in ("result", "ni") or re.search(rf"\b{name}\b", page), name
