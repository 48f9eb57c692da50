"""What the nearest particles of all particles take, and those within the distance of the k-th: beside scipy's k-d tree,
or on a GPU from and to arrays of CuPy.

python3 test/perf/nearest.py [BACKEND [N [K ...]]]: backend cpu by default, one core by taskset; Plummer's
model of N particles (default 1048576).  Prints milliseconds: of builds, and of searches, the shortest of three.
"""

import os
import sys
import time

import numpy as np
import sapporo


def plummer(n):
    """Positions of Plummer's model in random order, within 40 scale lengths."""
    rng = np.random.default_rng(1)
    r = (rng.uniform(0, 0.999, n) ** (-2 / 3) - 1) ** -0.5
    direction = rng.normal(size=(n, 3))
    return r[:, None] * direction / np.linalg.norm(direction, axis=1)[:, None]


def shortest(call, rounds=3):
    """Milliseconds of the fastest call."""
    best = np.inf
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return 1e3 * best


def main():
    """Measures, and prints a line for each k."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 20
    numbers = [int(word) for word in sys.argv[3:]] or [8, 32, 128]
    x = plummer(n)
    with sapporo.Tree(n, backend=backend) as tree:
        tree.set(x, np.ones(n))
        tree.build()
        print(f"{tree.kind}: {n} particles, build {shortest(tree.build):.2f} ms")
        for k in numbers:
            out = lists = None
            radius = np.sqrt(tree.nearest(k).distance2[:, -1])
            if backend == "cuda":
                import cupy

                out = {"address": cupy.empty((n, k), np.int32), "distance2": cupy.empty((n, k))}
                lists = {"first": cupy.empty(n + 1, np.int64), "entries": cupy.empty(n * k, np.int32)}
                radius = cupy.asarray(radius)
            print(f"k {k}: {shortest(lambda k=k, out=out: tree.nearest(k, out=out)):.2f} ms", flush=True)
            within = shortest(lambda radius=radius, lists=lists: tree.within(radius, out=lists))
            print(f"within the {k}th: {within:.2f} ms", flush=True)
    if backend != "cpu":
        return
    from scipy.spatial import cKDTree

    workers = len(os.sched_getaffinity(0))
    print(f"cKDTree: build {shortest(lambda: cKDTree(x), 1):.2f} ms")
    peer = cKDTree(x)
    for k in numbers:
        print(f"k {k}: {shortest(lambda k=k: peer.query(x, k + 1, workers=workers), 1):.2f} ms", flush=True)


main()
