"""Sums of arrays of JAX, which it derives and compiles."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ._arrays import host_array
from ._errors import UnsupportedError
from ._gradients import change, gradients
from ._sums import How, check_shapes, on_host
from ._tree import Sum

jax: Any = importlib.import_module("jax")
jnp: Any = jax.numpy
linear_call: Any = importlib.import_module("jax.custom_derivatives").linear_call

NO_SECOND = "second derivatives of sums are not available"
NO_TREE = "derivatives of trees are not available: theta and accuracy must be absent or 0"


def _host(array: Any) -> Any:
    return None if array is None else np.asarray(array, dtype=np.float64)


def _native(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # JAX knows no other order of bytes


def _callback(function: Any, like: Any, *arrays: Any) -> Any:
    """Calls a function of arrays in host memory; its results are of the shapes and types of `like`."""

    def call(*given: Any) -> Any:
        results = function(*jax.tree.map(_host, given))
        return jax.tree.map(lambda a, shape: np.asarray(a, dtype=shape.dtype), results, like)

    return jax.pure_callback(call, like, *arrays, vmap_method="sequential")


def _shape_of(array: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _refuse(primals: Any, tangents: Any) -> Any:
    raise UnsupportedError(NO_SECOND)


_first_only: Any = jax.custom_jvp(lambda array: array)  # the array itself, which is not derived again
_first_only.defjvp(_refuse)


def _compute(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
    rows = x if at is None else at
    like = jax.ShapeDtypeStruct(rows.shape if name == "acc" else rows.shape[:1], x.dtype)
    return _callback(lambda *arrays: on_host(how, name, *arrays), like, x, mass, at)


def _derive(how: How, name: Sum, primals: Any, tangents: Any) -> Any:
    """The sum and its change, which is linear in the tangents and has a transpose."""
    if how.mac != "direct":
        raise UnsupportedError(NO_TREE)
    result = _sum(how, name, *primals)
    wanted = [part is not None and type(part).__name__ != "SymbolicZero" for part in tangents]
    places = [k for k in range(3) if wanted[k]]
    some = [tangents[k] for k in places]
    like, likes = _shape_of(result), [_shape_of(primals[k]) for k in places]

    def compute_change(arrays: Any, parts: Any) -> Any:
        def function(x: Any, mass: Any, at: Any, *parts: Any) -> Any:
            changes: list[Any] = [None, None, None]
            for k, part in zip(places, parts):
                changes[k] = part
            return change(how, name, x, mass, at, tuple(changes))

        return _callback(function, like, *arrays, *parts)

    def compute_gradients(arrays: Any, u: Any) -> Any:
        def function(x: Any, mass: Any, at: Any, u: Any) -> Any:
            found = gradients(how, name, x, mass, at, u, tuple(wanted))  # type: ignore[arg-type]
            return [found[k] for k in places]

        return _callback(function, likes, *arrays, u)

    arrays = jax.tree.map(_first_only, primals)
    return result, linear_call(compute_change, compute_gradients, arrays, some)


_sum: Any = jax.custom_jvp(_compute, nondiff_argnums=(0, 1))
_sum.defjvp(_derive, symbolic_zeros=True)


def jax_sum(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
    """The sum of arrays of JAX, or of arrays of which one is."""
    given = [
        array if array is None or isinstance(array, jax.Array) else _native(host_array(array, name))
        for name, array in (("x", x), ("mass", mass), ("targets", at))
    ]
    x, mass, at = (None if array is None else jnp.asarray(array) for array in given)
    if any(array is not None and jnp.iscomplexobj(array) for array in (x, mass, at)):
        raise TypeError("an array is complex; x, mass and targets must be of real numbers")
    check_shapes(x, mass, at)
    dtype = x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.result_type(float)
    if not any(isinstance(array, jax.core.Tracer) for array in (x, mass, at)):
        result = on_host(how, name, *map(_host, given))  # without the rounding of JAX to its own types
        places = x.devices()
        return jax.device_put(np.asarray(result, dtype=dtype), next(iter(places)) if len(places) == 1 else None)
    if how.mac is None:
        how = How(how.eps, how.G, "direct", None, how.precision, how.backend)
    x, mass = x.astype(dtype), jnp.broadcast_to(mass.astype(dtype), x.shape[:1])
    return _sum(how, name, x, mass, None if at is None else at.astype(dtype))
