#!/usr/bin/env python3
"""force_ctypes.py - the native interface of libsapporo from Python, with nothing but ctypes.

    force_ctypes.py [N]

Sums the acceleration and the potential of N random particles on each other, compares a few of them with a sum in
Python, and prints the nearest neighbour of the first.  The library is found as the loader finds it, or where
SAPPORO_LIBRARY says.
"""
import ctypes
import math
import os
import random
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_uint, c_void_p

# ---- sapporo.h: the structs, and what the functions that are used here take


class Column(ctypes.Structure):
    """Values of all particles: where the first is, and how far apart they lie (0: without gaps)."""
    _fields_ = [("base", c_void_p), ("stride", c_ssize_t)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("order", c_int), ("precision", c_int), ("backend", c_int), ("devices", c_void_p),
                ("ndevices", c_int), ("preferred_device", c_int), ("cpu_isa", c_char_p), ("threads", c_int),
                ("root", c_int)]


class Particles(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("derivative", Column * 7), ("mass", Column), ("time", Column), ("index", Column),
                ("eps2", Column), ("seventh", Column)]


class Request(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("nj", c_int), ("ni", c_int), ("x", Column), ("v", Column), ("index", Column),
                ("h2", Column), ("eps2", c_double), ("want", c_uint), ("eps2_i", Column), ("a", Column),
                ("jerk", Column), ("pairs", c_int), ("h2_by_mass", c_int), ("dtr", Column)]


class Result(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("acc", c_void_p), ("jerk", c_void_p), ("pot", c_void_p), ("nearest", c_void_p),
                ("nearest_r2", c_void_p), ("snap", c_void_p), ("crackle", c_void_p)]


def load():
    lib = ctypes.CDLL(os.environ.get("SAPPORO_LIBRARY", "libsapporo.so"))
    lib.sapporo_open.argtypes = [POINTER(Options), POINTER(c_void_p)]
    lib.sapporo_close.argtypes = [c_void_p]
    lib.sapporo_kind.argtypes = lib.sapporo_last_error.argtypes = [c_void_p]
    lib.sapporo_kind.restype = lib.sapporo_last_error.restype = c_char_p
    lib.sapporo_set_particles.argtypes = [c_void_p, c_int, c_int, POINTER(Particles)]
    lib.sapporo_force_begin.argtypes = [c_void_p, POINTER(Request), POINTER(c_void_p)]
    lib.sapporo_force_end.argtypes = [c_void_p, c_int, POINTER(Result)]
    lib.sapporo_force_free.argtypes = [c_void_p]
    return lib


def new(struct, **members):
    return struct(size=ctypes.sizeof(struct), **members)


def column(array):
    return Column(ctypes.addressof(array), 0)


# ---- a force


class Context:
    """A context of order 4; arrays are flat: x[3 * k + axis]."""

    def __init__(self):
        self.lib, self.handle = load(), c_void_p()
        self.check(self.lib.sapporo_open(byref(new(Options)), byref(self.handle)))

    def check(self, status):
        if status < 0:
            raise RuntimeError(self.lib.sapporo_last_error(self.handle).decode())

    def kind(self):
        return self.lib.sapporo_kind(self.handle).decode()

    def set_particles(self, x, mass):
        particles = new(Particles, mass=column(mass))
        particles.derivative[0] = column(x)
        self.check(self.lib.sapporo_set_particles(self.handle, 0, len(mass), byref(particles)))

    def force(self, x, index, eps, nj):
        """Acceleration, potential and index of the nearest of particles that are skipped by their index."""
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


def direct(i, x, mass, eps):
    """The same by Python, for one particle."""
    acc, pot = [0.0, 0.0, 0.0], 0.0
    for j, m in enumerate(mass):
        if j == i:
            continue
        r = [x[3 * j + axis] - x[3 * i + axis] for axis in range(3)]
        r2 = eps * eps + sum(d * d for d in r)
        pot -= m / math.sqrt(r2)
        for axis in range(3):
            acc[axis] += m * r[axis] / r2**1.5
    return acc, pot


def main():
    n, eps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 0.01
    source = random.Random(1)
    x = (c_double * (3 * n))(*(source.gauss(0, 1) for _ in range(3 * n)))
    mass = (c_double * n)(*(1 / n for _ in range(n)))
    index = (c_int * n)(*range(n))  # j-particles that are given none have their address

    context = Context()
    context.set_particles(x, mass)
    acc, pot, nearest = context.force(x, index, eps, n)
    worst = 0.0
    for i in range(0, n, max(1, n // 10)):
        a, p = direct(i, x, mass, eps)
        got = acc[3 * i:3 * i + 3]
        worst = max(worst, math.dist(got, a) / math.hypot(*a), abs(pot[i] / p - 1))
    print(f"{context.kind()}: {n} particles, largest relative error {worst:.1e}, "
          f"potential energy {sum(pot) / n / 2:.6f}, nearest of 0 is {nearest[0]}")
    context.close()
    return 0 if worst < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
