! client.f90 - StarSmasher's gravity calls from Fortran: two particles beyond their lengths, and the own potential.
program client
    implicit none
    double precision :: x(2) = [0d0, 2d0], y(2) = 0, z(2) = 0, m(2) = [1d0, 4d0], range2(2) = [1d0, -1d0]
    double precision :: ax(2), ay(2), az(2), pot(2)
    call gpu_init_dev(0, 0.5d0)
    call firsthalf_grav_forces(2, 1, 2, x, y, z, m, range2, 4, 0)
    call lasthalf_grav_forces(2, ax, ay, az, pot)
    print '(4(f8.4))', ax, pot
    if (.not. (abs(ax(1) - 1) <= 1d-6 .and. abs(ax(2) + 0.25d0) <= 1d-6 .and. abs(pot(1) + 4.8d0) <= 1d-5 .and. &
        abs(pot(2) + 0.5d0) <= 1d-6)) stop 1
end program client
