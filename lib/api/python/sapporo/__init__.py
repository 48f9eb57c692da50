"""Gravitational forces for N-body codes, on NVIDIA and AMD GPUs, OpenCL devices and CPUs.

with sapporo.Context() as context:
    context.set_particles(x, v=v, mass=mass)
    force = context.force(x, v=v, index=np.arange(n), eps=0.1)
    force.acc, force.jerk, force.pot

accelerations, potentials: forces of arrays by one call, by direct sums or a tree.
Context: forces from direct sums, neighbours, batches of small forces.  Tree: forces from an octree or a kd-tree.
Stepper: orbits, integrated where forces are computed.
"""

from . import snapshots
from ._batch import Batch, BatchForce, SmallForce
from ._context import Context, Memory, Particles
from ._errors import (
    ArgumentError,
    ClosedError,
    DeviceError,
    EmptyWarning,
    GoneError,
    NotFiniteError,
    OutOfMemoryError,
    PartialWarning,
    SapporoError,
    Status,
    UnsupportedError,
)
from ._info import Device, Variable, arith_version, devices, variables, version
from ._job import Force, Job, NeighbourLists
from ._library import Backend, Precision, set_log
from ._stepper import Field, Orbits, Stepper, StepperStatistics, Totals
from ._sums import accelerations, potentials
from ._tree import Seconds, Tree, TreeStatistics
from ._tree_search import Nearest

__version__ = version()

__all__ = [
    "ArgumentError",
    "Backend",
    "Batch",
    "BatchForce",
    "ClosedError",
    "Context",
    "Device",
    "DeviceError",
    "EmptyWarning",
    "Field",
    "Force",
    "GoneError",
    "Job",
    "Memory",
    "Nearest",
    "NeighbourLists",
    "NotFiniteError",
    "Orbits",
    "OutOfMemoryError",
    "PartialWarning",
    "Particles",
    "Precision",
    "SapporoError",
    "Seconds",
    "SmallForce",
    "Status",
    "Stepper",
    "StepperStatistics",
    "Totals",
    "Tree",
    "TreeStatistics",
    "UnsupportedError",
    "Variable",
    "accelerations",
    "arith_version",
    "devices",
    "potentials",
    "set_log",
    "snapshots",
    "variables",
    "version",
]
