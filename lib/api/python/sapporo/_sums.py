"""Accelerations and potentials by one call, in arrays of the caller's kind."""

from __future__ import annotations

import importlib
import math
import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._arrays import Floats, host_array, scalars, vectors
from ._context import Context
from ._errors import ArgumentError
from ._info import devices
from ._job import Force
from ._library import Backend, Precision
from ._tree import Sum, Tree

# Pairs up to which a direct sum is faster than a tree (docs/choose-tree.md): those of 4,096 particles on one core with
# AVX-512, and of 32,768 particles on an H200.
DIRECT_ON_CPU = 4096**2
DIRECT_ON_DEVICE = 32768**2


@dataclass(frozen=True)
class How:
    """All arguments of a call but its arrays.

    mac: criterion of the tree that the caller asks for; "direct": a direct sum; None: by the number of pairs
    """

    eps: float
    G: float
    mac: Literal["opening", "acceleration", "direct"] | None
    accuracy: float | None
    precision: Precision | None
    backend: Backend | None

    @property
    def device(self) -> dict[str, Any]:
        """The options that contexts and trees share."""
        return {"precision": self.precision, "backend": self.backend, "G": self.G}


def _number(value: Any, name: str) -> float:
    """A number without derivatives."""
    if getattr(value, "requires_grad", False):
        raise TypeError(f"{name} requires a gradient; it must be a plain number, because nothing is derived by it")
    try:
        return float(value)
    except TypeError as error:
        raise TypeError(f"{name} is {type(value).__name__}; it must be a plain number") from error


def how_of(
    eps: float,
    G: float,
    theta: float | None,
    accuracy: float | None,
    precision: Precision | None,
    backend: Backend | None,
) -> How:
    """Checks the arguments that are not arrays."""
    length = _number(eps, "eps")
    if not 0 <= length < math.inf:
        raise ArgumentError(f"eps is {length:g}; it must be finite and at least 0")
    if theta is not None and accuracy is not None:
        raise ValueError("either theta or accuracy may be given")
    mac: Literal["opening", "acceleration", "direct"] | None = None
    number = None
    for name, value in (("theta", theta), ("accuracy", accuracy)):
        if value is not None:
            number = _number(value, name)
            if not number >= 0:
                raise ArgumentError(f"{name} is {number:g}; it must be at least 0, which is a direct sum")
            mac = "direct" if number == 0 else "opening" if name == "theta" else "acceleration"
    return How(length, _number(G, "G"), mac, number or None, precision, backend)


# ---- arrays in host memory


def direct(how: How, x: Any, mass: Any, at: Any = None, v: Any = None, at_v: Any = None) -> Force:
    """A direct sum over the sources x; at: positions of targets, None: the sources; v, at_v: velocities, absent: 0.

    With velocities the force has a jerk.
    """
    order: Literal[2, 4] = 2 if v is None and at_v is None else 4
    with Context(order=order, **how.device) as context:
        return _direct(context, how, x, mass, at, v, at_v)


def _direct(context: Context, how: How, x: Any, mass: Any, at: Any, v: Any = None, at_v: Any = None) -> Force:
    context.set_particles(x, mass=mass, v=v)
    if at is not None:
        return context.force(at, v=at_v, eps=how.eps)
    return context.force(x, v=at_v, index=np.arange(len(x)), eps=how.eps)


def _by_tree(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
    with Tree(len(x), mac=how.mac or "acceleration", accuracy=how.accuracy, eps=how.eps, **how.device) as tree:  # type: ignore[arg-type]
        tree.set(x, mass)
        tree.build()
        return getattr(tree.force(targets=at, want=[name]), name)


def on_host(how: How, name: Sum, x: Any, mass: Any, at: Any = None) -> Floats:
    """The sum of arrays in host memory."""
    x = vectors(x, "x")
    mass = scalars(mass, "mass", len(x))
    at = None if at is None else vectors(at, "targets")
    pairs = len(x) * len(x if at is None else at)
    if how.mac == "direct" or (how.mac is None and pairs <= DIRECT_ON_CPU):
        return getattr(direct(how, x, mass, at), name)  # type: ignore[no-any-return]
    if how.mac is None and pairs <= DIRECT_ON_DEVICE and how.backend != "cpu":
        with Context(order=2, **how.device) as context:
            if context.backend != "cpu":
                return getattr(_direct(context, how, x, mass, at), name)  # type: ignore[no-any-return]
    return _by_tree(how, name, x, mass, at)  # type: ignore[no-any-return]


def is_tree_on_device(how: How, n: int, targets: Any) -> bool:
    """Whether a tree reads and writes arrays in the memory of a CUDA device itself."""
    if targets is not None or how.mac == "direct" or (how.mac is None and n * n <= DIRECT_ON_DEVICE):
        return False
    backend = how.backend or os.environ.get("SAPPORO_BACKEND") or "auto"
    return backend.lower() in ("auto", "cuda") and bool(devices("cuda"))


def tree_on_device(how: How, name: Sum, x: Any, mass: Any, out: Any, device: int) -> None:
    """The sum of contiguous arrays of float64 in the memory of a CUDA device, written to `out`."""
    options = dict(how.device, backend="cuda", devices=[device])
    with Tree(len(x), mac=how.mac or "acceleration", accuracy=how.accuracy, eps=how.eps, **options) as tree:  # type: ignore[arg-type]
        tree.set(x, mass)
        tree.build()
        tree.force(want=[name], out={name: out})


def check_shapes(x: Any, mass: Any, at: Any) -> tuple[int, ...]:
    """Raises ValueError unless the shapes fit; returns the shape of accelerations."""
    for array, name in ((x, "x"), (at, "targets")):
        if array is not None and (len(array.shape) != 2 or array.shape[1] != 3):
            raise ValueError(f"{name} has the shape {tuple(array.shape)}; it must be (n, 3)")
    if tuple(mass.shape) not in ((), (x.shape[0],)):
        raise ValueError(f"mass has the shape {tuple(mass.shape)}; it must be ({x.shape[0]},)")
    return tuple((x if at is None else at).shape)


# ---- arrays of the caller


def _kind_of(*arrays: Any) -> str:
    """The library that the arrays belong to: "torch", "jax", "cupy" or "numpy"."""
    roots = {base.__module__.partition(".")[0] for array in arrays for base in type(array).__mro__}
    found = [name for name in ("torch", "jax", "cupy") if name in roots or (name == "jax" and "jaxlib" in roots)]
    if len(found) > 1:
        raise TypeError(f"arrays of {' and '.join(found)} in one call; all must be of one library")
    return found[0] if found else "numpy"


def _of_cupy(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
    cupy: Any = importlib.import_module("cupy")
    x = cupy.asarray(x)
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    if is_tree_on_device(how, len(x), at):
        with x.device:
            x = cupy.ascontiguousarray(x, dtype=np.float64)
            mass = cupy.ascontiguousarray(cupy.broadcast_to(cupy.asarray(mass, dtype=np.float64), (len(x),)))
            out = cupy.empty(x.shape if name == "acc" else x.shape[:1])
            tree_on_device(how, name, x, mass, out, x.device.id)
            return out.astype(dtype, copy=False)
    x_, mass_, at_ = (cupy.asnumpy(array) if isinstance(array, cupy.ndarray) else array for array in (x, mass, at))
    with x.device:
        return cupy.asarray(on_host(how, name, x_, mass_, at_).astype(dtype, copy=False))


def _call(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
    kind = _kind_of(x, mass, at)
    if kind == "torch":
        from ._torch import torch_sum

        return torch_sum(how, name, x, mass, at)
    if kind == "jax":
        from ._jax import jax_sum

        return jax_sum(how, name, x, mass, at)
    if kind == "cupy":
        return _of_cupy(how, name, x, mass, at)
    dtype = host_array(x, "x").dtype
    return on_host(how, name, x, mass, at).astype(dtype if dtype.kind == "f" else np.float64, copy=False)


def accelerations(
    x: Any,
    mass: Any,
    eps: float = 0.0,
    G: float = 1.0,
    theta: float | None = None,
    accuracy: float | None = None,
    precision: Precision | None = None,
    targets: Any = None,
    backend: Backend | None = None,
) -> Any:
    """Accelerations of particles by their gravity, or at other positions.

    Without theta and accuracy up to 4,096^2 pairs (on GPUs and other devices 32,768^2) are summed directly; more take a
    tree of accuracy 0.01.

    Arrays may be of numpy, CuPy, PyTorch or JAX, of any type and strides.  Arrays of other types than float64 are
    converted first.  A tree on a CUDA device reads and writes arrays of CuPy and PyTorch in its memory.  Direct sums,
    `targets` and JAX go through host memory.

    PyTorch and JAX derive direct sums once, by x, mass and targets: torch.autograd, torch.func, jax.grad, jax.jvp,
    jax.jit, jax.vmap. Arrays that need derivatives, or that JAX traces, take a direct sum for any number of pairs,
    unless a tree is named.

    Args:
        x: (n, 3): positions.
        mass: (n,) or one number: masses.
        eps: Plummer softening length.
        G: gravitational constant in the caller's units.
        theta: a tree with this opening angle; 0: a direct sum.
        accuracy: a tree of mac="acceleration" with this accuracy; 0: a direct sum.
        precision: as of Context and Tree.
        targets: (m, 3): instead, any positions; every particle acts on them that is not at zero softened distance.
        backend: as of Context and Tree.

    Returns:
        (n, 3), or (m, 3) at targets: an array of the library, floating-point type and device of x.

    Raises:
        ValueError: shapes do not fit, or theta and accuracy are both given.
        TypeError: an array is complex or masked, or of another library than the others.
        SapporoError: as Context and Tree do.  Traced by JAX, JAX raises these errors, with their text.
        UnsupportedError: second derivatives, and derivatives of trees.

    Example:
        >>> x = np.array([[0.0, 0, 0], [2, 0, 0]])
        >>> sapporo.accelerations(x, mass=[1.0, 4.0])[:, 0]
        array([ 1.  , -0.25])
        >>> sapporo.accelerations(x, mass=[1.0, 4.0], targets=[[1.0, 0, 0]]).tolist()
        [[3.0, 0.0, 0.0]]
    """
    return _call(how_of(eps, G, theta, accuracy, precision, backend), "acc", x, mass, targets)


def potentials(
    x: Any,
    mass: Any,
    eps: float = 0.0,
    G: float = 1.0,
    theta: float | None = None,
    accuracy: float | None = None,
    precision: Precision | None = None,
    targets: Any = None,
    backend: Backend | None = None,
) -> Any:
    """Potentials of particles by their gravity, or at other positions.

    The sum of mass * potentials / 2 is the potential energy.

    Args:
        x, mass, eps, G, theta, accuracy, precision, targets, backend: as of accelerations.

    Returns:
        (n,), or (m,) at targets: an array of the library, floating-point type and device of x.

    Raises:
        SapporoError: as accelerations does.

    Example:
        >>> x = np.array([[0.0, 0, 0], [2, 0, 0]], dtype=np.float32)
        >>> sapporo.potentials(x, mass=[1.0, 4.0], G=2)
        array([-4., -1.], dtype=float32)
    """
    return _call(how_of(eps, G, theta, accuracy, precision, backend), "pot", x, mass, targets)
