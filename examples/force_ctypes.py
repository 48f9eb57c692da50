#!/usr/bin/env python3
"""force_ctypes.py - the forces of four particles on each other, by the native interface, with nothing but ctypes.

    SAPPORO_LIBRARY=/usr/local/lib/libsapporo.so python3 force_ctypes.py

Without SAPPORO_LIBRARY the program takes the library of its own clone or installation, or else that of the loader.
Prints the engine that computed, and one line for each particle: mass, position, acceleration, potential.  G = 1, and
the softening length is 0.1.  The structs and the class Context can be copied into other programs.
"""
import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_uint, c_void_p

# ---- sapporo.h: the structs, and the arguments of the functions that are used here


class Column(ctypes.Structure):
    """Values of all particles: the address of the first, and the bytes from one to the next (0: without gaps)."""
    _fields_ = [("base", c_void_p), ("stride", c_ssize_t)]


class Particles(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("derivative", Column * 8), ("mass", Column), ("time", Column), ("eps2", Column),
                ("index", Column), ("memory", c_int)]


class Request(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("nj", c_int), ("ni", c_int), ("x", Column), ("v", Column), ("a", Column),
                ("jerk", Column), ("index", Column), ("eps2", c_double), ("eps2_i", Column), ("pairs", c_int),
                ("want", c_uint), ("h2", Column), ("softening", c_int), ("regular", c_void_p), ("memory", c_int)]


class Result(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("acc", c_void_p), ("jerk", c_void_p), ("snap", c_void_p), ("crackle", c_void_p),
                ("pot", c_void_p), ("nearest", c_void_p), ("nearest_r2", c_void_p), ("count", c_void_p),
                ("memory", c_int)]


def load():
    here = os.path.dirname(os.path.abspath(__file__))
    near = [os.path.join(here, path, "libsapporo.so") for path in ("../lib", "../../../../lib", "/usr/local/lib")]
    name = os.environ.get("SAPPORO_LIBRARY") or next(filter(os.path.exists, near), "libsapporo.so")
    try:
        lib = ctypes.CDLL(name)
    except OSError as error:
        sys.exit(f"force_ctypes.py: {error}: run make in the clone, or set SAPPORO_LIBRARY to the file libsapporo.so")
    lib.sapporo_open.argtypes = [c_void_p, POINTER(c_void_p)]
    lib.sapporo_close.argtypes = lib.sapporo_force_free.argtypes = [c_void_p]
    lib.sapporo_kind.argtypes = lib.sapporo_last_error.argtypes = [c_void_p]
    lib.sapporo_kind.restype = lib.sapporo_last_error.restype = c_char_p
    lib.sapporo_set_particles.argtypes = [c_void_p, c_int, c_int, POINTER(Particles)]
    lib.sapporo_force_begin.argtypes = [c_void_p, POINTER(Request), POINTER(c_void_p)]
    lib.sapporo_force_end.argtypes = [c_void_p, c_int, POINTER(Result)]
    return lib


def new(struct, **members):
    return struct(size=ctypes.sizeof(struct), **members)


def column(array):
    return Column(ctypes.addressof(array), 0)


class Context:
    """A context of order 4.  Arrays of vectors are flat: x[3 * k + axis]."""

    def __init__(self):
        self.lib, self.handle = load(), c_void_p()
        self.check(self.lib.sapporo_open(None, byref(self.handle)))

    def check(self, status):
        """A negative status is an error and becomes an exception; a positive one is success with a remark."""
        if status < 0:
            raise RuntimeError(self.lib.sapporo_last_error(self.handle).decode())

    def kind(self):
        return self.lib.sapporo_kind(self.handle).decode()

    def set_particles(self, x, mass):
        """Stores the sources at addresses 0, 1, ...  Their indices are these addresses."""
        particles = new(Particles, mass=column(mass))
        particles.derivative[0] = column(x)
        self.check(self.lib.sapporo_set_particles(self.handle, 0, len(mass), byref(particles)))

    def force(self, x, index, eps, nj):
        """Acceleration, potential and index of the nearest source, from all sources but those of equal index."""
        n = len(index)
        acc, pot, nearest, job = (c_double * (3 * n))(), (c_double * n)(), (c_int * n)(), c_void_p()
        request = new(Request, nj=nj, ni=n, x=column(x), index=column(index), eps2=eps * eps)
        result = new(Result, acc=ctypes.addressof(acc), pot=ctypes.addressof(pot), nearest=ctypes.addressof(nearest))
        self.check(self.lib.sapporo_force_begin(self.handle, byref(request), byref(job)))
        try:
            self.check(self.lib.sapporo_force_end(job, n, byref(result)))
        finally:
            self.lib.sapporo_force_free(job)
        return acc, pot, nearest

    def close(self):
        self.lib.sapporo_close(self.handle)
        self.handle = c_void_p()


def main():
    n, eps = 4, 0.1
    mass = (c_double * n)(1, 2, 3, 4)
    x = (c_double * (3 * n))(0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, -3)
    context = Context()
    context.set_particles(x, mass)
    acc, pot, _ = context.force(x, (c_int * n)(*range(n)), eps, n)
    print(f"# {context.kind()}, softening length {eps:.3f}\n# mass, position, acceleration, potential")
    for k in range(n):
        vectors = [" ".join(f"{value:.8f}" for value in array[3 * k:3 * k + 3]) for array in (x, acc)]
        print(f"{mass[k]:g}  {vectors[0]}  {vectors[1]}  {pot[k]:.8f}")
    context.close()


if __name__ == "__main__":
    sys.exit(main())
