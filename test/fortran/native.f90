! native.f90 - module sapporo: all of the interface is called, sizes of types are printed (test_fortran.sh compares
! them with C's).
program native
    use, intrinsic :: iso_c_binding
    use sapporo
    implicit none
    integer(c_int), parameter :: n = 3
    type(c_ptr) :: context, job
    type(sapporo_options) :: options
    type(sapporo_device) :: device
    type(sapporo_variable) :: variable
    type(sapporo_particle) :: particle
    type(sapporo_particles) :: particles
    type(sapporo_request) :: request
    type(sapporo_regular), target :: sphere
    type(sapporo_result) :: results
    type(sapporo_small_force) :: lists(1)
    type(sapporo_neighbour_request) :: asked
    type(c_ptr) :: tree
    type(sapporo_tree_options), target :: tree_options
    type(sapporo_tree_particles) :: tree_particles
    type(sapporo_tree_request) :: tree_request
    type(sapporo_tree_statistics) :: tree_statistics
    real(c_double), target :: tree_acc(3, n), tree_pot(n), tree_tidal(6, n)
    type(c_ptr) :: stepper
    type(sapporo_field), target :: fields(1)
    type(sapporo_stepper_options) :: stepper_options
    type(sapporo_stepper_particles) :: stepper_particles
    type(sapporo_stepper_output) :: stepper_output
    type(sapporo_stepper_pairs) :: stepper_pairs
    type(sapporo_stepper_totals) :: totals
    type(sapporo_stepper_statistics) :: stepper_statistics
    integer(c_long_long), target :: first(2)
    real(c_double), target :: x(3, n), v(3, n), m(n), xi(3, 1), h2(1), acc(3, 1), jerk(3, 1), pot(1), r2(1)
    integer(c_int), target :: index(n), own(1), nearest(1), one_address(1), neighbours(2), two(1)
    type(c_ptr), target :: list_at(1)
    integer(c_int) :: list(n), length, total
    integer(c_size_t) :: bytes

    print '(a,20(1x,i0))', 'sizes', c_sizeof(device), c_sizeof(variable), c_sizeof(options), c_sizeof(request%x), &
        c_sizeof(particle), c_sizeof(particles), c_sizeof(request), c_sizeof(results), c_sizeof(lists(1)), c_sizeof(asked), &
        c_sizeof(tree_options), c_sizeof(tree_particles), c_sizeof(tree_request), c_sizeof(tree_statistics), &
        c_sizeof(fields(1)), c_sizeof(stepper_options), c_sizeof(stepper_particles), c_sizeof(stepper_output), &
        c_sizeof(totals), c_sizeof(stepper_statistics)
    print '(a)', sapporo_text(sapporo_version())

    if (sapporo_arith_version() < 1) error stop 'sapporo_arith_version'
    if (sapporo_text(sapporo_status_text(SAPPORO_OK)) == '') error stop 'sapporo_status_text'
    call sapporo_set_log(c_null_funptr, c_null_ptr)
    call sapporo_log(SAPPORO_LOG_INFO, 'nothing' // c_null_char)
    if (sapporo_device_count(SAPPORO_BACKEND_CPU) /= 1) error stop 'sapporo_device_count'
    device%size = c_sizeof(device)
    if (sapporo_device_describe(SAPPORO_BACKEND_CPU, 0, device) /= SAPPORO_OK) error stop 'sapporo_device_describe'
    variable%size = c_sizeof(variable)
    if (sapporo_variable_describe(0, variable) /= SAPPORO_OK) error stop 'sapporo_variable_describe'
    if (device%units < 1 .or. device%name(1) == c_null_char) error stop 'device'

    if (sapporo_open(context=context) < 0) error stop 'sapporo_open without options'
    call sapporo_close(context)
    options%size = c_sizeof(options)
    options%precision = 99
    if (sapporo_open(options, context) /= SAPPORO_ERR_ARGUMENT .or. c_associated(context)) error stop 'precision 99'
    if (index_of_precision() == 0) error stop 'sapporo_last_error'
    options%precision = SAPPORO_DP
    options%backend = SAPPORO_BACKEND_CPU
    options%threads = 1
    if (sapporo_open(options, context) /= SAPPORO_OK) error stop 'sapporo_open'
    if (sapporo_get_precision(context) /= SAPPORO_DP) error stop 'sapporo_get_precision'
    if (sapporo_get_backend(context) /= SAPPORO_BACKEND_CPU) error stop 'sapporo_get_backend'
    if (sapporo_get_threads(context) /= 1) error stop 'sapporo_get_threads'
    if (sapporo_text(sapporo_kind(context)) == '') error stop 'sapporo_kind'
    if (sapporo_memory_needed(context, 1000) == 0) error stop 'sapporo_memory_needed'
    if (sapporo_memory_needed(context, 1000, bytes) == 0 .or. bytes /= 0) error stop 'device memory'

    x = reshape([0, 0, 0, 1, 0, 0, 0, 2, 0], [3, 3])
    v = 0
    v(1, 3) = 1
    m = [1, 2, 4]
    index = [10, 11, 12]
    particles%size = c_sizeof(particles)
    particles%derivative(1) = sapporo_column(c_loc(x), 0)
    particles%derivative(2) = sapporo_column(c_loc(v), 0)
    particles%mass = sapporo_column(c_loc(m), 0)
    particles%index = sapporo_column(c_loc(index), 0)
    if (sapporo_set_particles(context, 0, n, particles) /= SAPPORO_OK) error stop 'sapporo_set_particles'
    if (sapporo_set_time(context, 0.0_c_double) /= SAPPORO_OK) error stop 'sapporo_set_time'
    if (sapporo_get_particle(context, 2, 0, particle) /= SAPPORO_OK) error stop 'sapporo_get_particle'
    if (particle%derivative(2, 1) /= 2 .or. particle%derivative(1, 2) /= 1 .or. particle%index /= 12) &
        error stop 'particle'
    if (sapporo_set_particle(context, 2, particle) /= SAPPORO_OK) error stop 'sapporo_set_particle'

    xi = 0
    own = 10
    h2 = 1.5_c_double
    request%size = c_sizeof(request)
    request%nj = n
    request%ni = 1
    request%x = sapporo_column(c_loc(xi), 0)
    request%index = sapporo_column(c_loc(own), 0)
    request%h2 = sapporo_column(c_loc(h2), 0)
    request%want = ior(SAPPORO_WANT_NEAREST, SAPPORO_WANT_LISTS)
    if (sapporo_force_begin(context, request, job) /= SAPPORO_OK) error stop 'sapporo_force_begin'
    do while (sapporo_force_done(job) == 0)
    end do
    results%size = c_sizeof(results)
    results%acc = c_loc(acc)
    results%jerk = c_loc(jerk)
    results%pot = c_loc(pot)
    results%nearest = c_loc(nearest)
    results%nearest_r2 = c_loc(r2)
    if (sapporo_force_end(job, 1, results) /= SAPPORO_OK) error stop 'sapporo_force_end'
    if (.not. (all(abs(acc(:, 1) - [2, 1, 0]) <= 1e-12) .and. abs(pot(1) + 4) <= 1e-12)) error stop 'acc, pot'
    if (.not. abs(jerk(1, 1) - 0.5_c_double) <= 1e-12 .or. nearest(1) /= 11 .or. r2(1) /= 1) error stop 'jerk, nearest'
    if (sapporo_force_neighbours(job, 0, n, length, list) /= SAPPORO_OK) error stop 'sapporo_force_neighbours'
    if (length /= 1 .or. list(1) /= 11) error stop 'list'
    if (sapporo_force_neighbours(job, 0, 0, length, list, total) /= SAPPORO_TRUNCATED .or. total /= 1) &
        error stop 'length of the list'
    call sapporo_force_free(job)

    request%index = sapporo_column(c_null_ptr, 0)
    request%want = 0
    request%pairs = SAPPORO_PAIRS_OUTSIDE
    if (sapporo_force_begin(context, request, job) /= SAPPORO_OK) error stop 'SAPPORO_PAIRS_OUTSIDE'
    results%nearest = c_null_ptr
    results%nearest_r2 = c_null_ptr
    if (sapporo_force_end(job, 1, results) /= SAPPORO_OK) error stop 'sapporo_force_end, outside'
    if (.not. all(abs(acc(:, 1) - [0, 1, 0]) <= 1e-12)) error stop 'acc outside'
    call sapporo_force_free(job)
    sphere%size = c_sizeof(sphere)
    sphere%h2_by_mass = 1
    request%regular = c_loc(sphere)
    if (sapporo_force_begin(context, request, job) /= SAPPORO_OK) error stop 'sapporo_regular'
    if (sapporo_force_end(job, 1, results) /= SAPPORO_OK) error stop 'sapporo_force_end, sapporo_regular'
    if (.not. all(abs(acc(:, 1)) <= 1e-12)) error stop 'acc outside, h2 by mass'
    call sapporo_force_free(job)

    one_address = 0
    neighbours = [1, 2]
    two = 2
    list_at(1) = c_loc(neighbours)
    asked%size = c_sizeof(asked)
    asked%ni = 1
    asked%address = c_loc(one_address)
    asked%list = c_loc(list_at)
    asked%length = c_loc(two)
    if (sapporo_neighbour_force(context, asked, results) /= SAPPORO_OK) error stop 'sapporo_neighbour_force'
    if (.not. all(abs(acc(:, 1) - [2, 1, 0]) <= 1e-12)) error stop 'acc of a list'

    lists(1)%size = c_sizeof(lists(1))
    if (sapporo_force_batch(context, -1, lists, [results]) /= SAPPORO_ERR_ARGUMENT) error stop 'sapporo_force_batch'
    if (sapporo_force_batch_begin(context, -1, lists, job) /= SAPPORO_ERR_ARGUMENT) error stop 'batch_begin'
    if (c_associated(job)) error stop 'batch that has not begun'
    if (sapporo_force_batch_begin(context, 0, lists, job) /= SAPPORO_ERR_UNSUPPORTED) error stop 'batch of order 4'
    if (sapporo_force_batch_done(job) /= 1) error stop 'sapporo_force_batch_done'
    if (sapporo_force_batch_end(job, 0, [0], [results]) /= SAPPORO_ERR_ARGUMENT) error stop 'sapporo_force_batch_end'
    call sapporo_force_batch_free(job)
    call sapporo_clear_error(context)
    if (sapporo_text(sapporo_last_error(context)) /= '') error stop 'sapporo_clear_error'
    if (sapporo_clear_particles(context) /= SAPPORO_OK) error stop 'sapporo_clear_particles'
    call sapporo_close(context)
    call trees()
    call steppers()

contains

    subroutine trees()
        tree_options%size = c_sizeof(tree_options)
        tree_options%backend = SAPPORO_BACKEND_CPU
        tree_options%accuracy = -1
        if (sapporo_tree_create(tree_options, n, tree) /= SAPPORO_ERR_ARGUMENT) error stop 'accuracy -1'
        tree_options%accuracy = 0.5_c_double
        tree_options%precision = SAPPORO_DP
        if (sapporo_tree_create(tree_options, n, tree) /= SAPPORO_OK) error stop 'sapporo_tree_create'
        if (sapporo_tree_memory_needed(tree_options, n) == 0) error stop 'sapporo_tree_memory_needed'
        if (sapporo_tree_get_backend(tree) /= SAPPORO_BACKEND_CPU) error stop 'sapporo_tree_get_backend'
        if (scan_for(sapporo_text(sapporo_tree_kind_text(tree)), 'octree') == 0) error stop 'sapporo_tree_kind_text'
        tree_particles%size = c_sizeof(tree_particles)
        tree_particles%n = n
        tree_particles%x = sapporo_column(c_loc(x), 0)
        tree_particles%mass = sapporo_column(c_loc(m), 0)
        if (sapporo_tree_refresh(tree) /= SAPPORO_ERR_ARGUMENT) error stop 'sapporo_tree_refresh'
        if (sapporo_text(sapporo_tree_last_error(tree)) == '') error stop 'sapporo_tree_last_error'
        if (sapporo_tree_set(tree, tree_particles) /= SAPPORO_OK) error stop 'sapporo_tree_set'
        if (sapporo_tree_build(tree) /= SAPPORO_OK) error stop 'sapporo_tree_build'
        tree_request%size = c_sizeof(tree_request)
        tree_request%ni = n
        if (sapporo_tree_force(tree, tree_request, c_loc(tree_acc), c_loc(tree_pot)) /= SAPPORO_OK) &
            error stop 'sapporo_tree_force'
        if (.not. all(abs(tree_acc(:, 1) - [2, 1, 0]) <= 1e-12)) error stop 'tree: acc'
        if (.not. abs(tree_pot(1) + 4) <= 1e-12) error stop 'tree: pot'
        if (sapporo_tree_tidal(tree, tree_request, c_loc(tree_tidal)) /= SAPPORO_OK) error stop 'sapporo_tree_tidal'
        if (.not. all(abs(tree_tidal(1, :) + tree_tidal(4, :) + tree_tidal(6, :)) <= 1e-12)) error stop 'tree: trace'
        if (.not. maxval(tree_tidal) > 0.5_c_double) error stop 'tree: tidal'
        h2 = 1.5_c_double
        if (sapporo_tree_neighbours(tree, 1, sapporo_column(c_loc(xi), 0), sapporo_column(c_loc(h2), 0), first, &
            int(n, c_long_long), list) /= SAPPORO_OK) error stop 'sapporo_tree_neighbours'
        if (first(2) /= 2 .or. any(list(:2) /= [0, 1])) error stop 'tree: list'
        tree_request%ni = 1
        if (sapporo_tree_within(tree, tree_request, sapporo_column(c_loc(h2), 0), c_loc(first), 0_c_long_long, &
            c_null_ptr) /= SAPPORO_TRUNCATED) error stop 'sapporo_tree_within'
        if (any(first /= [0, 1])) error stop 'tree: within'
        tree_statistics%size = c_sizeof(tree_statistics)
        if (sapporo_tree_get_statistics(tree, tree_statistics) /= SAPPORO_OK) error stop 'sapporo_tree_get_statistics'
        if (tree_statistics%n /= n .or. tree_statistics%rows /= n .or. &
            tree_statistics%seconds(SAPPORO_PHASE_WALK) < 0) error stop 'tree: statistics'
        call sapporo_tree_destroy(tree)
    end subroutine trees

    subroutine steppers()
        character(kind=c_char, len=*), parameter :: nowhere = '/no/such/folder/file'//c_null_char
        fields(1)%kind = SAPPORO_FIELD_PLUMMER
        fields(1)%strength = 1
        fields(1)%a = 1
        stepper_options%size = c_sizeof(stepper_options)
        stepper_options%tree = c_loc(tree_options)
        if (sapporo_stepper_create(stepper_options, n, stepper) /= SAPPORO_ERR_ARGUMENT) error stop 'dt 0'
        stepper_options%dt = 0.125_c_double
        stepper_options%nfields = 1
        stepper_options%fields = c_loc(fields)
        stepper_options%landing = 1
        if (sapporo_stepper_create(stepper_options, n, stepper) /= SAPPORO_OK) error stop 'sapporo_stepper_create'
        if (sapporo_stepper_get_backend(stepper) /= SAPPORO_BACKEND_CPU) error stop 'sapporo_stepper_get_backend'
        if (scan_for(sapporo_text(sapporo_stepper_kind_text(stepper)), 'octree') == 0) error stop 'kind of a stepper'
        stepper_particles%size = c_sizeof(stepper_particles)
        stepper_particles%n = n
        stepper_particles%x = sapporo_column(c_loc(x), 0)
        stepper_particles%v = sapporo_column(c_loc(v), 0)
        stepper_particles%mass = sapporo_column(c_loc(m), 0)
        if (sapporo_stepper_advance(stepper, 1.0_c_double, 0_c_long_long) /= SAPPORO_ERR_ARGUMENT) error stop 'no particles'
        if (sapporo_text(sapporo_stepper_last_error(stepper)) == '') error stop 'sapporo_stepper_last_error'
        if (sapporo_stepper_set(stepper, stepper_particles) /= SAPPORO_OK) error stop 'sapporo_stepper_set'
        if (sapporo_stepper_advance(stepper, 1.0_c_double, 3_c_long_long) /= SAPPORO_OK) error stop 'sapporo_stepper_advance'
        if (.not. abs(sapporo_stepper_get_time(stepper) - 0.375_c_double) <= 0) error stop 'sapporo_stepper_get_time'
        stepper_output%size = c_sizeof(stepper_output)
        stepper_output%n = n
        stepper_output%acc = c_loc(tree_acc)
        if (sapporo_stepper_get(stepper, stepper_output) /= SAPPORO_OK) error stop 'sapporo_stepper_get'
        totals%size = c_sizeof(totals)
        if (sapporo_stepper_energy(stepper, totals) /= SAPPORO_OK) error stop 'sapporo_stepper_energy'
        if (.not. totals%field < 0) error stop 'totals of a stepper'
        stepper_statistics%size = c_sizeof(stepper_statistics)
        if (sapporo_stepper_get_statistics(stepper, stepper_statistics) /= SAPPORO_OK) error stop 'statistics of a stepper'
        if (stepper_statistics%steps /= 3 .or. stepper_statistics%level(1) /= n) error stop 'steps of a stepper'
        if (sapporo_stepper_advance(stepper, 0.4_c_double, 0_c_long_long) /= SAPPORO_OK) error stop 'landing'
        if (.not. abs(sapporo_stepper_get_time(stepper) - 0.4_c_double) <= 0) error stop 'time of a landing'
        if (sapporo_stepper_remove(stepper, 1, [1_c_int]) /= SAPPORO_OK) error stop 'sapporo_stepper_remove'
        stepper_particles%n = 1
        stepper_particles%time = sapporo_stepper_get_time(stepper)
        stepper_particles%x = sapporo_column(c_loc(x(1, 2)), 0)
        if (sapporo_stepper_add(stepper, stepper_particles) /= SAPPORO_OK) error stop 'sapporo_stepper_add'
        if (sapporo_stepper_add(stepper, stepper_particles) /= SAPPORO_ERR_ARGUMENT) error stop 'room of a stepper'
        stepper_particles%time = 0
        if (sapporo_stepper_save(stepper, nowhere) /= SAPPORO_ERR_ARGUMENT) error stop 'sapporo_stepper_save'
        if (sapporo_stepper_restore(stepper, nowhere) /= SAPPORO_ERR_ARGUMENT) error stop 'sapporo_stepper_restore'
        call sapporo_stepper_destroy(stepper)
        call stop_at_pairs()
    end subroutine steppers

    subroutine stop_at_pairs()
        real(c_double), target :: at(3, 2), speed(3, 2), mass(2), r2(1)
        integer(c_int), target :: pair(2, 1), nearest(2)
        at = 0
        at(1, :) = [-1, 1]
        speed = -at
        mass = 1e-6_c_double
        stepper_options%nfields = 0
        stepper_options%landing = 0
        stepper_options%scheme = SAPPORO_STEPS_HERMITE4
        stepper_options%close = 0.5_c_double
        if (sapporo_stepper_create(stepper_options, 2, stepper) /= SAPPORO_OK) error stop 'Hermite scheme'
        stepper_particles%n = 2
        stepper_particles%x = sapporo_column(c_loc(at), 0)
        stepper_particles%v = sapporo_column(c_loc(speed), 0)
        stepper_particles%mass = sapporo_column(c_loc(mass), 0)
        if (sapporo_stepper_set(stepper, stepper_particles) /= SAPPORO_OK) error stop 'two stars'
        if (sapporo_stepper_advance(stepper, 1.0_c_double, 0_c_long_long) /= SAPPORO_STOPPED) error stop 'no stop'
        stepper_pairs%size = c_sizeof(stepper_pairs)
        stepper_pairs%room = 1
        stepper_pairs%pair = c_loc(pair)
        stepper_pairs%r2 = c_loc(r2)
        if (sapporo_stepper_get_pairs(stepper, stepper_pairs) /= SAPPORO_OK) error stop 'sapporo_stepper_get_pairs'
        if (stepper_pairs%n /= 1 .or. any(pair(:, 1) /= [0, 1]) .or. r2(1) >= 0.25_c_double) error stop 'a close pair'
        stepper_output%n = 2
        stepper_output%acc = c_null_ptr
        stepper_output%nearest = c_loc(nearest)
        if (sapporo_stepper_get(stepper, stepper_output) /= SAPPORO_OK) error stop 'nearest neighbours'
        if (any(nearest /= [1, 0])) error stop 'addresses of the nearest'
        call sapporo_stepper_destroy(stepper)
    end subroutine stop_at_pairs

    integer function index_of_precision()
        intrinsic :: index
        index_of_precision = scan_for(sapporo_text(sapporo_last_error(c_null_ptr)), 'precision is 99')
    end function index_of_precision

    integer function scan_for(text, word)
        character(*), intent(in) :: text, word
        intrinsic :: index
        scan_for = index(text, word)
    end function scan_for
end program native
