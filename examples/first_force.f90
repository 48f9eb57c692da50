! first_force.f90 - the forces of four particles on each other, by the native interface, in Fortran.
!
!   gfortran -I/usr/local/include first_force.f90 -lsapporo -o first_force
!   ./first_force
!
! -I names the folder of sapporo.f90, the library's module; a program of several files compiles the module once instead
! of including it.  Shows how to open a context, store source particles, begin a force, wait for its results, and look
! at the status of each call.  Prints the engine that computed, and one line for each particle: mass, position,
! acceleration, potential.  G = 1, and the softening length is 0.1.
include 'sapporo.f90'

program first_force
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use sapporo
    implicit none
    integer(c_int), parameter :: n = 4
    real(c_double), parameter :: eps = 0.1_c_double
    type(c_ptr) :: context, job
    type(sapporo_particles) :: particles
    type(sapporo_request) :: request
    type(sapporo_result) :: results
    real(c_double), target :: x(3, n), mass(n), acc(3, n), pot(n)
    integer(c_int), target :: index(n)
    integer :: k
    character(len=200) :: line

    mass = [1, 2, 3, 4]
    x = reshape([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, -3], [3, 4])

    ! No options: the best device here, or what SAPPORO_BACKEND and SAPPORO_PRECISION say.
    context = c_null_ptr
    call check(sapporo_open(context=context), 'sapporo_open')

    ! The particles as sources, at addresses 0 to n - 1.  A column that is absent (velocities, times) counts as 0.
    particles%size = c_sizeof(particles)
    particles%derivative(1) = sapporo_column(c_loc(x), 0)      ! 1 is the position, 2 the velocity, ...
    particles%mass = sapporo_column(c_loc(mass), 0)
    call check(sapporo_set_particles(context, 0, n, particles), 'sapporo_set_particles')

    ! The same particles as targets.  A source acts on a target unless their indices are equal.  The index of a stored
    ! particle is its address.
    index = [0, 1, 2, 3]
    request%size = c_sizeof(request)
    request%nj = n
    request%ni = n
    request%eps2 = eps**2
    request%x = sapporo_column(c_loc(x), 0)
    request%index = sapporo_column(c_loc(index), 0)
    call check(sapporo_force_begin(context, request, job), 'sapporo_force_begin')

    results%size = c_sizeof(results)
    results%acc = c_loc(acc)
    results%pot = c_loc(pot)
    call check(sapporo_force_end(job, n, results), 'sapporo_force_end')      ! waits until the force is ready
    call sapporo_force_free(job)

    write (line, '(3a,f5.3)') '# ', sapporo_text(sapporo_kind(context)), ', softening length ', eps
    call say(line)
    call say('# mass, position, acceleration, potential')
    do k = 1, n
        write (line, '(f4.1,3(1x,f6.3),2x,3(1x,f12.8),2x,f12.8)') mass(k), x(:, k), acc(:, k), pot(k)
        call say(line)
    end do
    call sapporo_close(context)

contains

    ! Ends the program if a call failed.  A status < 0 is an error; 0 is success; > 0 is success with a remark.
    subroutine check(status, call)
        integer(c_int), intent(in) :: status
        character(len=*), intent(in) :: call
        if (status >= 0) return
        write (error_unit, '(5a)') 'first_force: ', call, ': ', sapporo_text(sapporo_status_text(status)), &
            ': '//sapporo_text(sapporo_last_error(context))
        stop 1
    end subroutine check

    ! Prints a line by the C library, which reports a full disk; gfortran's own statements ignore it.
    subroutine say(line)
        character(len=*), intent(in) :: line
        interface
            integer(c_int) function puts(text) bind(c)
                import :: c_int, c_char
                character(kind=c_char), intent(in) :: text(*)
            end function puts
            integer(c_int) function fflush(stream) bind(c)
                import :: c_int, c_ptr
                type(c_ptr), value :: stream
            end function fflush
        end interface
        if (puts(trim(line)//c_null_char) >= 0) then
            if (fflush(c_null_ptr) == 0) return
        end if
        write (error_unit, '(a)') 'first_force: cannot write to standard output'
        stop 1
    end subroutine say
end program first_force
