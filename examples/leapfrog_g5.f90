! leapfrog_g5.f90 - a leap-frog with constant steps by the GRAPE-5 calls, in Fortran.
!
!   gfortran leapfrog_g5.f90 -lsapporo -o leapfrog_g5
!   ./leapfrog_g5 [STEP [END]]
!
! Integrates a binary of eccentricity 0.7 with G = M = a = 1, whose period is 2 pi, without softening.  Prints the total
! energy and its largest relative error during the run, which falls with the square of STEP.  An error above 0.01 gives a
! warning and exit status 1.  leapfrog_g5.c is the same in C, and makes star clusters too.
program leapfrog_g5
    use, intrinsic :: iso_c_binding, only: c_int, c_char, c_ptr, c_null_char, c_null_ptr
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    integer, external :: g5_open, g5_set_eps_to_all, g5_set_xmj, g5_set_n, g5_calculate_force_on_x, g5_close
    integer, parameter :: dp = kind(1.0d0), n = 2
    real(dp), parameter :: e = 0.7_dp, m(n) = [0.75_dp, 0.25_dp]
    real(dp) :: x(3, n), v(3, n), a(3, n), p(n), step, end_time, energy, energy0, worst
    integer :: k, steps
    character(len=200) :: line

    step = argument(1, 1.0_dp/256)
    end_time = argument(2, 6.283185307179586_dp)
    if (.not. (step > 0 .and. step < 1e9_dp .and. end_time >= 0 .and. end_time < 1e9_dp*step)) then
        write (error_unit, '(a)') 'usage: leapfrog_g5 [STEP [END]], STEP > 0, END >= 0'
        stop 2
    end if
    x = 0                                   ! the binary starts at its pericentre, on the x axis
    v = 0
    x(1, :) = [-m(2), m(1)]*(1 - e)
    v(2, :) = [-m(2), m(1)]*sqrt((1 + e)/(1 - e))

    call check(g5_open(), 'g5_open')
    call check(g5_set_eps_to_all(0.0_dp), 'g5_set_eps_to_all')
    call compute_forces
    energy0 = total_energy()
    energy = energy0
    worst = 0
    write (line, '(a,i0,a,f16.12)') '# ', n, ' particles, energy ', energy0
    call say(line)
    steps = ceiling(end_time/step - 1d-9)
    do k = 1, steps
        v = v + a*(step/2)
        x = x + v*step
        call compute_forces
        v = v + a*(step/2)
        energy = total_energy()
        if (.not. abs((energy - energy0)/energy0) <= worst) worst = abs((energy - energy0)/energy0)
    end do
    write (line, '(a,f10.4,a,f16.12,a,es13.6,a,i0,a)') '# time ', steps*step, ', energy ', energy, &
        ', largest relative error ', worst, ', ', steps, ' steps'
    call say(line)
    call check(g5_close(), 'g5_close')
    if (.not. worst <= 1d-2) then
        write (error_unit, '(a)') 'leapfrog_g5: the energy is not conserved: use a smaller STEP'
        stop 1
    end if

contains

    subroutine check(status, name)          ! the library itself prints what was wrong
        integer, intent(in) :: status
        character(len=*), intent(in) :: name
        if (status == 0) return
        write (error_unit, '(3a)') 'leapfrog_g5: ', name, ' failed'
        stop 1
    end subroutine check

    subroutine compute_forces               ! all particles have moved, so the library gets all of them
        call check(g5_set_xmj(0, n, x, m), 'g5_set_xmj')
        call check(g5_set_n(n), 'g5_set_n')
        call check(g5_calculate_force_on_x(x, a, p, n), 'g5_calculate_force_on_x')
    end subroutine compute_forces

    real(dp) function total_energy()        ! the potential of GRAPE-5 is positive
        total_energy = sum(m*(sum(v**2, 1) - p))/2
    end function total_energy

    real(dp) function argument(place, otherwise)
        integer, intent(in) :: place
        real(dp), intent(in) :: otherwise
        character(len=64) :: text
        integer :: status
        argument = otherwise
        if (command_argument_count() < place) return
        call get_command_argument(place, text)
        read (text, *, iostat=status) argument
        if (status /= 0) argument = -1      ! which is wrong use
    end function argument

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
        write (error_unit, '(a)') 'leapfrog_g5: cannot write to standard output'
        stop 1
    end subroutine say
end program leapfrog_g5
