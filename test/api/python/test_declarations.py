"""The package declares what the headers of this tree declare, and describes what they describe."""

import contextlib
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Literal, get_args, get_origin

import sapporo
from sapporo._library import ffi, lib

ROOT = Path(__file__).parents[3]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_declarations_are_those_of_the_headers(tmp_path):
    """Types of all functions, structs and enumerations, taken anew from include/."""
    load(ROOT / "lib/api/python/declarations.py").write_module(ROOT / "include", tmp_path / "_native.py")
    installed = Path(sapporo.__file__).with_name("_native.py").read_text()
    assert (tmp_path / "_native.py").read_text() == installed


def test_every_public_function_is_there():
    headers = ("sapporo_types.h", "sapporo.h", "sapporo_tree.h", "sapporo_stepper.h")
    text = "".join((ROOT / "include" / name).read_text() for name in headers)
    names = re.findall(r"^SAPPORO_API [^;(]*?(\w+)\(", text, re.MULTILINE)
    assert len(names) > 40
    assert set(names) == {name for name in dir(lib) if name.startswith("sapporo_")}
    for name in names:
        assert ffi.typeof(getattr(lib, name)).kind == "function"


def test_every_public_function_is_called():
    package = Path(sapporo.__file__).parent
    text = "".join(path.read_text() for path in package.glob("*.py") if path.name != "_native.py")
    # set_particles stores one particle, too; within has places, too; log is for libraries that are built on this one;
    # an error replaces the last one.
    unused = {name for name in dir(lib) if name.startswith("sapporo_") and not re.search(rf"lib\.{name}\b", text)}
    assert unused == {"sapporo_log", "sapporo_clear_error", "sapporo_set_particle", "sapporo_tree_neighbours"}


def test_one_vocabulary():
    """A word means one thing in all calls, and has one kind of type; particles are x, mass, v in this order."""
    kinds, calls = {}, {}
    classes = (sapporo.Context, sapporo.Tree, sapporo.Stepper, sapporo.SmallForce, sapporo.snapshots.Snapshot)
    for kind in classes:
        for name, call in inspect.getmembers(kind, inspect.isfunction):
            if name == "__init__" or not name.startswith("_"):
                calls[f"{kind.__name__}.{name}"] = inspect.signature(call).parameters
    for name in ("accelerations", "potentials"):
        calls[name] = inspect.signature(getattr(sapporo, name)).parameters
    for name, parameters in calls.items():
        assert not {"eps2", "eps2_i", "h", "a", "x_j", "mass_j"} & set(parameters), name
        particles = [word for word in parameters if word in ("x", "mass", "v")]
        # Programs pass these by position.
        order = ["x", "v", "mass"] if name in ("Stepper.set", "Stepper.add") else ["x", "mass", "v"]
        assert particles == [word for word in order if word in particles], name
        for word, parameter in parameters.items():
            is_number = str(parameter.annotation).partition(" |")[0] in ("float", "int", "bool")
            kinds.setdefault(word, {})[name] = is_number
    for word, found in kinds.items():  # softening and times may be per particle
        assert word in ("eps", "time") or len(set(found.values())) == 1, (word, found)


def test_structs_are_laid_out_as_recorded():
    checked = 0
    for line in (ROOT / "test/api/layout.txt").read_text().splitlines():
        words = line.split()
        if line.startswith("#") or not words[0].startswith("sapporo_") or words[0] not in ffi.list_types()[0]:
            continue
        kind = ffi.typeof(words[0])
        if words[1] == "-":
            assert ffi.sizeof(kind) == int(words[3]), line
        else:
            field = dict(kind.fields)[words[1]]
            assert (field.offset, ffi.sizeof(field.type)) == (int(words[2]), int(words[3])), line
        checked += 1
    assert checked > 60


def test_words_are_the_enumerators():
    from sapporo import _context, _library, _stepper, _tree

    for words, prefix in (
        (_library.BACKENDS, "SAPPORO_BACKEND_"),
        (_library.PRECISIONS, "SAPPORO_"),
        (_library.ROOTS, "SAPPORO_ROOT_"),
        (_context.PAIRS, "SAPPORO_PAIRS_"),
        (_tree.CRITERIA, "SAPPORO_MAC_"),
        (_tree.KINDS, "SAPPORO_TREE_"),
        (_stepper.METHODS, "SAPPORO_STEP_"),
        (_stepper.SCHEMES, "SAPPORO_STEPS_"),
        (_stepper.STEP_CRITERIA, "SAPPORO_STEP_BY_"),
        (_stepper.MOMENTS, "SAPPORO_STEP_"),
        (_stepper.FIELD_KINDS, "SAPPORO_FIELD_"),
    ):
        for word, number in words.items():
            assert getattr(lib, prefix + word.upper()) == number, word


def test_versions():
    header = (ROOT / "include/sapporo.h").read_text()
    assert f'#define SAPPORO_VERSION "{sapporo.__version__}"' in header
    assert sapporo.version() == sapporo.__version__ and sapporo.arith_version() > 0


def test_devices_and_variables():
    devices = sapporo.devices("cpu")
    assert len(devices) == 1 and devices[0].backend == "cpu" and devices[0].number == 0 and devices[0].has_fp64
    assert devices[0].name and devices[0].units > 0 and devices[0] in sapporo.devices()
    variables = {variable.name: variable for variable in sapporo.variables()}
    assert variables["SAPPORO_PRECISION"].audience == "users" and "`dp`" in variables["SAPPORO_PRECISION"].values
    assert {variable.audience for variable in variables.values()} == {"users", "tests", "others"}


def test_what_is_public_has_docstrings_and_hints():
    for name in sapporo.__all__:
        thing = getattr(sapporo, name)
        assert inspect.getdoc(thing) or get_origin(thing) is Literal, name
        if inspect.isfunction(thing):
            assert "return" in thing.__annotations__, name
    assert Path(sapporo.__file__).with_name("py.typed").exists()


def test_types_have_the_words_that_calls_take():
    from sapporo import _context, _library, _stepper, _tree

    for module, type_, words in (
        *((_library, name, name.upper() + "S") for name in ("Backend", "Precision", "Root")),
        (_context, "Pairs", "PAIRS"),
        (_context, "Softening", "SOFTENINGS"),
        (_tree, "Kind", "KINDS"),
        (_tree, "Mac", "CRITERIA"),
        (_stepper, "Method", "METHODS"),
        (_stepper, "Scheme", "SCHEMES"),
        (_stepper, "StepCriterion", "STEP_CRITERIA"),
        (_stepper, "Moment", "MOMENTS"),
        (_stepper, "FieldKind", "FIELD_KINDS"),
    ):
        assert set(get_args(getattr(module, type_))) == set(getattr(module, words)), type_
    for isa in get_args(_library.Isa):
        with contextlib.suppress(sapporo.UnsupportedError), sapporo.Context(cpu_isa=isa) as context:
            assert isa in context.kind


def test_memory_and_threads(context):
    assert context.memory_needed(1000).host > 1000 * 7 * 8 and context.memory_needed(1000).device == 0
    assert context.memory_needed(0) == (0, 0)
    assert context.threads >= 1 and sapporo.Context(threads=1).threads == 1
    assert sapporo.Context(order=0).order == 4  # the default of the library
    assert "dp" in context.kind and "order 4" in repr(context)


def test_a_source_distribution_has_all_that_make_needs(tmp_path):
    """What git keeps of the folders of the build is in it."""
    import subprocess
    import sys
    import tarfile

    import pytest

    folders = (
        "Makefile",
        "LICENSE",
        "pyproject.toml",
        "include",
        "lib",
        "cpu_sse",
        "kernels_cuda",
        "kernels_hip",
        "kernels_ocl",
    )
    kept = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=False)
    if kept.returncode != 0:
        pytest.skip("not a clone")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)], cwd=ROOT, check=True
    )
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert set(kept.stdout.split()) <= names
    assert not [name for name in names if name.startswith("build/") or name.endswith((".so", ".a"))]
