"""The notebooks run on small sizes, draw their figures, and find what their texts say."""

import ast
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for module in ("matplotlib", "ipykernel"):
    pytest.importorskip(module)


def run(name, question, tmp_path, monkeypatch):
    """Executes a notebook; returns the number of its figures, and the answer of its kernel to an expression."""
    monkeypatch.setenv("NOTEBOOK_SIZE", "small")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(ROOT / "docs/notebooks" / name, 4)
    nbformat.validate(notebook)
    stored = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in stored if output.get("name") == "stderr" or output.output_type == "error"]
    assert sum("image/png" in output.get("data", {}) for output in stored) == 3, "notebooks store their figures"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "executed once, in order"
    for cell in code:
        cell.outputs, cell.execution_count = [], None
    notebook.cells.append(nbformat.v4.new_code_cell(f"print(repr({question}))"))
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    errors = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not errors, errors
    figures = sum("image/png" in output.get("data", {}) for output in outputs)
    return figures, ast.literal_eval(notebook.cells[-1].outputs[0].text)


def test_precision(tmp_path, monkeypatch):
    figures, (cluster, moved, pairs) = run(
        "precision.ipynb",
        "[{p: [float(e) for e in errors] for p, errors in rows.items()} for rows in (cluster, moved, pairs)]",
        tmp_path,
        monkeypatch,
    )
    assert figures == 3
    middle = {p: errors[len(errors) // 2] for p, errors in cluster.items()}
    assert middle["dp"] < 1e-15 < 1e-9 < middle["ds"] < middle["sp"] < 1e-6
    assert moved["sp"][-1] > 0.1 and np.max(moved["ds"]) < 1e-6 and np.max(moved["dp"]) < 1e-14
    assert pairs["sp"][-1] > 0.1 > pairs["ds"][-1] > 1e-7 and np.max(pairs["dp"]) < 1e-14


def test_tree(tmp_path, monkeypatch):
    figures, results = run(
        "tree.ipynb",
        "{mac: [(float(np.median(error)), float(cost)) for error, cost in rows] for mac, rows in results.items()}",
        tmp_path,
        monkeypatch,
    )
    assert figures == 3 and set(results) == {"opening", "multipole", "acceleration"}
    for mac, rows in results.items():
        errors, costs = zip(*rows)
        assert list(errors) == sorted(errors, reverse=True), mac
        assert list(costs) == sorted(costs), mac


def test_all_notebooks_are_tested():
    assert sorted(path.name for path in (ROOT / "docs/notebooks").glob("*.ipynb")) == ["precision.ipynb", "tree.ipynb"]
