! leapfrog_g5.f90 - leapfrog_g5.c in Fortran: a leap-frog with constant steps on the GRAPE-5 calls.
!
!   leapfrog_g5_f90 [STEP [END]]
!
! A binary of eccentricity 0.7 with G = M = a = 1, whose period is 2 pi; no softening.  The calls are subroutines by
! their Fortran names; arrays are x(3,n), as Fortran has them.
program leapfrog_g5
    implicit none
    integer, parameter :: dp = kind(1.0d0), n = 2
    real(dp), parameter :: e = 0.7_dp, m(n) = [0.75_dp, 0.25_dp]
    real(dp) :: x(3, n), v(3, n), a(3, n), p(n), step, end_time, energy, energy0, worst
    integer :: k, steps

    step = argument(1, 1.0_dp/256)
    end_time = argument(2, 6.283185307179586_dp)
    x = 0
    v = 0
    x(1, :) = [-m(2), m(1)]*(1 - e)
    v(2, :) = [-m(2), m(1)]*sqrt((1 + e)/(1 - e))

    call g5_open()
    call g5_set_eps_to_all(0.0_dp)
    call compute
    energy0 = total_energy()
    energy = energy0
    worst = 0
    print '(a,i0,a,f16.12)', '# ', n, ' particles, energy ', energy0
    steps = ceiling(end_time/step - 1d-9)
    do k = 1, steps
        v = v + a*(step/2)
        x = x + v*step
        call compute
        v = v + a*(step/2)
        energy = total_energy()
        worst = max(worst, abs((energy - energy0)/energy0))
    end do
    print '(a,f10.4,a,f16.12,a,es13.6,a,i0,a)', '# time ', steps*step, ', energy ', energy, &
        ', largest relative error ', worst, ', ', steps, ' steps'
    call g5_close()

contains

    subroutine compute
        call g5_set_xmj(0, n, x, m)
        call g5_set_n(n)
        call g5_calculate_force_on_x(x, a, p, n)
    end subroutine compute

    real(dp) function total_energy()     ! the potential of GRAPE-5 is positive
        total_energy = sum(m*(sum(v**2, 1) - p))/2
    end function total_energy

    real(dp) function argument(place, otherwise)
        integer, intent(in) :: place
        real(dp), intent(in) :: otherwise
        character(len=64) :: text
        argument = otherwise
        if (command_argument_count() < place) return
        call get_command_argument(place, text)
        read (text, *) argument
    end function argument
end program leapfrog_g5
