"""Sums of tensors of PyTorch, which autograd derives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ._arrays import host_array
from ._errors import UnsupportedError
from ._gradients import change, gradients
from ._sums import How, check_shapes, is_tree_on_device, on_host, tree_on_device
from ._tree import Sum

torch: Any = importlib.import_module("torch")

NO_SECOND = "second derivatives of sums are not available"
NO_TREE = "derivatives of trees are not available: theta and accuracy must be absent or 0"


def _host(tensor: Any) -> Any:
    """A copy in host memory, of float64."""
    return None if tensor is None else tensor.detach().to("cpu", torch.float64).numpy()


def _like(array: Any, tensor: Any) -> Any:
    return None if array is None else torch.from_numpy(array).to(tensor.device, tensor.dtype)


class _Sum(torch.autograd.Function):  # type: ignore[misc]
    """A direct sum."""

    @staticmethod
    def forward(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
        """The sum."""
        return _like(on_host(how, name, _host(x), _host(mass), _host(at)), x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps the arrays."""
        ctx.how, ctx.name, *arrays = inputs
        ctx.save_for_backward(*arrays)
        ctx.save_for_forward(*arrays)

    @staticmethod
    def backward(ctx: Any, *u: Any) -> Any:
        """Gradients by the arrays."""
        wanted = tuple(ctx.needs_input_grad[2:])

        def compute(x: Any, mass: Any, at: Any, u: Any) -> Any:
            return gradients(ctx.how, ctx.name, x, mass, at, u, wanted)

        return None, None, *_Derivative.apply(compute, *ctx.saved_tensors, u[0])

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        """The change of the sum by changes of the arrays."""

        def compute(x: Any, mass: Any, at: Any, *parts: Any) -> Any:
            return (change(ctx.how, ctx.name, x, mass, at, parts),)

        return _Derivative.apply(compute, *ctx.saved_tensors, *changes[2:])[0]


class _Derivative(torch.autograd.Function):  # type: ignore[misc]
    """A derivative of a sum: a function of its own, so that derivatives of it are refused."""

    @staticmethod
    def forward(compute: Any, x: Any, mass: Any, at: Any, *others: Any) -> Any:
        """The results of `compute`, of the types of the arrays."""
        found = compute(*(_host(array) for array in (x, mass, at, *others)))
        return tuple(_like(part, array) for part, array in zip(found, (x, mass, at)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps nothing."""

    @staticmethod
    def backward(ctx: Any, *u: Any) -> Any:
        """Refuses."""
        raise UnsupportedError(NO_SECOND)

    @staticmethod
    def jvp(ctx: Any, *changes: Any) -> Any:
        """Refuses."""
        raise UnsupportedError(NO_SECOND)


def _tensor(array: Any, name: str, device: Any) -> Any:
    """A tensor on the device: of a tensor itself, of arrays of float in their type, of others in double."""
    if array is None:
        return None
    if not isinstance(array, torch.Tensor):
        host = host_array(array, name)
        kind = np.float32 if host.dtype.type is np.float32 else np.float64 if np.isrealobj(host) else np.complex128
        array = torch.from_numpy(np.array(host, dtype=kind))
    if array.is_complex():
        raise TypeError(f"{name} is complex; it must be of real numbers")
    return (array if array.is_floating_point() else array.to(torch.float64)).to(device)


def _is_derived(tensor: Any) -> bool:
    if tensor is None:
        return False
    has_tangent = torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None
    return has_tangent or (tensor.requires_grad and torch.is_grad_enabled())


def torch_sum(how: How, name: Sum, x: Any, mass: Any, at: Any) -> Any:
    """The sum of tensors, or of arrays of which one is a tensor."""
    first = next(array for array in (x, mass, at) if isinstance(array, torch.Tensor))
    device = x.device if isinstance(x, torch.Tensor) else first.device
    x, mass, at = _tensor(x, "x", device), _tensor(mass, "mass", device), _tensor(at, "targets", device)
    shape = check_shapes(x, mass, at)
    mass = mass.expand(x.shape[0])
    derived = any(_is_derived(array) for array in (x, mass, at))
    if derived and how.mac not in (None, "direct"):
        raise UnsupportedError(NO_TREE)
    if derived or how.mac == "direct":
        return _Sum.apply(_direct(how), name, x, mass, at)
    if x.is_cuda and is_tree_on_device(how, x.shape[0], at):
        x_, mass_ = (array.detach().to(torch.float64).contiguous() for array in (x, mass))
        out = torch.empty(shape if name == "acc" else shape[:1], dtype=torch.float64, device=x.device)
        tree_on_device(how, name, x_, mass_, out, x.device.index)
        return out.to(x.dtype)
    return _like(on_host(how, name, _host(x), _host(mass), _host(at)), x)


def _direct(how: How) -> How:
    return How(how.eps, how.G, "direct", None, how.precision, how.backend)
