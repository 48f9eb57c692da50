! sapporo.f90 - module sapporo: the native interface of libsapporo for Fortran 2008.
!
!   gfortran sapporo.f90 yours.f90 -lsapporo
!
! What each function does is written in sapporo.h, and in sapporo_types.h, sapporo_tree.h and sapporo_stepper.h; names,
! order and meaning of arguments are the same here.  Compile this file with your own compiler, since modules of one
! compiler are of no use to another.
!
! - Status codes are integer(c_int); >= 0 is success.
! - A context is a type(c_ptr), and so is a job.
! - Types begin with their size in bytes: set it with `request%size = c_sizeof(request)`.  All else is 0 or absent
!   unless you set it.
! - A column is an array with the TARGET attribute: `request%x = sapporo_column(c_loc(x), 0)`, x(3, n).
! - Derivatives of one particle are derivative(axis, order + 1): (:, 1) is the position, (:, 2) the velocity.
! - Addresses and rows count from 0.
module sapporo
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int, c_intptr_t, c_long_long, c_null_char, &
        c_null_ptr, c_ptr, c_size_t, c_associated, c_f_pointer
    implicit none
    private :: c_char, c_double, c_funptr, c_int, c_intptr_t, c_long_long, c_null_char, c_null_ptr, c_ptr, c_size_t, &
        c_associated, c_f_pointer

    ! ---- statuses

    integer(c_int), parameter :: SAPPORO_OK = 0, SAPPORO_PARTIAL = 1, SAPPORO_TRUNCATED = 2, SAPPORO_STOPPED = 3
    integer(c_int), parameter :: SAPPORO_ERR_ARGUMENT = -1, SAPPORO_ERR_MEMORY = -2, SAPPORO_ERR_CLOSED = -3, &
        SAPPORO_ERR_NOT_FINITE = -4, SAPPORO_ERR_UNSUPPORTED = -5, SAPPORO_ERR_DEVICE = -6, SAPPORO_ERR_GONE = -7

    ! ---- choices

    integer(c_int), parameter :: SAPPORO_LOG_ERROR = 0, SAPPORO_LOG_WARNING = 1, SAPPORO_LOG_INFO = 2, &
        SAPPORO_LOG_CALL = 3
    integer(c_int), parameter :: SAPPORO_BACKEND_AUTO = 0, SAPPORO_BACKEND_CUDA = 1, SAPPORO_BACKEND_OPENCL = 2, &
        SAPPORO_BACKEND_CPU = 3, SAPPORO_BACKEND_HIP = 4
    integer(c_int), parameter :: SAPPORO_PRECISION_DEFAULT = 0, SAPPORO_SP = 1, SAPPORO_DS = 2, SAPPORO_DP = 3
    integer(c_int), parameter :: SAPPORO_ROOT_DEFAULT = 0, SAPPORO_ROOT_FULL = 1, SAPPORO_ROOT_FAST = 2
    integer(c_int), parameter :: SAPPORO_WANT_NEAREST = 1, SAPPORO_WANT_LISTS = 2, SAPPORO_ALLOW_EMPTY = 8
    integer(c_int), parameter :: SAPPORO_PAIRS_ALL = 0, SAPPORO_PAIRS_OUTSIDE = 1
    integer(c_int), parameter :: SAPPORO_SOFTENING_PLUMMER = 0, SAPPORO_SOFTENING_SPLINE_LARGER = 1, &
        SAPPORO_SOFTENING_SPLINE_MEAN = 2
    integer(c_int), parameter :: SAPPORO_MEMORY_HOST = 0, SAPPORO_MEMORY_DEVICE = 1
    integer(c_int), parameter :: SAPPORO_DERIVATIVES = 8
    integer(c_int), parameter :: SAPPORO_ALL_DEVICES = -1
    integer(c_int), parameter :: SAPPORO_FOR_NONE = -1, SAPPORO_FOR_USERS = 0, SAPPORO_FOR_TESTS = 1, &
        SAPPORO_FOR_OTHERS = 2

    ! ---- choices of trees (sapporo_tree.h)

    integer(c_int), parameter :: SAPPORO_TREE_KIND_DEFAULT = 0, SAPPORO_TREE_OCTREE = 1, SAPPORO_TREE_KDTREE = 2
    integer(c_int), parameter :: SAPPORO_MAC_DEFAULT = 0, SAPPORO_MAC_OPENING = 1, SAPPORO_MAC_MULTIPOLE = 2, &
        SAPPORO_MAC_ACCELERATION = 3
    integer(c_int), parameter :: SAPPORO_NEAREST_MOST = 256 ! the greatest k of sapporo_tree_nearest
    integer, parameter :: SAPPORO_PHASE_SORT = 1, SAPPORO_PHASE_LINK = 2, SAPPORO_PHASE_MOMENTS = 3, &
        SAPPORO_PHASE_WALK = 4, SAPPORO_PHASES = 4          ! of statistics%seconds, from 1

    ! ---- choices of steppers (sapporo_stepper.h)

    integer(c_int), parameter :: SAPPORO_STEP_METHOD_DEFAULT = 0, SAPPORO_STEP_TREE = 1, SAPPORO_STEP_DIRECT = 2
    integer(c_int), parameter :: SAPPORO_STEPS_DEFAULT = 0, SAPPORO_STEPS_SHARED = 1, SAPPORO_STEPS_BLOCK = 2, &
        SAPPORO_STEPS_HERMITE4 = 3, SAPPORO_STEPS_HERMITE6 = 4, SAPPORO_STEPS_HERMITE8 = 5
    integer(c_int), parameter :: SAPPORO_STEP_CRITERION_DEFAULT = 0, SAPPORO_STEP_BY_ACCELERATION = 1, &
        SAPPORO_STEP_BY_CHANGE = 2, SAPPORO_STEP_BY_AARSETH = 3, SAPPORO_STEP_BY_MEAN = 4
    integer(c_int), parameter :: SAPPORO_FIELD_POINT = 1, SAPPORO_FIELD_PLUMMER = 2, SAPPORO_FIELD_HERNQUIST = 3, &
        SAPPORO_FIELD_NFW = 4, SAPPORO_FIELD_MIYAMOTO_NAGAI = 5, SAPPORO_FIELD_LOGARITHMIC = 6
    integer(c_int), parameter :: SAPPORO_STEP_NOW = 0, SAPPORO_STEP_OWN = 1, SAPPORO_STEP_AT_TIME = 2
    integer(c_int), parameter :: SAPPORO_FIELDS_MOST = 8, SAPPORO_STEP_LEVELS_MOST = 31
    integer(c_int), parameter :: SAPPORO_REBUILD_TIMED = -1
    integer, parameter :: SAPPORO_STEP_PHASE_PREDICT = 1, SAPPORO_STEP_PHASE_TREE = 2, SAPPORO_STEP_PHASE_FORCE = 3, &
        SAPPORO_STEP_PHASE_CORRECT = 4, SAPPORO_STEP_PHASES = 4 ! of statistics%seconds, from 1

    ! ---- types

    type, bind(c) :: sapporo_device
        integer(c_size_t) :: size = 0
        integer(c_int) :: backend = 0, number = 0, units = 0, has_fp64 = 0
        integer(c_long_long) :: memory = 0
        character(kind=c_char) :: name(128) = c_null_char, detail(128) = c_null_char
    end type sapporo_device

    type, bind(c) :: sapporo_variable
        integer(c_size_t) :: size = 0
        integer(c_int) :: audience = SAPPORO_FOR_USERS
        character(kind=c_char) :: name(40) = c_null_char, type(24) = c_null_char, values(128) = c_null_char, &
            usual(128) = c_null_char, about(256) = c_null_char
    end type sapporo_variable

    type, bind(c) :: sapporo_options
        integer(c_size_t) :: size = 0
        integer(c_int) :: order = 0, precision = SAPPORO_PRECISION_DEFAULT, backend = SAPPORO_BACKEND_AUTO
        type(c_ptr) :: devices = c_null_ptr                 ! integer(c_int), ndevices of them
        integer(c_int) :: ndevices = 0, preferred_device = 0
        type(c_ptr) :: cpu_isa = c_null_ptr                 ! characters that end with c_null_char
        integer(c_int) :: threads = 0, root = SAPPORO_ROOT_DEFAULT
        real(c_double) :: gravitational_constant = 0
    end type sapporo_options

    type, bind(c) :: sapporo_column
        type(c_ptr) :: base = c_null_ptr
        integer(c_intptr_t) :: stride = 0                   ! bytes; 0: without gaps
    end type sapporo_column

    type, bind(c) :: sapporo_particle
        real(c_double) :: derivative(3, SAPPORO_DERIVATIVES) = 0, mass = 0, time = 0, eps2 = 0
        integer(c_int) :: index = 0
    end type sapporo_particle

    type, bind(c) :: sapporo_particles
        integer(c_size_t) :: size = 0
        type(sapporo_column) :: derivative(SAPPORO_DERIVATIVES), mass, time, eps2, index
        integer(c_int) :: memory = SAPPORO_MEMORY_HOST
    end type sapporo_particles

    type, bind(c) :: sapporo_regular
        integer(c_size_t) :: size = 0
        integer(c_int) :: h2_by_mass = 0
        type(sapporo_column) :: dtr
    end type sapporo_regular

    type, bind(c) :: sapporo_request
        integer(c_size_t) :: size = 0
        integer(c_int) :: nj = 0, ni = 0
        type(sapporo_column) :: x, v, a, jerk, index
        real(c_double) :: eps2 = 0
        type(sapporo_column) :: eps2_i
        integer(c_int) :: pairs = SAPPORO_PAIRS_ALL, want = 0
        type(sapporo_column) :: h2
        integer(c_int) :: softening = SAPPORO_SOFTENING_PLUMMER
        type(c_ptr) :: regular = c_null_ptr                 ! c_loc of a sapporo_regular
        integer(c_int) :: memory = SAPPORO_MEMORY_HOST
    end type sapporo_request

    type, bind(c) :: sapporo_result                         ! c_loc of acc(3, ni), jerk(3, ni), pot(ni), ...
        integer(c_size_t) :: size = 0
        type(c_ptr) :: acc = c_null_ptr, jerk = c_null_ptr, snap = c_null_ptr, crackle = c_null_ptr, &
            pot = c_null_ptr, nearest = c_null_ptr, nearest_r2 = c_null_ptr, count = c_null_ptr
        integer(c_int) :: memory = SAPPORO_MEMORY_HOST
    end type sapporo_result

    type, bind(c) :: sapporo_small_force
        integer(c_size_t) :: size = 0
        integer(c_int) :: ni = 0, nj = 0
        type(sapporo_column) :: x, eps2_i
        type(c_ptr) :: address = c_null_ptr                 ! integer(c_int), nj of them
        type(sapporo_column) :: x_j, mass_j, eps2_j
        real(c_double) :: eps2 = 0
        type(sapporo_column) :: quad_j, h2_i, h2_j          ! quad_j: 6 of each source
        real(c_double) :: floor2 = 0
        type(sapporo_column) :: floor2_i, floor2_j
    end type sapporo_small_force

    type, bind(c) :: sapporo_neighbour_request
        integer(c_size_t) :: size = 0
        integer(c_int) :: ni = 0
        type(c_ptr) :: address = c_null_ptr                 ! integer(c_int), ni of them
        type(c_ptr) :: list = c_null_ptr                    ! type(c_ptr), ni of them, each c_loc of its addresses
        type(c_ptr) :: length = c_null_ptr                  ! integer(c_int), ni of them
        real(c_double) :: eps2 = 0
    end type sapporo_neighbour_request

    type, bind(c) :: sapporo_tree_options
        integer(c_size_t) :: size = 0
        integer(c_int) :: kind = 0, mac = 0
        real(c_double) :: accuracy = 0
        integer(c_int) :: order = 0
        real(c_double) :: eps2 = 0
        integer(c_int) :: leaf_size = 0, group_size = 0, precision = SAPPORO_PRECISION_DEFAULT, &
            backend = SAPPORO_BACKEND_AUTO
        type(c_ptr) :: devices = c_null_ptr                 ! as in sapporo_options
        integer(c_int) :: ndevices = 0, preferred_device = 0
        type(c_ptr) :: cpu_isa = c_null_ptr
        integer(c_int) :: threads = 0, experiments = 0, unused = 0
        real(c_double) :: group_extent = 0
        integer(c_int) :: softening = SAPPORO_SOFTENING_PLUMMER
        real(c_double) :: gravitational_constant = 0, error = 0, period = 0
    end type sapporo_tree_options

    type, bind(c) :: sapporo_tree_particles
        integer(c_size_t) :: size = 0
        integer(c_int) :: n = 0, memory = SAPPORO_MEMORY_HOST
        type(sapporo_column) :: x, mass, a, h
    end type sapporo_tree_particles

    type, bind(c) :: sapporo_tree_request
        integer(c_size_t) :: size = 0
        integer(c_int) :: memory = SAPPORO_MEMORY_HOST, ni = 0
        type(c_ptr) :: active = c_null_ptr                  ! integer(c_int), ni of them
        type(sapporo_column) :: x, h
    end type sapporo_tree_request

    type, bind(c) :: sapporo_tree_statistics
        integer(c_size_t) :: size = 0
        integer(c_int) :: n = 0, cells = 0, leaves = 0, groups = 0, largest_leaf = 0, depth = 0, wide_groups = 0, &
            stackless = 0
        integer(c_long_long) :: rows = 0, particle_particle = 0, particle_cell = 0
        real(c_double) :: seconds(SAPPORO_PHASES) = 0
        integer(c_size_t) :: host_bytes = 0, device_bytes = 0
        real(c_double) :: first_interactions = 0, group_extent = 0, accuracy = 0
    end type sapporo_tree_statistics

    type, bind(c) :: sapporo_field
        integer(c_int) :: kind = 0
        real(c_double) :: strength = 0, a = 0, b = 0, centre(3) = 0
    end type sapporo_field

    type, bind(c) :: sapporo_stepper_options
        integer(c_size_t) :: size = 0
        integer(c_int) :: method = 0
        type(c_ptr) :: tree = c_null_ptr                    ! c_loc of sapporo_tree_options
        integer(c_int) :: scheme = 0, criterion = 0
        real(c_double) :: dt = 0, eta = 0
        integer(c_int) :: levels = 0, rebuild = 0, nfields = 0
        type(c_ptr) :: fields = c_null_ptr                  ! type(sapporo_field), nfields of them
        integer(c_int) :: landing = 0
        real(c_double) :: eta_start = 0
        integer(c_int) :: nearest = 0
        real(c_double) :: close = 0
        integer(c_int) :: iterations = 0
    end type sapporo_stepper_options

    type, bind(c) :: sapporo_stepper_particles
        integer(c_size_t) :: size = 0
        integer(c_int) :: n = 0, memory = SAPPORO_MEMORY_HOST
        type(sapporo_column) :: x, v, mass, label
        real(c_double) :: time = 0
        type(sapporo_column) :: h
    end type sapporo_stepper_particles

    type, bind(c) :: sapporo_stepper_output
        integer(c_size_t) :: size = 0
        integer(c_int) :: n = 0, memory = SAPPORO_MEMORY_HOST, when = SAPPORO_STEP_NOW
        real(c_double) :: time = 0
        type(c_ptr) :: x = c_null_ptr, v = c_null_ptr, acc = c_null_ptr, pot = c_null_ptr, mass = c_null_ptr, &
            own_time = c_null_ptr, level = c_null_ptr, label = c_null_ptr, h = c_null_ptr, nearest = c_null_ptr, &
            nearest_r2 = c_null_ptr
    end type sapporo_stepper_output

    type, bind(c) :: sapporo_stepper_pairs
        integer(c_size_t) :: size = 0
        integer(c_int) :: room = 0, n = 0
        type(c_ptr) :: pair = c_null_ptr                    ! integer(c_int), (2, room): addresses
        type(c_ptr) :: r2 = c_null_ptr                      ! real(c_double), room of them
    end type sapporo_stepper_pairs

    type, bind(c) :: sapporo_stepper_totals
        integer(c_size_t) :: size = 0
        real(c_double) :: time = 0, kinetic = 0, potential = 0, field = 0, momentum(3) = 0, angular_momentum(3) = 0, &
            moment(3) = 0
    end type sapporo_stepper_totals

    type, bind(c) :: sapporo_stepper_statistics
        integer(c_size_t) :: size = 0
        integer(c_int) :: n = 0, active = 0
        integer(c_long_long) :: steps = 0, particle_steps = 0, builds = 0, refreshes = 0
        real(c_double) :: interactions = 0
        integer(c_int) :: level(SAPPORO_STEP_LEVELS_MOST) = 0, massive = 0
        integer(c_size_t) :: host_bytes = 0, device_bytes = 0
        real(c_double) :: seconds(SAPPORO_STEP_PHASES) = 0, group_extent = 0
        integer(c_int) :: group_searches = 0, rebuild_steps = 0
    end type sapporo_stepper_statistics

    ! ---- functions

    interface
        function sapporo_version() bind(c) result(text)     ! see sapporo_text
            import :: c_ptr
            type(c_ptr) :: text
        end function sapporo_version

        integer(c_int) function sapporo_arith_version() bind(c)
            import :: c_int
        end function sapporo_arith_version

        function sapporo_status_text(status) bind(c) result(text)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: text
        end function sapporo_status_text

        ! log: c_funloc of a subroutine (user, level, text), bind(c), all by value; c_null_funptr: stderr
        subroutine sapporo_set_log(log, user) bind(c)
            import :: c_funptr, c_ptr
            type(c_funptr), value :: log
            type(c_ptr), value :: user
        end subroutine sapporo_set_log

        subroutine sapporo_print_errors(printed) bind(c)
            import
            integer(c_int), value :: printed
        end subroutine sapporo_print_errors

        subroutine sapporo_log(level, text) bind(c)         ! text ends with c_null_char
            import :: c_int, c_char
            integer(c_int), value :: level
            character(kind=c_char), intent(in) :: text(*)
        end subroutine sapporo_log

        integer(c_int) function sapporo_device_count(backend) bind(c)
            import :: c_int
            integer(c_int), value :: backend
        end function sapporo_device_count

        integer(c_int) function sapporo_device_describe(backend, number, device) bind(c)
            import :: c_int, sapporo_device
            integer(c_int), value :: backend, number
            type(sapporo_device), intent(inout) :: device
        end function sapporo_device_describe

        integer(c_int) function sapporo_variable_describe(number, variable) bind(c)
            import :: c_int, sapporo_variable
            integer(c_int), value :: number
            type(sapporo_variable), intent(inout) :: variable
        end function sapporo_variable_describe

        integer(c_int) function sapporo_open(options, context) bind(c)
            import :: c_int, c_ptr, sapporo_options
            type(sapporo_options), intent(in), optional :: options
            type(c_ptr), intent(out) :: context
        end function sapporo_open

        subroutine sapporo_close(context) bind(c)
            import :: c_ptr
            type(c_ptr), value :: context
        end subroutine sapporo_close

        function sapporo_last_error(context) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: context
            type(c_ptr) :: text
        end function sapporo_last_error

        subroutine sapporo_clear_error(context) bind(c)
            import :: c_ptr
            type(c_ptr), value :: context
        end subroutine sapporo_clear_error

        function sapporo_kind(context) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: context
            type(c_ptr) :: text
        end function sapporo_kind

        integer(c_int) function sapporo_get_backend(context) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: context
        end function sapporo_get_backend

        integer(c_int) function sapporo_get_precision(context) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: context
        end function sapporo_get_precision

        integer(c_int) function sapporo_get_threads(context) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: context
        end function sapporo_get_threads

        integer(c_size_t) function sapporo_memory_needed(context, nj, device_bytes) bind(c)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: context
            integer(c_int), value :: nj
            integer(c_size_t), intent(out), optional :: device_bytes
        end function sapporo_memory_needed

        integer(c_int) function sapporo_set_particle(context, address, particle) bind(c)
            import :: c_int, c_ptr, sapporo_particle
            type(c_ptr), value :: context
            integer(c_int), value :: address
            type(sapporo_particle), intent(in) :: particle
        end function sapporo_set_particle

        integer(c_int) function sapporo_set_particles(context, first, n, particles) bind(c)
            import :: c_int, c_ptr, sapporo_particles
            type(c_ptr), value :: context
            integer(c_int), value :: first, n
            type(sapporo_particles), intent(in) :: particles
        end function sapporo_set_particles

        integer(c_int) function sapporo_get_particle(context, address, predicted, particle) bind(c)
            import :: c_int, c_ptr, sapporo_particle
            type(c_ptr), value :: context
            integer(c_int), value :: address, predicted
            type(sapporo_particle), intent(out) :: particle
        end function sapporo_get_particle

        integer(c_int) function sapporo_clear_particles(context) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: context
        end function sapporo_clear_particles

        integer(c_int) function sapporo_set_time(context, time) bind(c)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: context
            real(c_double), value :: time
        end function sapporo_set_time

        integer(c_int) function sapporo_force_begin(context, request, job) bind(c)
            import :: c_int, c_ptr, sapporo_request
            type(c_ptr), value :: context
            type(sapporo_request), intent(in) :: request
            type(c_ptr), intent(out) :: job
        end function sapporo_force_begin

        integer(c_int) function sapporo_force_done(job) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: job
        end function sapporo_force_done

        integer(c_int) function sapporo_force_end(job, ni, results) bind(c)
            import :: c_int, c_ptr, sapporo_result
            type(c_ptr), value :: job
            integer(c_int), value :: ni
            type(sapporo_result), intent(in) :: results
        end function sapporo_force_end

        integer(c_int) function sapporo_force_neighbours(job, i, room, n, list, total) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: job
            integer(c_int), value :: i, room
            integer(c_int), intent(out) :: n
            integer(c_int), intent(inout) :: list(*)        ! the first n are written
            integer(c_int), intent(out), optional :: total
        end function sapporo_force_neighbours

        integer(c_int) function sapporo_force_neighbour_lists(job, ni, room, pitch, list, n) bind(c)
            import :: c_int, c_intptr_t, c_ptr
            type(c_ptr), value :: job
            integer(c_int), value :: ni, room
            integer(c_intptr_t), value :: pitch             ! from list to list
            integer(c_int), intent(inout) :: list(*)
            integer(c_int), intent(out) :: n(*)
        end function sapporo_force_neighbour_lists

        subroutine sapporo_force_free(job) bind(c)
            import :: c_ptr
            type(c_ptr), value :: job
        end subroutine sapporo_force_free

        integer(c_int) function sapporo_neighbour_force(context, neighbours, result) bind(c)
            import :: c_int, c_ptr, sapporo_neighbour_request, sapporo_result
            type(c_ptr), value :: context
            type(sapporo_neighbour_request), intent(in) :: neighbours
            type(sapporo_result), intent(in) :: result
        end function sapporo_neighbour_force

        integer(c_int) function sapporo_force_batch(context, nlists, lists, results) bind(c)
            import :: c_int, c_ptr, sapporo_small_force, sapporo_result
            type(c_ptr), value :: context
            integer(c_int), value :: nlists
            type(sapporo_small_force), intent(in) :: lists(*)
            type(sapporo_result), intent(in) :: results(*)
        end function sapporo_force_batch

        integer(c_int) function sapporo_force_batch_begin(context, nlists, lists, batch) bind(c)
            import :: c_int, c_ptr, sapporo_small_force
            type(c_ptr), value :: context
            integer(c_int), value :: nlists
            type(sapporo_small_force), intent(in) :: lists(*)
            type(c_ptr), intent(out) :: batch
        end function sapporo_force_batch_begin

        integer(c_int) function sapporo_force_batch_done(batch) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: batch
        end function sapporo_force_batch_done

        integer(c_int) function sapporo_force_batch_end(batch, nlists, ni, results) bind(c)
            import :: c_int, c_ptr, sapporo_result
            type(c_ptr), value :: batch
            integer(c_int), value :: nlists
            integer(c_int), intent(in) :: ni(*)             ! rows of each list
            type(sapporo_result), intent(in) :: results(*)
        end function sapporo_force_batch_end

        subroutine sapporo_force_batch_free(batch) bind(c)
            import :: c_ptr
            type(c_ptr), value :: batch
        end subroutine sapporo_force_batch_free

        integer(c_int) function sapporo_keep_addresses(context, address, n) bind(c)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: context
            type(c_ptr), value :: address !< c_loc of an array that stays as it is
            integer(c_size_t), value :: n
        end function sapporo_keep_addresses

        integer(c_int) function sapporo_tree_create(options, n, tree) bind(c)
            import :: c_int, c_ptr, sapporo_tree_options
            type(sapporo_tree_options), intent(in), optional :: options
            integer(c_int), value :: n
            type(c_ptr), intent(out) :: tree
        end function sapporo_tree_create

        subroutine sapporo_tree_destroy(tree) bind(c)
            import :: c_ptr
            type(c_ptr), value :: tree
        end subroutine sapporo_tree_destroy

        function sapporo_tree_last_error(tree) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: tree
            type(c_ptr) :: text
        end function sapporo_tree_last_error

        function sapporo_tree_kind_text(tree) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: tree
            type(c_ptr) :: text
        end function sapporo_tree_kind_text

        integer(c_int) function sapporo_tree_get_backend(tree) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: tree
        end function sapporo_tree_get_backend

        integer(c_size_t) function sapporo_tree_memory_needed(options, n, device_bytes) bind(c)
            import :: c_int, c_size_t, sapporo_tree_options
            type(sapporo_tree_options), intent(in), optional :: options
            integer(c_int), value :: n
            integer(c_size_t), intent(out), optional :: device_bytes
        end function sapporo_tree_memory_needed

        integer(c_int) function sapporo_tree_set(tree, particles) bind(c)
            import :: c_int, c_ptr, sapporo_tree_particles
            type(c_ptr), value :: tree
            type(sapporo_tree_particles), intent(in) :: particles
        end function sapporo_tree_set

        integer(c_int) function sapporo_tree_build(tree) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: tree
        end function sapporo_tree_build

        integer(c_int) function sapporo_tree_refresh(tree) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: tree
        end function sapporo_tree_refresh
        integer(c_int) function sapporo_tree_refresh_or_build(tree, factor, built) bind(c)
            import :: c_int, c_double, c_ptr
            type(c_ptr), value :: tree
            real(c_double), value :: factor
            integer(c_int), intent(out) :: built
        end function sapporo_tree_refresh_or_build

        ! acc, pot: c_loc of acc(3, ni), pot(ni), or c_null_ptr
        integer(c_int) function sapporo_tree_force(tree, request, acc, pot) bind(c)
            import :: c_int, c_ptr, sapporo_tree_request
            type(c_ptr), value :: tree
            type(sapporo_tree_request), intent(in) :: request
            type(c_ptr), value :: acc, pot
        end function sapporo_tree_force

        ! tidal: c_loc of tidal(6, ni): xx, xy, xz, yy, yz, zz of each row
        integer(c_int) function sapporo_tree_tidal(tree, request, tidal) bind(c)
            import :: c_int, c_ptr, sapporo_tree_request
            type(c_ptr), value :: tree
            type(sapporo_tree_request), intent(in) :: request
            type(c_ptr), value :: tidal
        end function sapporo_tree_tidal

        integer(c_int) function sapporo_tree_neighbours(tree, ni, x, h, first, room, list) bind(c)
            import :: c_int, c_long_long, c_ptr, sapporo_column
            type(c_ptr), value :: tree
            integer(c_int), value :: ni
            type(sapporo_column), value :: x, h
            integer(c_long_long), intent(inout) :: first(*) ! ni + 1, from 0: those of place i are list(first(i) + 1) ...
            integer(c_long_long), value :: room
            integer(c_int), intent(inout) :: list(*)
        end function sapporo_tree_neighbours

        ! first, list: c_loc of first(ni + 1) of c_long_long, list(room) of c_int, or c_null_ptr; addresses from 0
        integer(c_int) function sapporo_tree_within(tree, request, radius, first, room, list) bind(c)
            import :: c_int, c_long_long, c_ptr, sapporo_column, sapporo_tree_request
            type(c_ptr), value :: tree
            type(sapporo_tree_request), intent(in) :: request
            type(sapporo_column), value :: radius
            type(c_ptr), value :: first
            integer(c_long_long), value :: room
            type(c_ptr), value :: list
        end function sapporo_tree_within

        ! list, distance2: c_loc of list(k, ni), distance2(k, ni), or c_null_ptr; addresses from 0
        integer(c_int) function sapporo_tree_nearest(tree, request, k, list, distance2) bind(c)
            import :: c_int, c_ptr, sapporo_tree_request
            type(c_ptr), value :: tree
            type(sapporo_tree_request), intent(in) :: request
            integer(c_int), value :: k
            type(c_ptr), value :: list, distance2
        end function sapporo_tree_nearest

        integer(c_int) function sapporo_tree_get_statistics(tree, statistics) bind(c)
            import :: c_int, c_ptr, sapporo_tree_statistics
            type(c_ptr), value :: tree
            type(sapporo_tree_statistics), intent(inout) :: statistics
        end function sapporo_tree_get_statistics

        integer(c_int) function sapporo_stepper_create(options, n, stepper) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_options
            type(sapporo_stepper_options), intent(in) :: options
            integer(c_int), value :: n
            type(c_ptr), intent(out) :: stepper
        end function sapporo_stepper_create

        subroutine sapporo_stepper_destroy(stepper) bind(c)
            import :: c_ptr
            type(c_ptr), value :: stepper
        end subroutine sapporo_stepper_destroy

        function sapporo_stepper_last_error(stepper) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: stepper
            type(c_ptr) :: text
        end function sapporo_stepper_last_error

        function sapporo_stepper_kind_text(stepper) bind(c) result(text)
            import :: c_ptr
            type(c_ptr), value :: stepper
            type(c_ptr) :: text
        end function sapporo_stepper_kind_text

        integer(c_int) function sapporo_stepper_get_backend(stepper) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stepper
        end function sapporo_stepper_get_backend

        real(c_double) function sapporo_stepper_get_time(stepper) bind(c)
            import :: c_double, c_ptr
            type(c_ptr), value :: stepper
        end function sapporo_stepper_get_time

        integer(c_int) function sapporo_stepper_set(stepper, particles) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_particles
            type(c_ptr), value :: stepper
            type(sapporo_stepper_particles), intent(in) :: particles
        end function sapporo_stepper_set

        integer(c_int) function sapporo_stepper_add(stepper, particles) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_particles
            type(c_ptr), value :: stepper
            type(sapporo_stepper_particles), intent(in) :: particles
        end function sapporo_stepper_add

        integer(c_int) function sapporo_stepper_remove(stepper, n, address) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: stepper
            integer(c_int), value :: n
            integer(c_int), intent(in) :: address(*)
        end function sapporo_stepper_remove

        integer(c_int) function sapporo_stepper_advance(stepper, time, steps) bind(c)
            import :: c_double, c_int, c_long_long, c_ptr
            type(c_ptr), value :: stepper
            real(c_double), value :: time
            integer(c_long_long), value :: steps
        end function sapporo_stepper_advance

        integer(c_int) function sapporo_stepper_get(stepper, output) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_output
            type(c_ptr), value :: stepper
            type(sapporo_stepper_output), intent(in) :: output
        end function sapporo_stepper_get

        integer(c_int) function sapporo_stepper_get_pairs(stepper, pairs) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_pairs
            type(c_ptr), value :: stepper
            type(sapporo_stepper_pairs), intent(inout) :: pairs
        end function sapporo_stepper_get_pairs

        integer(c_int) function sapporo_stepper_energy(stepper, totals) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_totals
            type(c_ptr), value :: stepper
            type(sapporo_stepper_totals), intent(inout) :: totals
        end function sapporo_stepper_energy

        ! path: ends with c_null_char
        integer(c_int) function sapporo_stepper_save(stepper, path) bind(c)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: stepper
            character(kind=c_char), intent(in) :: path(*)
        end function sapporo_stepper_save

        integer(c_int) function sapporo_stepper_restore(stepper, path) bind(c)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: stepper
            character(kind=c_char), intent(in) :: path(*)
        end function sapporo_stepper_restore

        integer(c_int) function sapporo_stepper_get_statistics(stepper, statistics) bind(c)
            import :: c_int, c_ptr, sapporo_stepper_statistics
            type(c_ptr), value :: stepper
            type(sapporo_stepper_statistics), intent(inout) :: statistics
        end function sapporo_stepper_get_statistics
    end interface

contains

    ! A text of the library as Fortran has them: sapporo_text(sapporo_last_error(context)).
    function sapporo_text(text) result(copy)
        type(c_ptr), intent(in) :: text
        character(:), allocatable :: copy
        character(kind=c_char), pointer :: at(:)
        integer :: k, length
        copy = ''
        if (.not. c_associated(text)) return
        call c_f_pointer(text, at, [huge(length)])
        length = 0
        do while (at(length + 1) /= c_null_char)
            length = length + 1
        end do
        copy = repeat(' ', length)
        do k = 1, length
            copy(k:k) = at(k)
        end do
    end function sapporo_text
end module sapporo
