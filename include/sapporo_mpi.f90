! sapporo_mpi.f90 - module sapporo_mpi: forces over the ranks of MPI for Fortran 2008, on module sapporo.
!
!   mpifort sapporo.f90 sapporo_mpi.f90 yours.f90 -lsapporo_mpi -lsapporo
!
! What each function does is written in sapporo_mpi.h; names, order and meaning of arguments are the same here.  This
! module has everything of module sapporo too, whose rules hold.  A communicator is an integer: of module mpi the
! communicator itself, of module mpi_f08 its component, as in MPI_COMM_WORLD%MPI_VAL.  Addresses count from 0.
module sapporo_mpi
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_long_long, c_ptr, c_size_t, c_null_ptr
    use sapporo
    implicit none
    private :: c_char, c_double, c_int, c_long_long, c_ptr, c_size_t, c_null_ptr

    ! ---- statuses

    integer(c_int), parameter :: SAPPORO_MPI_ERR_MPI = -101, SAPPORO_MPI_ERR_TIMEOUT = -102, &
        SAPPORO_MPI_ERR_DIFFERENT = -103, SAPPORO_MPI_ERR_NCCL = -104

    ! ---- choices

    integer(c_int), parameter :: SAPPORO_MPI_WAY_AUTO = 0, SAPPORO_MPI_WAY_TARGETS = 1, SAPPORO_MPI_WAY_SOURCES = 2
    integer(c_int), parameter :: SAPPORO_MPI_TRANSPORT_AUTO = 0, SAPPORO_MPI_TRANSPORT_HOST = 1, &
        SAPPORO_MPI_TRANSPORT_MPI = 2, SAPPORO_MPI_TRANSPORT_NCCL = 3

    ! ---- phases of sapporo_mpi_tree_statistics, from 0

    integer(c_int), parameter :: SAPPORO_MPI_PHASE_EXCHANGE = 0, SAPPORO_MPI_PHASE_BUILD = 1, &
        SAPPORO_MPI_PHASE_SELECT = 2, SAPPORO_MPI_PHASE_WALK = 3, SAPPORO_MPI_PHASE_WAIT = 4, &
        SAPPORO_MPI_PHASE_IMPORTED = 5, SAPPORO_MPI_PHASES = 6

    ! ---- types

    type, bind(c) :: sapporo_mpi_costs
        integer(c_size_t) :: size = 0
        real(c_double) :: message = 0, byte = 0, force = 0, pair = 0, row = 0, store = 0, exchange = 0
    end type sapporo_mpi_costs

    type, bind(c) :: sapporo_mpi_traffic
        integer(c_size_t) :: size = 0
        integer(c_long_long) :: waits = 0, host_bytes = 0, device_bytes = 0
    end type sapporo_mpi_traffic

    type, bind(c) :: sapporo_mpi_options
        integer(c_size_t) :: size = 0
        type(c_ptr) :: context = c_null_ptr                 ! c_loc of a sapporo_options
        real(c_double) :: timeout = 0
        integer(c_int) :: rows = 0
        type(c_ptr) :: costs = c_null_ptr                   ! c_loc of a sapporo_mpi_costs
        integer(c_int) :: way = SAPPORO_MPI_WAY_AUTO, sources = 0, transport = SAPPORO_MPI_TRANSPORT_AUTO
    end type sapporo_mpi_options

    type, bind(c) :: sapporo_mpi_tree_options
        integer(c_size_t) :: size = 0
        type(c_ptr) :: tree = c_null_ptr                    ! c_loc of a sapporo_tree_options
        real(c_double) :: timeout = 0
        integer(c_int) :: transport = SAPPORO_MPI_TRANSPORT_AUTO
    end type sapporo_mpi_tree_options

    type, bind(c) :: sapporo_mpi_tree_statistics
        integer(c_size_t) :: size = 0
        integer(c_int) :: given = 0, n = 0, cells = 0, regions = 0
        integer(c_long_long) :: total = 0
        integer(c_int) :: sent_cells = 0, sent_particles = 0, got_cells = 0, got_particles = 0
        integer(c_long_long) :: particle_particle = 0, particle_cell = 0
        integer(c_size_t) :: halo_bytes = 0
        real(c_double) :: seconds(0:SAPPORO_MPI_PHASES - 1) = 0
        integer(c_int) :: rows = 0, refreshes = 0
    end type sapporo_mpi_tree_statistics

    type, bind(c) :: sapporo_mpi_stepper_options
        integer(c_size_t) :: size = 0
        type(c_ptr) :: stepper = c_null_ptr                 ! c_loc of a sapporo_stepper_options
        real(c_double) :: timeout = 0
        integer(c_int) :: transport = SAPPORO_MPI_TRANSPORT_AUTO
    end type sapporo_mpi_stepper_options

    ! ---- functions

    interface
        function sapporo_mpi_status_text(status) bind(c) result(text)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: text
        end function sapporo_mpi_status_text

        integer(c_int) function sapporo_mpi_open(communicator, options, handle) bind(c, name='sapporo_mpi_open_fortran')
            import :: c_int, c_ptr, sapporo_mpi_options
            integer(c_int), value :: communicator
            type(sapporo_mpi_options), intent(in), optional :: options
            type(c_ptr), intent(out) :: handle
        end function sapporo_mpi_open

        subroutine sapporo_mpi_close(handle) bind(c)
            import :: c_ptr
            type(c_ptr), value :: handle
        end subroutine sapporo_mpi_close

        function sapporo_mpi_last_error(handle) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: handle
            type(c_ptr) :: text
        end function sapporo_mpi_last_error

        function sapporo_mpi_kind(handle) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: handle
            type(c_ptr) :: text
        end function sapporo_mpi_kind

        function sapporo_mpi_context(handle) bind(c) result(context)
            import :: c_ptr
            type(c_ptr), value :: handle
            type(c_ptr) :: context
        end function sapporo_mpi_context

        integer(c_int) function sapporo_mpi_get_way(handle) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function sapporo_mpi_get_way

        integer(c_int) function sapporo_mpi_get_transport(handle) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function sapporo_mpi_get_transport

        integer(c_int) function sapporo_mpi_get_costs(handle, costs) bind(c)
            import :: c_int, c_ptr, sapporo_mpi_costs
            type(c_ptr), value :: handle
            type(sapporo_mpi_costs), intent(inout) :: costs
        end function sapporo_mpi_get_costs

        integer(c_int) function sapporo_mpi_get_traffic(handle, traffic) bind(c)
            import :: c_int, c_ptr, sapporo_mpi_traffic
            type(c_ptr), value :: handle
            type(sapporo_mpi_traffic), intent(inout) :: traffic
        end function sapporo_mpi_get_traffic

        integer(c_int) function sapporo_mpi_set_particles(handle, n, address, particles) bind(c)
            import :: c_int, c_ptr, sapporo_particles
            type(c_ptr), value :: handle
            integer(c_int), value :: n
            integer(c_int), intent(in) :: address(*)
            type(sapporo_particles), intent(in) :: particles
        end function sapporo_mpi_set_particles

        integer(c_int) function sapporo_mpi_clear_particles(handle) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: handle
        end function sapporo_mpi_clear_particles

        integer(c_int) function sapporo_mpi_set_time(handle, time) bind(c)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: handle
            real(c_double), value :: time
        end function sapporo_mpi_set_time

        integer(c_int) function sapporo_mpi_force_begin(handle, request, job) bind(c)
            import :: c_int, c_ptr, sapporo_request
            type(c_ptr), value :: handle
            type(sapporo_request), intent(in) :: request
            type(c_ptr), intent(out) :: job
        end function sapporo_mpi_force_begin

        integer(c_int) function sapporo_mpi_force_end(job, ni, results) bind(c)
            import :: c_int, c_ptr, sapporo_result
            type(c_ptr), value :: job
            integer(c_int), value :: ni
            type(sapporo_result), intent(in) :: results
        end function sapporo_mpi_force_end

        subroutine sapporo_mpi_force_free(job) bind(c)
            import :: c_ptr
            type(c_ptr), value :: job
        end subroutine sapporo_mpi_force_free

        integer(c_int) function sapporo_mpi_tree_create(communicator, options, tree) &
            bind(c, name='sapporo_mpi_tree_create_fortran')
            import :: c_int, c_ptr, sapporo_mpi_tree_options
            integer(c_int), value :: communicator
            type(sapporo_mpi_tree_options), intent(in), optional :: options
            type(c_ptr), intent(out) :: tree
        end function sapporo_mpi_tree_create

        integer(c_int) function sapporo_mpi_tree_get_transport(tree) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: tree
        end function sapporo_mpi_tree_get_transport

        subroutine sapporo_mpi_tree_destroy(tree) bind(c)
            import :: c_ptr
            type(c_ptr), value :: tree
        end subroutine sapporo_mpi_tree_destroy

        function sapporo_mpi_tree_last_error(tree) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: tree
            type(c_ptr) :: text
        end function sapporo_mpi_tree_last_error

        function sapporo_mpi_tree_kind_text(tree) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: tree
            type(c_ptr) :: text
        end function sapporo_mpi_tree_kind_text

        integer(c_int) function sapporo_mpi_tree_build(tree, particles) bind(c)
            import :: c_int, c_ptr, sapporo_tree_particles
            type(c_ptr), value :: tree
            type(sapporo_tree_particles), intent(in) :: particles
        end function sapporo_mpi_tree_build

        integer(c_int) function sapporo_mpi_tree_refresh(tree, particles) bind(c)
            import :: c_int, c_ptr, sapporo_tree_particles
            type(c_ptr), value :: tree
            type(sapporo_tree_particles), intent(in) :: particles
        end function sapporo_mpi_tree_refresh

        integer(c_int) function sapporo_mpi_tree_refresh_or_build(tree, particles, factor, built) bind(c)
            import :: c_int, c_ptr, c_double, sapporo_tree_particles
            type(c_ptr), value :: tree
            type(sapporo_tree_particles), intent(in) :: particles
            real(c_double), value :: factor
            integer(c_int), intent(out), optional :: built
        end function sapporo_mpi_tree_refresh_or_build

        integer(c_int) function sapporo_mpi_tree_force(tree, acc, pot) bind(c)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: tree
            real(c_double), intent(inout), optional :: acc(3, *), pot(*)
        end function sapporo_mpi_tree_force

        integer(c_int) function sapporo_mpi_tree_force_active(tree, ni, active, acc, pot) bind(c)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: tree
            integer(c_int), value :: ni
            integer(c_int), intent(in), optional :: active(*) ! from 0
            real(c_double), intent(inout), optional :: acc(3, *), pot(*)
        end function sapporo_mpi_tree_force_active

        integer(c_int) function sapporo_mpi_tree_force_request(tree, request, acc, pot) bind(c)
            import :: c_int, c_ptr, sapporo_tree_request
            type(c_ptr), value :: tree
            type(sapporo_tree_request), intent(in) :: request
            type(c_ptr), value :: acc, pot ! of the request's memory; c_null_ptr: not wanted
        end function sapporo_mpi_tree_force_request

        integer(c_int) function sapporo_mpi_tree_exchange(tree, bytes, from, room, to, n) bind(c)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: tree
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: from, to ! of arrays with the target attribute
            integer(c_int), value :: room
            integer(c_int), intent(out), optional :: n
        end function sapporo_mpi_tree_exchange

        integer(c_int) function sapporo_mpi_tree_get_statistics(tree, statistics) bind(c)
            import :: c_int, c_ptr, sapporo_mpi_tree_statistics
            type(c_ptr), value :: tree
            type(sapporo_mpi_tree_statistics), intent(inout) :: statistics
        end function sapporo_mpi_tree_get_statistics

        integer(c_int) function sapporo_mpi_tree_get_traffic(tree, traffic) bind(c)
            import :: c_int, c_ptr, sapporo_mpi_traffic
            type(c_ptr), value :: tree
            type(sapporo_mpi_traffic), intent(inout) :: traffic
        end function sapporo_mpi_tree_get_traffic

        integer(c_int) function sapporo_mpi_stepper_create(communicator, options, n, stepper) &
            bind(c, name='sapporo_mpi_stepper_create_fortran')
            import :: c_int, c_ptr, sapporo_mpi_stepper_options
            integer(c_int), value :: communicator
            type(sapporo_mpi_stepper_options), intent(in) :: options
            integer(c_int), value :: n
            type(c_ptr), intent(out) :: stepper
        end function sapporo_mpi_stepper_create

        subroutine sapporo_mpi_stepper_destroy(stepper) bind(c)
            import :: c_ptr
            type(c_ptr), value :: stepper
        end subroutine sapporo_mpi_stepper_destroy

        function sapporo_mpi_stepper_last_error(stepper) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: stepper
            type(c_ptr) :: text
        end function sapporo_mpi_stepper_last_error

        function sapporo_mpi_stepper_kind_text(stepper) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: stepper
            type(c_ptr) :: text
        end function sapporo_mpi_stepper_kind_text

        integer(c_int) function sapporo_mpi_stepper_set(stepper, particles) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_particles
            type(c_ptr), value :: stepper
            type(sapporo_stepper_particles), intent(in) :: particles
        end function sapporo_mpi_stepper_set

        integer(c_int) function sapporo_mpi_stepper_add(stepper, particles) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_particles
            type(c_ptr), value :: stepper
            type(sapporo_stepper_particles), intent(in) :: particles
        end function sapporo_mpi_stepper_add

        integer(c_int) function sapporo_mpi_stepper_remove(stepper, n, address) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stepper
            integer(c_int), value :: n
            integer(c_int), intent(in) :: address(*)
        end function sapporo_mpi_stepper_remove

        integer(c_int) function sapporo_mpi_stepper_advance(stepper, time, steps) bind(c)
            import :: c_double, c_int, c_long_long, c_ptr
            type(c_ptr), value :: stepper
            real(c_double), value :: time
            integer(c_long_long), value :: steps
        end function sapporo_mpi_stepper_advance

        integer(c_int) function sapporo_mpi_stepper_energy(stepper, totals) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_totals
            type(c_ptr), value :: stepper
            type(sapporo_stepper_totals), intent(inout) :: totals
        end function sapporo_mpi_stepper_energy

        integer(c_int) function sapporo_mpi_stepper_get_potentials(stepper, n, pot) bind(c)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: stepper
            integer(c_int), value :: n
            real(c_double), intent(inout) :: pot(*)
        end function sapporo_mpi_stepper_get_potentials

        integer(c_int) function sapporo_mpi_stepper_get_pairs(stepper, pairs) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_pairs
            type(c_ptr), value :: stepper
            type(sapporo_stepper_pairs), intent(inout) :: pairs
        end function sapporo_mpi_stepper_get_pairs

        integer(c_int) function sapporo_mpi_stepper_locate(stepper, number, rank, address) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stepper
            integer(c_int), value :: number
            integer(c_int), intent(out) :: rank, address
        end function sapporo_mpi_stepper_locate

        integer(c_int) function sapporo_mpi_stepper_exchange(stepper) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stepper
        end function sapporo_mpi_stepper_exchange

        integer(c_int) function sapporo_mpi_stepper_save(stepper, path) bind(c)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: stepper
            character(kind=c_char), intent(in) :: path(*) ! ends with c_null_char
        end function sapporo_mpi_stepper_save

        integer(c_int) function sapporo_mpi_stepper_restore(stepper, path) bind(c)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: stepper
            character(kind=c_char), intent(in) :: path(*)
        end function sapporo_mpi_stepper_restore

        integer(c_int) function sapporo_mpi_stepper_get(stepper, output) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_output
            type(c_ptr), value :: stepper
            type(sapporo_stepper_output), intent(in) :: output
        end function sapporo_mpi_stepper_get

        real(c_double) function sapporo_mpi_stepper_get_time(stepper) bind(c)
            import :: c_double, c_ptr
            type(c_ptr), value :: stepper
        end function sapporo_mpi_stepper_get_time

        integer(c_int) function sapporo_mpi_stepper_get_statistics(stepper, statistics) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_statistics
            type(c_ptr), value :: stepper
            type(sapporo_stepper_statistics), intent(inout) :: statistics
        end function sapporo_mpi_stepper_get_statistics
    end interface
end module sapporo_mpi
