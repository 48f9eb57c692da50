"""Sums of arrays of JAX, which it derives and compiles."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import host_array
from ._errors import UnsupportedError
from ._gradients import change, gradients
from ._sums import How, check_shapes, on_host
from ._tree import Sum

jax: Any = importlib.import_module("jax")
jnp: Any = jax.numpy
ad: Any = importlib.import_module("jax.interpreters.ad")
batching: Any = importlib.import_module("jax.interpreters.batching")
mlir: Any = importlib.import_module("jax.interpreters.mlir")
Primitive: Any = importlib.import_module("jax.extend.core").Primitive

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


# ---- changes and gradients as operations that are each other's transpose
#
# Operands are x, mass and, if there are targets, at; then what the operation is linear in: the changes of those of the
# three that are wanted, or u.  All may have leading dimensions, which jax.vmap adds.


@dataclass(frozen=True)
class Which:
    """The sum that is derived, and by what."""

    how: How
    name: Sum
    wanted: tuple[bool, bool, bool]
    has_at: bool

    def split(self, operands: Any) -> tuple[list[Any], list[Any]]:
        """The arrays of the sum (at: None if there are no targets), and the linear operands."""
        n = 3 if self.has_at else 2
        return [*operands[:n], *([] if self.has_at else [None])], list(operands[n:])

    def result(self, operands: Any) -> Any:
        """The shape and type of the sum."""
        rows = operands[2 if self.has_at else 0]
        return jax.ShapeDtypeStruct(rows.shape if self.name == "acc" else rows.shape[:-1], rows.dtype)

    def derived(self, operands: Any) -> list[Any]:
        """The arrays by which it is derived."""
        return [array for array, wanted in zip(self.split(operands)[0], self.wanted) if wanted]


def _each(arrays: list[Any]) -> Any:
    """The arrays of each sum, with its place among the leading dimensions."""
    for place in np.ndindex(arrays[0].shape[:-2]):
        yield place, [None if array is None else array[place] for array in arrays]


def _change(*operands: Any, which: Which) -> Any:
    def function(*given: Any) -> Any:
        arrays, parts = which.split(given)
        result = np.empty(which.result(given).shape)
        for place, (x, mass, at) in _each(arrays):
            left = iter(parts)
            dx, dm, dt = (next(left)[place] if wanted else None for wanted in which.wanted)
            result[place] = change(which.how, which.name, x, mass, at, (dx, dm, dt))
        return result

    return _callback(function, which.result(operands), *operands)


def _gradients(*operands: Any, which: Which) -> Any:
    def function(*given: Any) -> Any:
        arrays, (u,) = which.split(given)
        results = [np.empty(array.shape) for array in which.derived(given)]
        for place, (x, mass, at) in _each(arrays):
            found = gradients(which.how, which.name, x, mass, at, u[place], which.wanted)
            for result, part in zip(results, (part for part in found if part is not None)):
                result[place] = part
        return results

    return _callback(function, [_shape_of(array) for array in which.derived(operands)], *operands)


def _abstract(like: Any) -> Any:
    return jax.core.ShapedArray(like.shape, like.dtype)


def _primitive(name: str, function: Any, like: Any, several: bool) -> Any:
    """An operation that is linear in its last operands, and is not derived by the others."""
    primitive = Primitive(f"sapporo_{name}")
    primitive.multiple_results = several

    def derive(primals: Any, tangents: Any, which: Which) -> Any:
        arrays = 3 if which.has_at else 2
        if any(type(tangent) is not ad.Zero for tangent in tangents[:arrays]):
            raise UnsupportedError(NO_SECOND)
        parts = map(ad.instantiate_zeros, tangents[arrays:])
        return primitive.bind(*primals, which=which), primitive.bind(*primals[:arrays], *parts, which=which)

    def batch(operands: Any, dims: Any, which: Which) -> Any:
        size = next(a.shape[d] for a, d in zip(operands, dims) if d is not None)
        moved = [
            jnp.broadcast_to(a, (size, *a.shape)) if d is None else jnp.moveaxis(a, d, 0)
            for a, d in zip(operands, dims)
        ]
        results = primitive.bind(*moved, which=which)
        return results, [0] * len(results) if several else 0

    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda *operands, which: jax.tree.map(_abstract, like(which, operands)))
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=several))
    ad.primitive_jvps[primitive] = derive
    batching.primitive_batchers[primitive] = batch
    return primitive


_change_p = _primitive("change", _change, lambda which, operands: which.result(operands), False)
_gradients_p = _primitive(
    "gradients", _gradients, lambda which, operands: [_shape_of(array) for array in which.derived(operands)], True
)


def _transposed(primitive: Any) -> Any:
    """Applies the transpose of an operation, which is `primitive`, to cotangents."""

    def transpose(cotangents: Any, *operands: Any, which: Which) -> Any:
        arrays = operands[: 3 if which.has_at else 2]
        given = cotangents if isinstance(cotangents, (list, tuple)) else [cotangents]
        found = primitive.bind(*arrays, *map(ad.instantiate_zeros, given), which=which)
        return [None] * len(arrays) + (list(found) if primitive.multiple_results else [found])

    return transpose


ad.primitive_transposes[_change_p] = _transposed(_gradients_p)
ad.primitive_transposes[_gradients_p] = _transposed(_change_p)


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
    which = Which(how, name, (wanted[0], wanted[1], wanted[2]), primals[2] is not None)
    operands = [array for array in primals if array is not None]
    parts = [part for part, is_wanted in zip(tangents, wanted) if is_wanted]
    return result, _change_p.bind(*operands, *parts, which=which)


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
