"""Arrays in device memory: `__cuda_array_interface__` (CuPy, PyTorch, JAX, Numba) and DLPack.

The library reads and writes device memory itself and starts when it is called, so all work on the arrays must be
complete then.  wait_for() therefore waits for all streams of the CUDA context that owns the memory.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import DeviceError

# DLDeviceType of DLPack: memory that a CUDA device addresses, and memory that the host addresses.
_DL_CUDA = {2, 13}
_DL_HOST = {1, 3}
_DL_KINDS = {0: "i", 1: "u", 2: "f"}


class _DLTensor(ctypes.Structure):
    """DLTensor of DLPack, the first member of DLManagedTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class DeviceArray:
    """An array in device memory.  strides: bytes, None: contiguous; owner: what must live as long as it is used."""

    address: int
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None
    writable: bool
    owner: Any

    @property
    def contiguous(self) -> bool:
        """Whether the values follow each other without gaps, the last axis first."""
        if self.strides is None or 0 in self.shape:
            return True
        step = self.dtype.itemsize
        for length, stride in zip(reversed(self.shape), reversed(self.strides)):
            if length > 1 and stride != step:
                return False
            step *= length
        return True


def _from_interface(value: Any, name: str) -> DeviceArray:
    """An array by `__cuda_array_interface__`, any version."""
    told = value.__cuda_array_interface__
    if told.get("mask") is not None:
        raise TypeError(f"{name} has a mask; masked arrays are not supported")
    address, readonly = told["data"]
    strides = told.get("strides")
    return DeviceArray(
        int(address or 0),
        tuple(told["shape"]),
        np.dtype(told["typestr"]),
        None if strides is None else tuple(strides),
        not readonly,
        value,
    )


def _from_dlpack(value: Any, name: str) -> DeviceArray:
    """An array by DLPack.  The capsule stays unconsumed; its destructor gives the memory back to the producer."""
    capsule = value.__dlpack__(stream=-1)  # -1: wait_for() synchronises
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    if t.lanes != 1 or t.code not in _DL_KINDS:
        raise TypeError(f"{name} has a type of DLPack that is not supported (code {t.code}, {t.lanes} lanes)")
    dtype = np.dtype(f"{_DL_KINDS[t.code]}{t.bits // 8}")
    strides = tuple(t.strides[k] * dtype.itemsize for k in range(t.ndim)) if t.strides else None
    shape = tuple(t.shape[k] for k in range(t.ndim))
    return DeviceArray((t.data or 0) + t.byte_offset, shape, dtype, strides, True, (value, capsule))


def device_array(value: Any, name: str) -> DeviceArray | None:
    """The array if it is in memory of a CUDA device; None if it is in host memory."""
    if value is None or isinstance(value, np.ndarray):
        return None
    if hasattr(value, "__cuda_array_interface__"):
        return _from_interface(value, name)
    if not hasattr(value, "__dlpack_device__"):
        return None
    kind = int(value.__dlpack_device__()[0])
    if kind in _DL_HOST:
        return None
    if kind not in _DL_CUDA:
        raise TypeError(f"{name} is in memory of a device of DLPack type {kind}; CUDA and host memory are supported")
    return _from_dlpack(value, name)


def all_in_device(given: dict[str, Any]) -> dict[str, DeviceArray] | None:
    """The arrays if all are in device memory; None if all are in host memory."""
    found = {name: device_array(value, name) for name, value in given.items()}
    there = {name: array for name, array in found.items() if array is not None}
    if there and len(there) < len(found):
        host = ", ".join(name for name in found if name not in there)
        raise TypeError(
            f"{', '.join(there)} in device memory, {host} in host memory; all arrays of a call must be in one memory"
        )
    return there or None


def require(array: DeviceArray, name: str, shape: tuple[int | None, ...], kind: Any, writable: bool = False) -> None:
    """Raises ValueError unless the array is contiguous and has this shape (None: any length) and type."""
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape)
    )
    wanted = (
        f"it must be contiguous, of shape {tuple('n' if w is None else w for w in shape)} and type {np.dtype(kind)}"
    )
    if not fits or array.dtype != np.dtype(kind) or not array.contiguous:
        raise ValueError(
            f"{name} is in device memory, of shape {array.shape}, type {array.dtype} and strides {array.strides}; "
            f"{wanted}, because arrays in device memory are not converted"
        )
    if writable and not array.writable:
        raise ValueError(f"{name} is read-only; {wanted} and writable")


# ---- waiting for the streams of others

_CONTEXT, _ORDINAL = 1, 9  # CUpointer_attribute


def _driver() -> Any:
    """The CUDA driver; None if there is none."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _ask(cuda: Any, attribute: int, answer: Any, address: int) -> bool:
    status: int = cuda.cuPointerGetAttribute(ctypes.byref(answer), attribute, ctypes.c_uint64(address))
    return status == 0


def wait_for(address: int) -> None:
    """Waits until all work in the CUDA context of this memory is complete.

    Does nothing if there is no driver, or if the driver does not know the address: the library then says what is wrong.
    """
    cuda = _driver()
    if cuda is None or address == 0:
        return
    context, ordinal, device = ctypes.c_void_p(), ctypes.c_int(-1), ctypes.c_int(-1)
    if not _ask(cuda, _ORDINAL, ordinal, address):
        return
    retained = not (_ask(cuda, _CONTEXT, context, address) and context.value)
    status: int = 0
    if retained:  # memory of a pool belongs to no context; its users use the primary one
        status = cuda.cuDeviceGet(ctypes.byref(device), ordinal)
        status = status or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    status = status or cuda.cuCtxPushCurrent_v2(context)
    if status == 0:
        status = cuda.cuCtxSynchronize()
        cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    if retained and context.value:
        cuda.cuDevicePrimaryCtxRelease_v2(device)
    if status != 0:
        raise DeviceError(f"CUDA reported error {status} while it completed work on an array of device {ordinal.value}")


def complete(arrays: dict[str, DeviceArray], backend: str) -> None:
    """Completes the work of others on the arrays of a call.  Engines other than CUDA's refuse them, and say why."""
    if backend == "cuda":
        for address in {array.address for array in arrays.values()}:
            wait_for(address)
