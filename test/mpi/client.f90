! client.f90 - module sapporo_mpi over the ranks of MPI: every function is called; forces are those of a sum in quadruple
! precision, by both ways.  Sizes of types are printed, which test_mpi.sh compares with those of C.
program client
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: real128
    use mpi
    use sapporo_mpi
    implicit none
    integer, parameter :: n = 5000
    real(c_double), parameter :: eps2 = 1d-4
    type(sapporo_options), target :: context_options
    type(sapporo_mpi_options) :: options
    type(sapporo_mpi_costs), target :: costs
    type(sapporo_mpi_traffic) :: traffic
    type(sapporo_tree_options), target :: options_of_tree
    type(sapporo_mpi_tree_options) :: tree_options
    type(sapporo_mpi_tree_statistics) :: statistics
    type(sapporo_stepper_options), target :: options_of_stepper
    type(sapporo_mpi_stepper_options) :: stepper_options
    real(c_double), target :: x(3, n), v(3, n), m(n)
    real(c_double), allocatable, target :: own_x(:, :), own_v(:, :), own_m(:), acc(:, :), jerk(:, :), pot(:)
    integer(c_int), allocatable, target :: address(:)
    type(c_ptr) :: handle
    character(:), allocatable :: text
    integer(c_int) :: status
    integer :: rank, ranks, ierr, own, k, way, failures

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    failures = 0
    if (rank == 0) print '(a,6(1x,i0))', 'sizes', c_sizeof(options), c_sizeof(costs), &
        c_sizeof(tree_options), c_sizeof(statistics), c_sizeof(stepper_options), c_sizeof(traffic)
    call make_model
    context_options%size = c_sizeof(context_options)
    context_options%precision = SAPPORO_DP
    costs%size = c_sizeof(costs)
    options%size = c_sizeof(options)
    options%context = c_loc(context_options)
    options%timeout = 60

    options%way = 9
    status = sapporo_mpi_open(MPI_COMM_WORLD, options, handle)
    text = sapporo_text(sapporo_mpi_last_error(c_null_ptr))
    call report(status == SAPPORO_ERR_ARGUMENT .and. index(text, 'way') > 0, 'a way that does not exist')
    do way = SAPPORO_MPI_WAY_AUTO, SAPPORO_MPI_WAY_SOURCES
        options%way = int(way, c_int)
        call test_forces
    end do
    call test_trees
    call test_steppers
    text = sapporo_text(sapporo_mpi_status_text(SAPPORO_MPI_ERR_TIMEOUT))
    call report(index(text, 'in time') > 0, 'texts of statuses')
    call MPI_Finalize(ierr)
    if (failures > 0) error stop 1

contains

    ! One line of TAP by rank 0: it passes if it is true on all ranks.
    subroutine report(passed, what)
        logical, intent(in) :: passed
        character(*), intent(in) :: what
        logical :: all_passed
        call MPI_Allreduce(passed, all_passed, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
        if (.not. all_passed) failures = failures + 1
        if (rank == 0) print '(2a)', trim(merge('ok    ', 'not ok', all_passed)), ' - Fortran: ' // what
    end subroutine report

    ! A model that is the same on all ranks; each rank has every particle whose number is its own modulo the ranks.
    subroutine make_model
        integer :: axis, j
        do j = 1, n
            do axis = 1, 3
                x(axis, j) = sin(7d0 * j * axis + axis)
                v(axis, j) = cos(5d0 * j + 3 * axis)
            end do
            m(j) = 1d0 / n
        end do
        own = (n - 1 - rank) / ranks + 1
        allocate (own_x(3, own), own_v(3, own), own_m(own), acc(3, own), jerk(3, own), pot(own), address(own))
        do k = 1, own
            address(k) = int(rank + (k - 1) * ranks, c_int)
            own_x(:, k) = x(:, address(k) + 1)
            own_v(:, k) = v(:, address(k) + 1)
            own_m(k) = m(address(k) + 1)
        end do
    end subroutine make_model

    subroutine test_forces
        type(sapporo_particles) :: particles
        type(sapporo_request) :: request
        type(sapporo_result) :: results
        type(c_ptr) :: job, context
        integer(c_int) :: begun, ended, took
        real(real128) :: error
        status = sapporo_mpi_open(MPI_COMM_WORLD, options, handle)
        context = sapporo_mpi_context(handle)
        text = sapporo_text(sapporo_mpi_kind(handle))
        call report(status == SAPPORO_OK .and. c_associated(context) .and. text /= '', 'open')
        particles%size = c_sizeof(particles)
        particles%derivative(1) = sapporo_column(c_loc(own_x), 0)
        particles%derivative(2) = sapporo_column(c_loc(own_v), 0)
        particles%mass = sapporo_column(c_loc(own_m), 0)
        begun = sapporo_mpi_set_particles(handle, int(own, c_int), address, particles)
        status = sapporo_mpi_clear_particles(handle)
        ended = sapporo_mpi_set_particles(handle, int(own, c_int), address, particles)
        took = sapporo_mpi_set_time(handle, 0d0)
        call report(all([begun, status, ended, took] == SAPPORO_OK), 'particles and time')
        request%size = c_sizeof(request)
        request%nj = n
        request%ni = int(own, c_int)
        request%x = sapporo_column(c_loc(own_x), 0)
        request%v = sapporo_column(c_loc(own_v), 0)
        request%index = sapporo_column(c_loc(address), 0)
        request%eps2 = eps2
        results%size = c_sizeof(results)
        results%acc = c_loc(acc)
        results%jerk = c_loc(jerk)
        results%pot = c_loc(pot)
        begun = sapporo_mpi_force_begin(handle, request, job)
        ended = sapporo_mpi_force_end(job, int(own, c_int), results)
        call sapporo_mpi_force_free(job)
        took = sapporo_mpi_get_way(handle)
        call report(sapporo_mpi_get_transport(handle) == SAPPORO_MPI_TRANSPORT_HOST, 'the transport of the CPU engine')
        error = worst_error()
        call report(begun == SAPPORO_OK .and. ended == SAPPORO_OK .and. error < 1e-12_real128 .and. &
            (way == SAPPORO_MPI_WAY_AUTO .or. took == way), 'forces of a sum in quadruple precision')
        status = sapporo_mpi_get_costs(handle, costs)
        call report(status == merge(SAPPORO_OK, SAPPORO_ERR_GONE, way == SAPPORO_MPI_WAY_AUTO .and. ranks > 1) .and. &
            costs%pair >= 0, 'costs')
        traffic%size = c_sizeof(traffic)
        status = sapporo_mpi_get_traffic(handle, traffic)
        call report(status == SAPPORO_OK .and. traffic%device_bytes == 0 .and. &
            (traffic%waits > 0 .and. traffic%host_bytes > 0 .or. ranks == 1), 'traffic')
        call sapporo_mpi_close(handle)
        status = sapporo_mpi_set_time(handle, 0d0)
        call report(status == SAPPORO_ERR_CLOSED, 'a closed handle')
    end subroutine test_forces

    subroutine test_trees
        type(sapporo_tree_particles) :: particles
        type(c_ptr) :: tree
        integer(c_int) :: built, forced, asked, arrived
        real(c_double), target :: all_m(n)
        real(real128) :: error
        tree_options%size = c_sizeof(tree_options)
        tree_options%timeout = -1
        status = sapporo_mpi_tree_create(MPI_COMM_WORLD, tree_options, tree)
        text = sapporo_text(sapporo_mpi_tree_last_error(c_null_ptr))
        call report(status == SAPPORO_ERR_ARGUMENT .and. index(text, 'timeout') > 0, 'a bad timeout of a tree')
        options_of_tree%size = c_sizeof(options_of_tree)
        options_of_tree%eps2 = eps2
        options_of_tree%accuracy = 0.2d0
        options_of_tree%precision = SAPPORO_DP
        tree_options%tree = c_loc(options_of_tree)
        tree_options%timeout = 60
        status = sapporo_mpi_tree_create(MPI_COMM_WORLD, tree_options, tree)
        call report(sapporo_mpi_tree_get_transport(tree) == SAPPORO_MPI_TRANSPORT_HOST, 'the transport of trees on CPUs')
        text = sapporo_text(sapporo_mpi_tree_kind_text(tree))
        call report(status == SAPPORO_OK .and. text /= '', 'a tree')
        particles%size = c_sizeof(particles)
        particles%n = int(own, c_int)
        particles%x = sapporo_column(c_loc(own_x), 0)
        particles%mass = sapporo_column(c_loc(own_m), 0)
        built = sapporo_mpi_tree_build(tree, particles)
        forced = sapporo_mpi_tree_force(tree, acc, pot)
        error = worst_error()
        call report(built == SAPPORO_OK .and. forced == SAPPORO_OK .and. error < 1e-2_real128, 'forces of a tree')
        pot = 1
        forced = sapporo_mpi_tree_force(tree, pot=pot)
        statistics%size = c_sizeof(statistics)
        asked = sapporo_mpi_tree_get_statistics(tree, statistics)
        call report(forced == SAPPORO_OK .and. all(pot < 0) .and. asked == SAPPORO_OK .and. statistics%given == own &
            .and. statistics%total == n, 'potentials alone, and statistics')
        acc = 0
        built = sapporo_mpi_tree_refresh(tree, particles)
        forced = sapporo_mpi_tree_force_active(tree, int(own, c_int), address_here(), acc, pot)
        error = worst_error()
        call report(built == SAPPORO_OK .and. forced == SAPPORO_OK .and. error < 1e-2_real128, 'active particles')
        forced = sapporo_mpi_tree_refresh_or_build(tree, particles, 0d0, built)
        asked = sapporo_mpi_tree_get_statistics(tree, statistics)
        call report(forced == SAPPORO_OK .and. built == 0 .and. statistics%refreshes == 2, 'refreshes')
        asked = sapporo_mpi_tree_exchange(tree, 8_c_size_t, c_loc(own_m), int(n, c_int), c_loc(all_m), arrived)
        call report(asked == SAPPORO_OK .and. arrived == statistics%n .and. all(all_m(1:arrived) > 0), 'an exchange')
        call sapporo_mpi_tree_destroy(tree)
    end subroutine test_trees

    subroutine test_steppers
        type(sapporo_stepper_particles) :: particles
        type(sapporo_stepper_output) :: output
        type(sapporo_stepper_totals) :: before, after
        type(sapporo_stepper_statistics) :: did
        type(sapporo_stepper_pairs) :: pairs
        type(c_ptr) :: stepper
        character(len=400) :: folder, path
        integer(c_int) :: made, moved, got, asked(2)
        options_of_stepper%size = c_sizeof(options_of_stepper)
        options_of_stepper%tree = c_loc(options_of_tree)
        stepper_options%size = c_sizeof(stepper_options)
        stepper_options%stepper = c_loc(options_of_stepper)
        stepper_options%timeout = 60
        made = sapporo_mpi_stepper_create(MPI_COMM_WORLD, stepper_options, int(own, c_int), stepper)
        text = sapporo_text(sapporo_mpi_stepper_last_error(c_null_ptr))
        call report(made == SAPPORO_ERR_ARGUMENT .and. index(text, 'dt') > 0, 'a stepper without dt')
        options_of_stepper%scheme = SAPPORO_STEPS_BLOCK
        options_of_stepper%dt = 1d0 / 2048
        made = sapporo_mpi_stepper_create(MPI_COMM_WORLD, stepper_options, int(n, c_int), stepper)
        text = sapporo_text(sapporo_mpi_stepper_kind_text(stepper))
        call report(made == SAPPORO_OK .and. index(text, 'octree') > 0, 'a stepper')
        particles%size = c_sizeof(particles)
        particles%n = int(own, c_int)
        particles%x = sapporo_column(c_loc(own_x), 0)
        particles%v = sapporo_column(c_loc(own_v), 0)
        particles%mass = sapporo_column(c_loc(own_m), 0)
        before%size = c_sizeof(before)
        after%size = c_sizeof(after)
        did%size = c_sizeof(did)
        made = sapporo_mpi_stepper_set(stepper, particles)
        asked(1) = sapporo_mpi_stepper_energy(stepper, before)
        moved = sapporo_mpi_stepper_advance(stepper, 1d0, 2_c_long_long)
        asked(2) = sapporo_mpi_stepper_energy(stepper, after)
        acc = 0
        output%size = c_sizeof(output)
        output%n = int(own, c_int)
        output%acc = c_loc(acc)
        got = sapporo_mpi_stepper_get(stepper, output)
        call report(all([made, moved, asked, got] == SAPPORO_OK) .and. all(sum(acc(:, :own)**2, 1) > 0), 'steps')
        got = sapporo_mpi_stepper_get_statistics(stepper, did)
        call report(did%steps == 2 .and. did%n == own .and. after%time > before%time .and. &
            abs(sapporo_mpi_stepper_get_time(stepper) - after%time) <= 0 .and. &
            abs(after%kinetic + after%potential - before%kinetic - before%potential) < 1e-3 * abs(before%potential), &
            'energy of steps')
        particles%n = 1
        particles%time = sapporo_mpi_stepper_get_time(stepper)
        made = sapporo_mpi_stepper_remove(stepper, 1_c_int, [0_c_int])
        moved = sapporo_mpi_stepper_add(stepper, particles)
        got = sapporo_mpi_stepper_get_statistics(stepper, did)
        asked(2) = sapporo_mpi_stepper_energy(stepper, after)
        call report(all([made, moved, got, asked(2)] == SAPPORO_OK) .and. did%n == own, &
            'a particle is removed, and added')
        call get_environment_variable('TMPDIR', folder)
        path = trim(folder)//'/client.steps'//c_null_char
        made = sapporo_mpi_stepper_save(stepper, path)
        moved = sapporo_mpi_stepper_advance(stepper, 1d0, 2_c_long_long)
        got = sapporo_mpi_stepper_restore(stepper, path)
        call report(all([made, moved, got] == SAPPORO_OK) .and. &
            abs(sapporo_mpi_stepper_get_time(stepper) - after%time) <= 0, 'a file of steps')
        made = sapporo_mpi_stepper_exchange(stepper)
        asked(1) = sapporo_mpi_stepper_energy(stepper, before)
        call report(made == SAPPORO_OK .and. asked(1) == SAPPORO_OK .and. &
            abs(before%kinetic - after%kinetic) < 1e-9 * after%kinetic, 'an exchange of a stepper')
        call sapporo_mpi_stepper_destroy(stepper)

        ! Massless particles 1 apart on a line, each rank's behind those of the rank before, about one with mass.
        options_of_stepper%scheme = SAPPORO_STEPS_HERMITE4
        options_of_stepper%dt = 1d0 / 16
        options_of_stepper%close = 1.5d0
        made = sapporo_mpi_stepper_create(MPI_COMM_WORLD, stepper_options, 2_c_int, stepper)
        own_x = 0
        own_v = 0
        own_m = 0
        own_x(1, 1:2) = [2d0 * rank, 2d0 * rank + 1]
        if (rank == 0) own_m(1) = 1
        particles%n = 2
        particles%time = 0
        got = sapporo_mpi_stepper_set(stepper, particles)
        pot = 0
        asked(1) = sapporo_mpi_stepper_get_potentials(stepper, 2_c_int, pot)
        moved = sapporo_mpi_stepper_advance(stepper, 1d0, 1_c_long_long)
        pairs%size = c_sizeof(pairs)
        asked(2) = sapporo_mpi_stepper_get_pairs(stepper, pairs)
        call report(all([made, got, asked(1)] == SAPPORO_OK) .and. moved == SAPPORO_STOPPED .and. &
            asked(2) == SAPPORO_TRUNCATED .and. pairs%n == 1 .and. pot(2) < 0, 'a close pair, and potentials')
        got = sapporo_mpi_stepper_locate(stepper, 1_c_int, asked(1), asked(2))
        call report(got == SAPPORO_OK .and. all(asked == [0, 1]), 'the rank of a particle')
        call sapporo_mpi_stepper_destroy(stepper)
    end subroutine test_steppers

    ! Numbers of all particles of this rank, from 0.
    function address_here() result(number)
        integer(c_int) :: number(own), i
        number = [(i - 1, i = 1, int(own, c_int))]
    end function address_here

    ! The largest relative error of accelerations and potentials of some i-particles.
    function worst_error() result(worst)
        real(real128) :: worst, a(3), r(3), r2, p
        integer :: i, j
        worst = 0
        do i = 1, own, max(1, own / 8)
            a = 0
            p = 0
            do j = 1, n
                if (j == address(i) + 1) cycle
                r = real(x(:, j), real128) - own_x(:, i)
                r2 = sum(r**2) + real(eps2, real128)
                a = a + m(j) * r / (r2 * sqrt(r2))
                p = p - m(j) / sqrt(r2)
            end do
            r2 = norm2(a - acc(:, i)) / norm2(a) + abs(p - pot(i)) / abs(p)
            if (.not. r2 <= worst) worst = merge(r2, huge(r2), r2 == r2) ! max drops a NaN
        end do
    end function worst_error
end program client
