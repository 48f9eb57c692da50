"""amuse_stepper.py - a code of AMUSE that integrates star clusters by the Hermite scheme of libsapporo's steppers.

    from amuse_stepper import Sapporo

    gravity = Sapporo()

The worker is a process of Python; the particles stay in the stepper, on the device.  It needs AMUSE and the Python
package of libsapporo in one environment.  test/clients/amuse.sh runs it.
"""

import numpy as np
import sapporo
from amuse.community.interface.gd import GravitationalDynamics, GravitationalDynamicsInterface
from amuse.rfi.core import LegacyFunctionSpecification, PythonCodeInterface, legacy_function
from amuse.units import nbody_system


class Implementation:
    """The worker: the stepper, and by index a list of mass, x, y, z, vx, vy, vz, radius of each particle.

    Functions return 0, or -1 for a particle that is not there; results go to the values of holders.
    """

    def __init__(self):
        self.eps2, self.eta, self.time, self.longest_step = 0.0, 0.01, 0.0, 0.125
        self.particles, self.next_index, self.stepper = {}, 0, None

    # ---- the life of the code

    def initialize_code(self):
        return 0

    def cleanup_code(self):
        if self.stepper is not None:
            self.stepper.close()
        self.stepper, self.particles = None, {}
        return 0

    def commit_parameters(self):
        return 0

    recommit_parameters = commit_parameters

    def commit_particles(self):
        """Begins anew with all particles: forces, first steps."""
        if self.stepper is not None:
            self.stepper.close()
        rows = np.array(list(self.particles.values()))
        self.stepper = sapporo.Stepper(
            len(rows), self.longest_step, scheme="hermite4", eta=self.eta, eps=self.eps2**0.5, landing=True
        )
        self.stepper.set(rows[:, 1:4], rows[:, 4:7], rows[:, 0], time=self.time)
        return 0

    recommit_particles = commit_particles

    def evolve_model(self, time):
        self.time = self.stepper.advance(time)
        now = self.stepper.get()
        for particle, moved in zip(self.particles.values(), np.hstack((now.x, now.v)).tolist()):
            particle[1:7] = moved
        return 0

    def synchronize_model(self):
        return 0

    # ---- particles

    def new_particle(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius):
        index_of_the_particle.value = self.next_index
        self.particles[self.next_index] = [mass, x, y, z, vx, vy, vz, radius]
        self.next_index += 1
        return 0

    def delete_particle(self, index_of_the_particle):
        return 0 if self.particles.pop(index_of_the_particle, None) is not None else -1

    def _read(self, index, first, *holders):
        if index not in self.particles:
            return -1
        for holder, value in zip(holders, self.particles[index][first:]):
            holder.value = value
        return 0

    def _write(self, index, first, *values):
        if index not in self.particles:
            return -1
        self.particles[index][first : first + len(values)] = values
        return 0

    def get_state(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius):
        return self._read(index_of_the_particle, 0, mass, x, y, z, vx, vy, vz, radius)

    def set_state(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius):
        return self._write(index_of_the_particle, 0, mass, x, y, z, vx, vy, vz, radius)

    def get_mass(self, index_of_the_particle, mass):
        return self._read(index_of_the_particle, 0, mass)

    def set_mass(self, index_of_the_particle, mass):
        return self._write(index_of_the_particle, 0, mass)

    def get_position(self, index_of_the_particle, x, y, z):
        return self._read(index_of_the_particle, 1, x, y, z)

    def set_position(self, index_of_the_particle, x, y, z):
        return self._write(index_of_the_particle, 1, x, y, z)

    def get_velocity(self, index_of_the_particle, vx, vy, vz):
        return self._read(index_of_the_particle, 4, vx, vy, vz)

    def set_velocity(self, index_of_the_particle, vx, vy, vz):
        return self._write(index_of_the_particle, 4, vx, vy, vz)

    def get_radius(self, index_of_the_particle, radius):
        return self._read(index_of_the_particle, 7, radius)

    def set_radius(self, index_of_the_particle, radius):
        return self._write(index_of_the_particle, 7, radius)

    # ---- sums and parameters

    def get_number_of_particles(self, number_of_particles):
        number_of_particles.value = len(self.particles)
        return 0

    def get_kinetic_energy(self, kinetic_energy):
        kinetic_energy.value = self.stepper.energy().kinetic
        return 0

    def get_potential_energy(self, potential_energy):
        potential_energy.value = self.stepper.energy().potential
        return 0

    def get_time(self, time):
        time.value = self.time
        return 0

    get_begin_time = get_time

    def set_begin_time(self, time):
        self.time = time
        return 0

    def get_time_step(self, time_step):
        time_step.value = self.longest_step
        return 0

    def get_eps2(self, epsilon_squared):
        epsilon_squared.value = self.eps2
        return 0

    def set_eps2(self, epsilon_squared):
        self.eps2 = epsilon_squared
        return 0

    def get_eta(self, eta):
        eta.value = self.eta
        return 0

    def set_eta(self, eta):
        self.eta = eta
        return 0


def eta_function(direction):
    """The specification of get_eta or set_eta."""
    function = LegacyFunctionSpecification()
    function.addParameter("eta", dtype="float64", direction=direction)
    function.result_type = "int32"
    return function


class SapporoInterface(PythonCodeInterface, GravitationalDynamicsInterface):
    """The calls that AMUSE sends to the worker."""

    def __init__(self, **options):
        PythonCodeInterface.__init__(self, Implementation, **options)

    @legacy_function
    def get_eta():
        return eta_function(LegacyFunctionSpecification.OUT)

    @legacy_function
    def set_eta():
        return eta_function(LegacyFunctionSpecification.IN)


class Sapporo(GravitationalDynamics):
    """The code, as scripts of AMUSE use it."""

    def __init__(self, convert_nbody=None, **options):
        GravitationalDynamics.__init__(self, SapporoInterface(**options), convert_nbody, **options)

    def define_parameters(self, handler):
        GravitationalDynamics.define_parameters(self, handler)
        handler.add_method_parameter(
            "get_eps2", "set_eps2", "epsilon_squared", "the softening", default_value=0.0 | nbody_system.length**2
        )
        handler.add_method_parameter("get_eta", "set_eta", "eta", "accuracy of Aarseth's criterion", default_value=0.01)

    def define_methods(self, handler):
        GravitationalDynamics.define_methods(self, handler)
        area = nbody_system.length**2
        handler.add_method("get_eps2", (), (area, handler.ERROR_CODE))
        handler.add_method("set_eps2", (area,), (handler.ERROR_CODE,))
        handler.add_method("get_eta", (), (handler.NO_UNIT, handler.ERROR_CODE))
        handler.add_method("set_eta", (handler.NO_UNIT,), (handler.ERROR_CODE,))
