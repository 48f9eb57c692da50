"""What tidal tensors of all particles from a tree take, and how far off they are, beside accelerations.

python3 test/perf/tidal.py [BACKEND [N [ROWS]]]: backend cpu by default, Plummer's model of N particles (default 65536),
errors at ROWS of them (default 1024), 0: none.  Prints, for criteria and orders, milliseconds of forces and of tensors,
the shortest of three, and the median and 99 % of the relative errors of both.
"""

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


def tree_of(x, backend, **options):
    """A tree of particles of equal mass."""
    tree = sapporo.Tree(len(x), backend=backend, **options)
    tree.set(x, np.full(len(x), 1 / len(x)))
    tree.build()
    return tree


def norm(tensor):
    """The size of each tensor, whose elements beside the diagonal count twice."""
    return np.sqrt((tensor**2 * [1, 2, 2, 1, 2, 1]).sum(axis=1))


def quantiles(error, size):
    """The median and 99 % of relative errors."""
    return " ".join(f"{q:.1e}" for q in np.quantile(error / size, [0.5, 0.99]))


def main():
    """Measures, and prints a line for each criterion and order."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 16
    rows = np.arange(int(sys.argv[3]) if len(sys.argv) > 3 else 1024)
    x = plummer(n)
    if len(rows) > 0:
        with tree_of(x, backend, mac="opening", accuracy=1e-9, precision="dp") as tree:
            acc, tidal = tree.force(rows).acc, tree.tidal(rows)
    for mac, accuracy in (("opening", 0.7), ("opening", 0.3), ("acceleration", 0.01), ("acceleration", 1e-3)):
        for order in (1, 2):
            with tree_of(x, backend, mac=mac, accuracy=accuracy, multipoles=order) as tree:
                tree.force()  # accelerations for the criterion
                times = f"force {shortest(tree.force):.1f} ms, tensors {shortest(tree.tidal):.1f} ms"
                errors = ""
                if len(rows) > 0:
                    a = np.linalg.norm(tree.force(rows).acc - acc, axis=1)
                    errors = (
                        f"; errors {quantiles(a, np.linalg.norm(acc, axis=1))}"
                        f" and {quantiles(norm(tree.tidal(rows) - tidal), norm(tidal))}"
                    )
                print(f"{mac} {accuracy:g}, order {order}: {times}{errors}", flush=True)


if __name__ == "__main__":
    main()
