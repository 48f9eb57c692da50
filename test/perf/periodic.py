"""What forces, and nearest particles, of a periodic cube take beside those of open space.

python3 test/perf/periodic.py [BACKEND [N [ANGLE ...]]]: backend cpu by default, one core by taskset; a uniform cube of
N particles (default 1048576), opening angles (default 0.7 and 0.5).  Prints the medians of five in milliseconds: of
builds, of walks, and of searches for the eight nearest of all particles, with arrays in host memory.
"""

import statistics
import sys
import time

import numpy as np
import sapporo

ROUNDS = 5


def medians(tree):
    """Medians of build and walk; the first round is not counted."""
    seconds = []
    for _ in range(ROUNDS + 1):
        tree.build()
        tree.force()
        seconds.append(tree.statistics().seconds)
    builds = [1e3 * (sum(s) - s.walk) for s in seconds[1:]]
    return statistics.median(builds), statistics.median(1e3 * s.walk for s in seconds[1:])


def search(tree):
    """Median of searches for nearest particles."""
    took = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        tree.nearest(8)
        took.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(took)


def main():
    """Measures, and prints a line for each angle and for the searches."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 20
    angles = [float(word) for word in sys.argv[3:]] or [0.7, 0.5]
    x = np.random.default_rng(1).uniform(size=(n, 3))
    for angle in angles:
        for period in (0, 1):
            with sapporo.Tree(n, backend=backend, mac="opening", accuracy=angle, period=period) as tree:
                tree.set(x, np.full(n, 1 / n))
                build, walk = medians(tree)
                print(f"{n}, angle {angle}, period {period}: build {build:.2f}, walk {walk:.2f}", flush=True)
                if angle == angles[-1]:
                    print(f"{n}, period {period}: eight nearest {search(tree):.2f}", flush=True)


if __name__ == "__main__":
    main()
