#!/usr/bin/env python3
"""Counts the instructions of the innermost loops of an object of the CPU's kernels, per vector of pairs.

    loop_instructions.py build/HASH/cpu_sse/kernels/force_ds_neon.o [aarch64-linux-gnu-objdump]

Loops are recognised by their estimates of reciprocal roots, one per vector of pairs, so in single precision alone.
Prints one line per loop: function, address, vectors of pairs, instructions, instructions per vector.
"""
import re
import subprocess
import sys

ROOT = re.compile(r"rsqrtps|rsqrt14ps|frsqrte")
BRANCH = re.compile(r"^(?:b\.\w+|cbn?z|tbn?z|j(?!mp)\w+)\s+(?:.*,\s*)?([0-9a-f]+) <")


def functions(listing):
    """{name: [(address, instruction), ...]} of a disassembly."""
    found, body = {}, []
    for line in listing.splitlines():
        if head := re.match(r"^[0-9a-f]+ <(.+)>:", line):
            body = found.setdefault(head[1], [])
        elif row := re.match(r"^\s*([0-9a-f]+):\s*(.*)", line):
            body.append((int(row[1], 16), row[2].strip()))
    return found


def loops(body):
    """Instructions of each loop that contains no other branch."""
    at = {address: k for k, (address, _) in enumerate(body)}
    for k, (address, text) in enumerate(body):
        back = BRANCH.match(text)
        begin = at.get(int(back[1], 16)) if back and int(back[1], 16) < address else None
        if begin is not None and not any(BRANCH.match(t) for _, t in body[begin:k]):
            yield body[begin:k + 1]


def main():
    tool = sys.argv[2] if len(sys.argv) > 2 else "objdump"
    listing = subprocess.check_output([tool, "-d", "--no-show-raw-insn", sys.argv[1]], text=True)
    for name, body in functions(listing).items():
        for loop in loops(body):
            if vectors := sum(bool(ROOT.search(text)) for _, text in loop):
                print(f"{name} {loop[0][0]:x} {vectors} {len(loop)} {len(loop) / vectors:.1f}")


if __name__ == "__main__":
    main()
