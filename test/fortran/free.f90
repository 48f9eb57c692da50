! free.f90 - the GRAPE names from free-form Fortran 2008, the MC calls from OpenMP threads, one device each.
program free
    use, intrinsic :: iso_fortran_env, only: real64, int32
    implicit none
    integer(int32), parameter :: n = 100, threads = 8
    integer(int32), external :: g6_open, g6_close, g6_npipes, g6_set_tunit
    real(real64) :: x(3, n), m(n), p(n, threads), a(3, n, threads), eps(1), one(3, 1), p1(1), a1(3, 1)
    integer(int32) :: k, device

    if (g6_open(0) /= 0 .or. g6_npipes() < 1 .or. g6_set_tunit(45) /= 0) error stop 'GRAPE-6'
    if (g6_close(0) /= 0) error stop 'g6_close'

    x = reshape([(sin(real(k, real64)), k=1, 3*n)], [3, n])
    call g5_open()
    call g5_set_eps2_to_all(0.01_real64)
    !$omp parallel do private(m)
    do device = 1, threads
        m = device
        call g5_set_xmjMC(device, 0, n, x, m)
        call g5_set_nMC(device, n)
        call g5_calculate_force_on_xMC(device, x, a(:, :, device), p(:, device), n)
    end do
    do device = 2, threads
        if (.not. all(abs(p(:, device) - device*p(:, 1)) <= 1e-5_real64*p(:, device))) error stop 'devices'
    end do

    ! a softening of its own for a pipe
    m = 1
    call g5_set_xmj(0, n, x, m)
    call g5_set_n(n)
    one(:, 1) = x(:, 1)
    eps = 0.1_real64
    call g5_set_eps_to_all(3.0_real64)
    call g5_set_xi(1, one)
    call g5_set_eps(1, eps)
    call g5_run()
    call g5_get_force(1, a1, p1)
    if (.not. abs(p1(1) - p(1, 1)) <= 1e-5_real64*p(1, 1)) error stop 'softening of a pipe'
    call g5_set_xepsi(1, one, eps)
    call g5_run()
    call g5_get_force(1, a1, p1)
    if (.not. abs(p1(1) - p(1, 1)) <= 1e-5_real64*p(1, 1)) error stop 'g5_set_xepsi'
    call g5_close()
end program free
