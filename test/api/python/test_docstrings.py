"""Docstrings: their sections name what the calls have, and their examples run."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
import sapporo

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Warns", "Example")


def public():
    """(name, thing) of all public classes and functions."""
    for module in (sapporo, sapporo.snapshots):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, (Exception, int))):
                yield name, thing


def calls():
    """(name, function) of all public functions and methods."""
    for name, thing in public():
        if inspect.isfunction(thing):
            yield name, thing
        else:
            for word, member in inspect.getmembers(thing, callable):
                if not word.startswith("_") and word in vars(thing) and "sapporo" in member.__module__:
                    yield f"{name}.{word}", inspect.unwrap(member)


def sections(thing):
    """The sections of a docstring: their lines by name."""
    found, name = {}, None
    for line in inspect.getdoc(thing).splitlines():
        head = line.rstrip(":")
        if line.endswith(":") and head in SECTIONS:
            name, found[head] = head, []
        elif name and (line.startswith("    ") or not line.strip()):
            found[name].append(line[4:])
        else:
            name = None
    return found


def names(lines):
    """What a section describes."""
    heads = [re.match(r"([\w, ]+):", line) for line in lines if line.strip() and not line.startswith(" ")]
    assert all(heads), lines
    return [name for head in heads for name in head.group(1).split(", ")]


@pytest.mark.parametrize(("name", "call"), list(calls()), ids=lambda x: x if isinstance(x, str) else "")
def test_sections_of_calls(name, call):
    found = sections(call)
    signature = inspect.signature(call)
    arguments = [word for word in signature.parameters if word != "self"]
    assert sorted(names(found.get("Args", []))) == sorted(arguments)
    assert ("Returns" in found) == (signature.return_annotation not in (None, "None"))
    if re.search(r"_check\(|\braise\b", inspect.getsource(call)):
        assert found.get("Raises"), "it raises exceptions"
        for error in names(found["Raises"]):
            assert hasattr(sapporo, error) or error in dir(__builtins__) or error in __builtins__, error


@pytest.mark.parametrize(("name", "thing"), list(public()), ids=lambda x: x if isinstance(x, str) else "")
def test_sections_of_what_is_public(name, thing):
    found = sections(thing)
    assert any(">>>" in line for line in found["Example"]), "an example"
    if inspect.isclass(thing):
        fields = [word for word in getattr(thing, "__dataclass_fields__", getattr(thing, "_fields", ()))]
        described = names(found.get("Args", [])) + names(found.get("Attributes", []))
        assert set(fields) <= set(described)
        made_by_users = thing not in (sapporo.Job, sapporo.Batch, sapporo.Force)
        if "__init__" in vars(thing) and not fields and made_by_users:
            arguments = list(inspect.signature(thing).parameters)
            assert sorted(names(found["Args"])) == sorted(arguments)


def test_examples_run(tmp_path, capsys):
    package = Path(sapporo.__file__).parent
    modules = [name for _, name, _ in pkgutil.walk_packages([str(package)], "sapporo.")]
    finder, runner, examples = doctest.DocTestFinder(), doctest.DocTestRunner(), 0
    for name in modules:
        if name.rpartition(".")[2] in ("_torch", "_jax", "_native", "libsapporo"):
            continue  # no examples; the first two need other libraries
        module = importlib.import_module(name)
        for test in finder.find(module, globs={"np": np, "sapporo": sapporo, "folder": tmp_path}):
            runner.run(test)
            examples += len(test.examples)
    assert runner.summarize(verbose=False).failed == 0, capsys.readouterr().out
    assert examples > 60
