! symmetric.f90 - the calls of libpg5_symmetric from Fortran, for test_g5_symmetric.sh: the potential of three particles.
program symmetric
    implicit none
    double precision :: x(3, 3) = 0, m(3) = [1, 2, 4], eps2(3) = 0.5d0, a(3, 3), p(3)
    external :: g5_open, g5_set_n, g5_set_xmj, g5_calculate_force_on_xe, g5_set_xei, g5_run, g5_get_force, g5_set_nmc
    external :: g5_set_xmjmc, g5_calculate_force_on_xemc, g5_set_xeimc, g5_runmc, g5_get_forcemc
    x(1, 2) = 1
    x(2, 3) = 2
    call g5_open()
    call g5_set_xmj(0, 3, x, m, eps2)
    call g5_set_n(3)
    call g5_calculate_force_on_xe(x, eps2, a, p, 1)
    call check(1)
    call g5_set_xei(2, x, eps2)
    call g5_run()
    call g5_get_force(1, a, p)
    call check(2)
    call g5_set_xmjmc(5, 0, 3, x, m, eps2)
    call g5_set_nmc(5, 3)
    call g5_calculate_force_on_xemc(5, x, eps2, a, p, 1)
    call check(3)
    call g5_set_xeimc(5, 3, x, eps2)
    call g5_runmc(5)
    call g5_get_forcemc(5, 3, a, p)
    call check(4)
contains
    subroutine check(n)
        integer, intent(in) :: n
        if (.not. abs(p(1) - 4.20306794d0) <= 1d-6) then
            print *, 'check ', n, ': potential ', p(1)
            error stop
        end if
        p = 0
    end subroutine check
end program symmetric
