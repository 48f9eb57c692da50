"""What forces over MPI ranks cost: the model of docs/scaling.md.

    python3 docs/figures/scaling_model.py              checks the model against docs/figures/scaling_measured.txt
    python3 docs/figures/scaling_model.py project      the tables of docs/scaling.md and docs/measurements.md
    python3 docs/figures/scaling_model.py trees        checks that of trees against scaling_trees.txt and scaling_sent.txt
    python3 docs/figures/scaling_model.py gpus         checks that of trees on GPUs against docs/data/h200s.csv

Lines of the measured files are those of test/mpi/speed.c and tree_speed.c; a line `# link NAME` says between what ranks
they were taken.  Each run prints the shortest times and costs of its repetitions; of equal runs of trees the shortest
counts, of others, and of costs, the median.
"""

import csv
import itertools
import math
import pathlib
import re
import statistics
import sys

BLOCK, RECORD, TARGET, ANSWER = 2048, 152, 64, 336  # bytes of order 4: j-particle, i-particle, its accumulators
PART = 32768  # j-particles in a part
SLAB = 4096  # i-particles of all ranks that CPUs compute at a time
AGREE = 4  # times in a force that ranks agree that none has failed: an operation of a few bytes, `message`
EAGER = 65536  # bytes of messages that MPI sends over TCP without announcing them
CORES = 2  # of the machine where scaling_measured.txt was measured

# Costs in seconds, as in sapporo_mpi_costs.  `own`: each i-particle that a rank hands to its engine; `load`: each
# j-particle that a kernel reads from device memory.
# H200 and its host: docs/measurements.md, "One NVIDIA H200": 24 us and 74 us for one i-particle on 131,072 and 1,048,576,
# 0.516, 6.97 and 104 ms for all pairs of 16,384, 65,536 and 262,144, 50 ns per stored particle; row: one CPU core.
# Message and byte are assumptions: one InfiniBand port of 400 Gbit/s per GPU that gives half of that from host memory.
H200 = {"message": 5e-6, "exchange": 5e-6, "byte": 1 / 25e9, "force": 17e-6, "own": 8e-9, "pair": 1.5e-12}
H200.update(row=1.5e-7, store=5e-8, load=(74e-6 - 24e-6) / (2**20 - 2**17))
# The same if j-particles went from device memory to device memory and were stored by the device.
DEVICE = dict(H200, byte=1 / 45e9, store=2e-10, row=1e-8)


def most_addresses(n, ranks):
    """j-particles of the rank that has most."""
    blocks = n // BLOCK
    return (blocks // ranks) * BLOCK + (BLOCK if blocks % ranks else n % BLOCK)


def kernel(c, ni, n):
    """Seconds of the force of n j-particles on ni i-particles, from start to end."""
    return c["force"] + n * c.get("load", 0) + ni * (c.get("own", 0) + n * c["pair"])


def processor(c, way, n, ni, ranks):
    """Seconds of work of a rank without what it waits for."""
    own = math.ceil(ni / ranks)
    if ranks == 1:
        return kernel(c, ni, n)
    if way == 1:
        return ni * c["row"] + kernel(c, ni, most_addresses(n, ranks))
    parts = math.ceil(n / PART)
    merged = own * c["row"] if parts > 1 else 0
    return n * c["store"] + parts * merged + (parts - 1) * c["force"] + kernel(c, own, n)


def carried(way, n, ni, ranks):
    """Bytes that a rank receives.  Links carry as many in the other direction at the same time."""
    return (ranks - 1) / ranks * (ni * (TARGET + ANSWER) if way == 1 else n * RECORD)


def begun(c, length, ranks):
    """Seconds of an exchange between all ranks besides its bytes; `length`: of the message to a rank.

    Short messages go one way.  To agree takes log2 R messages one after the other, and as many back.
    """
    return c["exchange"] if length > EAGER else c["message"] / (2 * math.ceil(math.log2(ranks)))


def travel(c, way, n, ni, ranks):
    """Seconds of messages, one after the other."""
    if ranks == 1:
        return 0
    small = AGREE * c["message"] + begun(c, 0, ranks)  # ranks compare their requests, too
    if way == 1:
        slabs = math.ceil(ni / SLAB)
        rows = ni / slabs / ranks  # of a rank in a slab
        long = slabs * (begun(c, rows * TARGET, ranks) + begun(c, rows * ANSWER, ranks))
    else:
        parts = math.ceil(n / PART)
        long = parts * begun(c, n / parts / ranks * RECORD, ranks)
    return small + long + c["byte"] * carried(way, n, ni, ranks)


def seconds(c, way, n, ni, ranks):
    """Seconds of a force on CPUs: they compute, or exchange.  Ranks without a core of their own compute in turns."""
    return max(1, ranks / CORES) * processor(c, way, n, ni, ranks) + travel(c, way, n, ni, ranks)


def work(c, way, n, ni, ranks):
    """Processor time of a force in shared memory: processors copy what travels, and sleep while they wait."""
    return processor(c, way, n, ni, ranks) + c["byte"] * carried(way, n, ni, ranks)


def seconds_of_gpus(c, n, ni, ranks):
    """The quicker way with GPUs: what travels, and what the host does, goes on while the GPU computes."""
    if ranks == 1:
        return processor(c, 2, n, ni, 1)
    own, parts, steps = math.ceil(ni / ranks), math.ceil(n / PART), math.log2(ranks)
    length = n / parts
    host = length * c["store"] + (own * c["row"] if parts > 1 else 0)
    link = steps * c["exchange"] + c["byte"] * length * RECORD * (ranks - 1) / ranks
    gpu = kernel(c, own, length)
    sources = link + host + gpu + (parts - 1) * max(host, link, gpu)
    slabs = math.ceil(ni / 16384)
    rows = ni / slabs
    host = rows * c["row"]
    link = 2 * steps * c["exchange"] + c["byte"] * rows * (TARGET + ANSWER) * (ranks - 1) / ranks
    gpu = kernel(c, rows, most_addresses(n, ranks))
    targets = link + host + gpu + (slabs - 1) * max(host, link, gpu)
    return (AGREE + 1) * steps * c["message"] + min(sources, targets)


def least_of(old, new):
    """The lesser of two values for each name."""
    return {name: min(value, old.get(name, value)) for name, value in new.items()}


def medians_of(found):
    """The median of each value."""
    return {name: statistics.median(f[name] for f in found) for name in found[0]}


def exchanged(c, ranks):
    """The costs with the times of the two exchanges that gave `byte` and `exchange` (lib/mpi/way.c) in their place."""
    share = 2**20 // ranks + 4
    received = {"shorter": share // 4 * (ranks - 1), "longer": share * (ranks - 1)}
    times = {name: c["exchange"] + n * c["byte"] for name, n in received.items()}
    return {name: value for name, value in c.items() if name not in ("byte", "exchange")} | times


def split(c, ranks):
    """The costs that follow from these times, as the library has them."""
    share = 2**20 // ranks + 4
    byte = max(c["longer"] - c["shorter"], 0) / ((share - share // 4) * (ranks - 1))
    return {**c, "byte": byte, "exchange": max(c["shorter"] - share // 4 * (ranks - 1) * byte, c["message"])}


def read(path):
    """Runs by (link, ranks, n, ni, way), and costs by (link, ranks): medians of the rounds."""
    link, ranks, runs, costs = "", 0, {}, {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        word = line.split()
        if line.startswith("# link"):
            link = line[7:].strip()
        elif line.startswith("costs"):
            new = {k: float(v) for k, v in zip(word[1::2], word[2::2])}
            costs.setdefault((link, ranks), []).append(exchanged(new, ranks))
        elif line.startswith("ranks"):
            head = {k: int(v) for k, v in re.findall(r"(ranks|n|ni|way) (\d+)", line)}
            ranks = head["ranks"]
            key = (link, ranks, head["n"], head["ni"], head["way"])
            new = {k: float(least) for k, least in re.findall(r"(force|work) ([0-9.]+)", line)}
            runs.setdefault(key, []).append(new)
    return (
        {key: medians_of(found) for key, found in runs.items()},
        {key: split(medians_of(found), key[1]) for key, found in costs.items()},
    )


def check(path):
    """Prints measured times beside those of the model."""
    print("| between | ranks | N | Ni | travel | measured | model | error |\n" + "| --- " * 8 + "|")
    runs, costs = read(path)
    # Seconds per pair of one rank, by N: a rank alone has no other rank beside it that takes turns with it.
    single = {n: run["work"] / (n * ni) for (_, ranks, n, ni, _), run in runs.items() if ranks == 1}
    worst = {}
    for (link, ranks, n, ni, way), run in runs.items():
        if ranks == 1:
            continue
        c = {**costs[(link, ranks)], "pair": single[n]}
        if link == "loopback":
            what, kind, model = run["work"], "processor time", work(c, way, n, ni, ranks)
        else:
            what, kind, model = run["force"], "seconds", seconds(c, way, n, ni, ranks)
        worst[kind] = max(worst.get(kind, 0), abs(model / what - 1))
        print(
            f"| {link}, {kind} | {ranks} | {n:,} | {ni:,} | {'sources' if way == 2 else 'targets'} "
            f"| {1e3 * what:.1f} ms | {1e3 * model:.1f} ms | {100 * (model / what - 1):+.0f} % |"
        )
    print("\nlargest error: " + ", ".join(f"{kind} {100 * error:.0f} %" for kind, error in worst.items()))


def efficiency(c, n, ni, ranks):
    """Speed over that of one GPU, per GPU."""
    return processor(c, 2, n, ni, 1) / (ranks * seconds_of_gpus(c, n, ni, ranks))


def last_paying(c, size):
    """The most GPUs, a power of two up to 65,536, at half of the ideal speed; size(ranks) is N."""
    best = 1
    for k in range(1, 17):
        if efficiency(c, size(2**k), size(2**k), 2**k) >= 0.5:
            best = 2**k
    return best


def weak_efficiency(c, per, ranks):
    """Pairs per second and GPU, over those of one GPU alone with its own particles."""
    alone = per * per / processor(c, 2, per, per, 1)
    n = per * ranks
    return n * n / ranks / seconds_of_gpus(c, n, n, ranks) / alone


def project():
    """Prints the tables of projections."""
    for title, c in (("from host memory", H200), ("from device memory", DEVICE)):
        print(f"\n**{title}**\n\n| N | 4 | 16 | 256 | 4,096 GPUs | half of the ideal speed up to |")
        print("| --- " * 6 + "|")
        for k in (16, 18, 20, 22, 24):
            row = [f"{100 * efficiency(c, 2**k, 2**k, r):.0f} %" for r in (4, 16, 256, 4096)]
            print(f"| strong, {2**k:,} | {' | '.join(row)} | {last_paying(c, lambda _, k=k: 2**k):,} GPUs |")
        for per in (25000, 2**18, 2**20):
            row = [f"{100 * weak_efficiency(c, per, r):.0f} %" for r in (4, 16, 256, 4096)]
            print(f"| weak, {per:,} per GPU | {' | '.join(row)} | |")
        row = [f"{efficiency(c, 2**20, 1024, r) * r:.1f}" for r in (4, 16, 256, 4096)]
        print(f"| block step, 1,024 of 1,048,576: times one GPU | {' | '.join(row)} | |")


def fit():
    """Prints what the model of one H200 says of measured forces."""
    print("| Ni | Nj | measured | model | error |\n| --- | --- | --- | --- | --- |")
    all_pairs = ((4096, 4096, 88), (16384, 16384, 516), (65536, 65536, 6970), (262144, 262144, 104e3))
    for ni, nj, us in (*all_pairs, (1024, 131072, 257), (256, 131072, 88)):
        model = 1e6 * processor(H200, 2, nj, ni, 1)
        print(f"| {ni:,} | {nj:,} | {us:,.0f} us | {model:,.0f} us | {100 * (model / us - 1):+.0f} % |")


# ---- trees ----------------------------------------------------------------------------------------------------------


def read_trees(path):
    """The measurements of tree_speed.c, by (N, ranks)."""
    found = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if not line.startswith("ranks"):
            continue
        head = {k: int(v) for k, v in re.findall(r"\b(ranks|n) (\d+)", line)}
        times = {k: float(least) for k, least in re.findall(r"(\w+_work) ([0-9.]+) [0-9.]+", line)}
        counts = {k: float(v) for k, v in re.findall(r"(interactions|uneven|cells|particles|tree) ([0-9.]+)", line)}
        key = (head["n"], head["ranks"])
        found[key] = {**counts, **least_of(found.get(key, {}), times)}
    return found


def looked_at(n, ranks):
    """Particles at which a rank looks while it selects what travels: its own, once for each other rank."""
    return n / ranks * (ranks - 1)


def surface(n, ranks):
    """Particles at the surface of a rank's share, times the ranks that are near, which grow with log2 R."""
    return (n / ranks) ** (2 / 3) * math.log2(2 * ranks)


def outskirts(_, ranks):
    """The part of the sparse outskirts that a rank has, and sends to the part of the groups that other ranks have."""
    return (ranks - 1) / ranks**2


def read_sent(path):
    """Particles sent by the rank that sends most, by (N, ranks): one number for each seed."""
    sent = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        found = re.match(r"ranks (\d+) n (\d+) .* seed \d+ .* particles (\d+) tree", line)
        if found:
            ranks, n, particles = map(int, found.groups())
            sent.setdefault((n, ranks), []).append(particles)
    return sent


def is_fitted(n, ranks):
    """Whether the two numbers of what travels are fitted to a row."""
    return n in (2**16, 2**20) and ranks in (2, 3, 4, 8)


def fit_line(rows):
    """The factors a and b of a x + b y = z, for the least sum of squares of relative errors; rows: (x, y, z)."""
    rows = [(x / z, y / z) for x, y, z in rows]
    xx, xy, yy = (sum(u[i] * u[j] for u in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    x, y = sum(u[0] for u in rows), sum(u[1] for u in rows)
    return (x * yy - y * xy) / (xx * yy - xy * xy), (y * xx - x * xy) / (xx * yy - xy * xy)


def fit_sent(sent):
    """The factors of surface and outskirts."""
    return fit_line([(surface(*key), outskirts(*key), statistics.mean(sent[key])) for key in sent if is_fitted(*key)])


def check_sent(path):
    """Prints the particles that travel beside those of the model."""
    sent = read_sent(path)
    near, far = fit_sent(sent)
    worst = {True: 0, False: 0}
    print("| N | ranks | particles sent | least, most | model | error | row |\n" + "| --- " * 7 + "|")
    for (n, ranks), found in sorted(sent.items()):
        model, here = near * surface(n, ranks) + far * outskirts(n, ranks), is_fitted(n, ranks)
        error = model / statistics.mean(found) - 1
        worst[here] = max(worst[here], abs(error))
        print(
            f"| {n:,} | {ranks} | {statistics.mean(found):,.0f} | {min(found):,}, {max(found):,} | {model:,.0f} "
            f"| {100 * error:+.0f} % | {'fitted' if here else 'checked'} |"
        )
    print(f"\nparticles sent: {near:.2f} (N / R)^(2/3) log2(2 R) + {far:,.0f} (R - 1) / R^2")
    print(f"largest error: fitted rows {100 * worst[True]:.0f} %, checked rows {100 * worst[False]:.0f} %")


def mean(values):
    """Geometric mean."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def check_trees(path):
    """Prints measured processor times beside those of the model."""
    found = read_trees(path)
    several = {key: run for key, run in found.items() if key[1] > 1 and (key[0], 1) in found}
    alone = {n: run["force_work"] for (n, ranks), run in found.items() if ranks == 1}
    look = mean((run["force_work"] - alone[n] / r) / looked_at(n, r) for (n, r), run in several.items())
    print("| N | ranks | force: measured | model | error |\n" + "| --- " * 5 + "|")
    for (n, ranks), run in sorted(several.items()):
        work = alone[n] / ranks + look * looked_at(n, ranks)
        print(
            f"| {n:,} | {ranks} | {1e3 * run['force_work']:.0f} ms | {1e3 * work:.0f} ms "
            f"| {100 * (work / run['force_work'] - 1):+.0f} % |"
        )
    print(f"\nforce: that of one rank / R + {1e9 * look:.0f} ns N (R - 1) / R\n")


# ---- trees on GPUs --------------------------------------------------------------------------------------------------

BYTES = 144  # cells and particles that travel, per particle that is sent: of the runs of scaling_sent.txt


def read_gpu_trees():
    """Least milliseconds of (build, force) by (particles of all, ranks): from device memory, each rank its own region."""
    found = {}
    path = pathlib.Path(__file__).parents[1] / "data" / "h200s.csv"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        case = re.match(
            r"Trees over ranks from device to device: (\d+) ranks?, ([\d,]+),( own regions,)? from the device, (\w+)",
            row["case"],
        )
        if case and (case[3] or case[1] == "1"):
            key = (int(case[2].replace(",", "")), int(case[1]))
            found.setdefault(key, {})[case[4]] = float(row["least"])
    return found


def fit_gpu_trees(found):
    """Functions of particles per rank and ranks, in ms: a build, and a force."""
    several = {key: run for key, run in found.items() if key[1] > 1}
    each, rounds = fit_line([(n / r, 1, run["build"]) for (n, r), run in several.items()])
    walk, halo = fit_line([(n / r, math.log2(2 * r), run["force"]) for (n, r), run in several.items()])
    print(f"\nbuild: {1e6 * each:.2f} n / 1e6 + {rounds:.2f} ms; ", end="")
    print(f"force: {1e6 * walk:.2f} n / 1e6 + {halo:.2f} log2(2 R) ms, n per rank")
    return lambda n, r: (each * n + rounds, walk * n + halo * math.log2(2 * r))


def check_gpu_trees():
    """Prints measured builds and forces beside those of the model."""
    found = read_gpu_trees()
    model = fit_gpu_trees(found)
    print("\n| N | ranks | build | model | force | model |\n" + "| --- " * 6 + "|")
    for (n, r), run in sorted(found.items()):
        if r > 1:
            build, force = model(n / r, r)
            print(f"| {n:,} | {r} | {run['build']:.2f} | {build:.2f} | {run['force']:.2f} | {force:.2f} |")


def project_gpu_trees():
    """Prints weak scaling of a build and a force, beside one GPU with its own particles alone."""
    found = read_gpu_trees()
    near, far = fit_sent(read_sent(pathlib.Path(__file__).with_name("scaling_sent.txt")))
    print("\n**trees, from device memory**")
    model = fit_gpu_trees(found)
    print("\n| GPUs | particles | build, force (ms) | efficiency | sent per rank | its time (ms) |")
    print("| --- " * 6 + "|")
    for k, ranks in itertools.product((22, 23), (4, 16, 64, 256, 1024)):
        build, force = model(2**k, ranks)
        sent = BYTES * (near * surface(2**k * ranks, ranks) + far * outskirts(0, ranks))
        print(
            f"| {ranks:,} | {2**k:,} each | {build:.1f}, {force:.1f} | {100 * sum(found[(2**k, 1)].values()) / (build + force):.0f} % "
            f"| {sent / 1e6:.0f} MB | {1e3 * sent * DEVICE['byte']:.1f} |"
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["gpus"]:
        check_gpu_trees()
        project_gpu_trees()
        sys.exit()
    if sys.argv[1:] == ["trees"]:
        check_trees(pathlib.Path(__file__).with_name("scaling_trees.txt"))
        check_sent(pathlib.Path(__file__).with_name("scaling_sent.txt"))
        sys.exit()
    if sys.argv[1:] == ["project"]:
        fit()
        project()
        project_gpu_trees()
    else:
        check(pathlib.Path(__file__).with_name("scaling_measured.txt"))
