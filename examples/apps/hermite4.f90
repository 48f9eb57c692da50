! hermite4.f90 - the sequence of GRAPE-6 calls of hermite4.c, in Fortran and as short as it can be.
!
!   hermite4_f90 [--G G] [FILE [ETA [EPS [END [LONGEST]]]]]
!
! END is the length of the run, LONGEST the longest step (1/8).  Time is counted in ticks of 2^-40 of the longest step,
! and the library counts it from the last multiple of the longest step: so a run takes the same steps whenever it
! starts.  The interface has G = 1: masses are multiplied by G, and energies divided by it.  FILE has the form "time; N; index, mass, position, velocity of each particle"; without it (or with "-") a small
! Plummer model is made.  Fourth-order Hermite scheme, block time steps (Makino and Aarseth 1992).
! The functions are those of libsapporo by their Fortran names; arrays are x(3,n), as Fortran has them.
! --help prints this use, --version the version of the library.  Exit status: 0, 1 after a failure, 2 for wrong use or input, 3 if the
! relative energy error is above 0.01.
program hermite4
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    integer, parameter :: dp = kind(1.0d0), i8 = selected_int_kind(18), cluster = 0
    integer(i8), parameter :: longest = 2_i8**40                                ! step, in ticks
    integer :: n, ni, k, first, width, blocks
    integer, external :: g6_open, g6_close, g6_npipes, g6_set_ti, g6_set_j_particle, g6calc_lasthalf
    integer, allocatable :: index(:), active(:)
    logical :: told = .false.            ! that a step is the shortest
    integer(i8) :: now, end_tick
    integer(i8), allocatable :: t(:), step(:)
    real(dp) :: start, tick, eta, eps, energy, energy0, gravity
    real(dp), allocatable :: m(:), pot(:), h2(:)
    real(dp), allocatable :: x(:, :), v(:, :), a(:, :), j(:, :), s(:, :)        ! the particles, each at its time t
    real(dp), allocatable :: xi(:, :), vi(:, :), ai(:, :), ji(:, :)             ! those of the block
    character(len=200) :: line

    call get_input
    if (g6_open(cluster) /= 0) call fail('the force library does not open', 1)
    width = g6_npipes()
    allocate (a(3, n), j(3, n), s(3, n), xi(3, n), vi(3, n), ai(3, n), ji(3, n))
    allocate (index(n), active(n), t(n), step(n), pot(n), h2(n))
    a = 0
    j = 0
    s = 0
    now = 0
    t = now
    step = longest
    h2 = 0
    do k = 1, n
        call send(k)
    end do
    call force_on_all
    a = ai
    j = ji
    do k = 1, n
        step(k) = block_step(k, first_step(a(:, k), j(:, k), pot(k)))
        call send(k)
    end do
    energy0 = total_energy()
    write (line, '(a,i0,a,f16.12)') '# ', n, ' particles, energy ', energy0
    call say(line)

    blocks = 0
    do while (now < end_tick)
        now = minval(t + step)           ! a real code keeps a schedule; see examples/apps/common/schedule.h
        ni = 0
        do k = 1, n
            if (t(k) + step(k) == now) then
                ni = ni + 1
                active(ni) = k
                call predict(k, ni)
            end if
        end do
        call force_on_block(modulo(now - 1, longest) + 1)
        do k = 1, ni
            call correct(active(k), k)
            call send(active(k))
        end do
        blocks = blocks + 1
        if (modulo(blocks, 65536) /= 0) cycle
        write (line, '(a,f0.9,a,i0,a)') '# time ', start + now*tick, ', ', blocks, ' block steps'
        call say(line)
    end do
    call force_on_all
    energy = total_energy()
    write (line, '(a,a,a,f16.12,a,es10.2,a,i0,a)') '# time ', time_text(), ', energy ', energy, ', relative error ', &
        (energy - energy0)/abs(energy0), ', ', blocks, ' block steps'
    call say(line)
    if (g6_close(cluster) /= 0) stop 1
    if (.not. abs(energy - energy0) <= 1e-2_dp*abs(energy0)) call fail('the energy is not conserved: use a smaller ETA', 3)

contains

    subroutine fail(what, status)
        character(len=*), intent(in) :: what
        integer, intent(in) :: status
        write (error_unit, '(2a)') 'hermite4_f90: ', what
        stop status
    end subroutine fail

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
        write (error_unit, '(a)') 'hermite4_f90: cannot write to standard output'
        stop 1
    end subroutine say

    ! The version of libsapporo, a text of C.
    subroutine print_version
        interface
            type(c_ptr) function sapporo_version() bind(c)
                import :: c_ptr
            end function sapporo_version
        end interface
        character(kind=c_char), pointer :: text(:)
        integer :: length
        call c_f_pointer(sapporo_version(), text, [32])
        length = findloc(text, c_null_char, 1) - 1
        write (line, '(99a)') 'hermite4_f90, libsapporo ', text(1:length)
        call say(line)
        stop
    end subroutine print_version

    subroutine print_help
        call say('hermite4_f90 - a star cluster by the fourth-order Hermite scheme with block steps, in Fortran')
        call say('')
        call say('  hermite4_f90 [--G G] [FILE [ETA [EPS [END [LONGEST]]]]]')
        call say('')
        call say('  FILE       time; number of particles; then index, mass, x y z, vx vy vz of each;')
        call say('             - or nothing: a Plummer model of 256 stars')
        call say('  ETA        accuracy of the steps (0.01)')
        call say('  EPS        softening length (1/256)')
        call say('  END        length of the run (1)')
        call say('  LONGEST    longest step (1/8)')
        call say('  --G G      gravitational constant in the units of FILE (1)')
        call say('  --help     this text')
        call say('  --version  the version of libsapporo')
        call say('')
        call say('A number may be a fraction, 1/256.  examples/hermite4 has more options, forms of files, and restarts.')
        call say('Exit status: 0, 1 after a failure, 2 wrong use or input, 3 the relative energy error is above 0.01.')
        stop
    end subroutine print_help

    subroutine send(k)
        integer, intent(in) :: k
        integer :: address
        address = k - 1                  ! addresses count from 0
        if (g6_set_j_particle(cluster, address, k, modulo(t(k), longest)*tick, step(k)*tick, m(k), &
                              s(:, k)/18, j(:, k)/6, a(:, k)/2, v(:, k), x(:, k)) /= 0) call fail('a particle was not taken', 1)
    end subroutine send

    subroutine force_on_block(ticks)     ! at a time after the last multiple of the longest step
        integer(i8), intent(in) :: ticks
        integer :: batch
        if (g6_set_ti(cluster, ticks*tick) /= 0) call fail('the library does not take the time', 1)
        do first = 1, ni, width
            batch = min(width, ni - first + 1)
            call g6calc_firsthalf(cluster, n, batch, index(first), xi(1, first), vi(1, first), ai(1, first), &
                                  ji(1, first), pot(first), eps**2, h2(first))
            if (g6calc_lasthalf(cluster, n, batch, index(first), xi(1, first), vi(1, first), eps**2, h2(first), &
                                ai(1, first), ji(1, first), pot(first)) /= 0) call fail('the force failed', 1)
        end do
    end subroutine force_on_block

    subroutine force_on_all              ! when all particles are at the same time
        ni = n
        do k = 1, n
            index(k) = k
        end do
        xi = x
        vi = v
        call force_on_block(0_i8)
    end subroutine force_on_all

    real(dp) function total_energy()
        integer :: p
        total_energy = 0
        do p = 1, n
            total_energy = total_energy + 0.5_dp*m(p)*(sum(v(:, p)**2) + pot(p))
        end do
        total_energy = total_energy/gravity
    end function total_energy

    subroutine predict(k, place)
        integer, intent(in) :: k, place
        real(dp) :: dt
        dt = (now - t(k))*tick
        index(place) = k
        xi(:, place) = x(:, k) + dt*(v(:, k) + dt/2*(a(:, k) + dt/3*(j(:, k) + dt/4*s(:, k))))
        vi(:, place) = v(:, k) + dt*(a(:, k) + dt/2*(j(:, k) + dt/3*s(:, k)))
    end subroutine predict

    subroutine correct(k, place)
        integer, intent(in) :: k, place
        real(dp) :: dt, a2(3), a3(3), wanted
        dt = (now - t(k))*tick
        a2 = (-6*(a(:, k) - ai(:, place)) - dt*(4*j(:, k) + 2*ji(:, place)))/dt**2
        a3 = (12*(a(:, k) - ai(:, place)) + 6*dt*(j(:, k) + ji(:, place)))/dt**3
        x(:, k) = x(:, k) + dt*(v(:, k) + dt/2*(a(:, k) + dt/3*(j(:, k) + dt/4*(a2 + dt/5*a3))))
        v(:, k) = v(:, k) + dt*(a(:, k) + dt/2*(j(:, k) + dt/3*(a2 + dt/4*a3)))
        a(:, k) = ai(:, place)
        j(:, k) = ji(:, place)
        s(:, k) = a2 + dt*a3
        t(k) = now
        wanted = aarseth_step(a(:, k), j(:, k), s(:, k), a3)
        if (wanted < step(k)*tick) then
            step(k) = min(step(k), block_step(k, wanted))
        else if (wanted >= 2*step(k)*tick .and. 2*step(k) <= longest .and. modulo(now, 2*step(k)) == 0) then
            step(k) = 2*step(k)
        end if
    end subroutine correct

    ! Aarseth's criterion.  Times such as a/j fit into a double in any unit; products of derivatives may not.
    pure real(dp) function aarseth_step(a0, a1, a2, a3)
        real(dp), intent(in) :: a0(3), a1(3), a2(3), a3(3)
        real(dp) :: unit, f(0:3)
        integer :: e, p
        f = [norm2(a0), norm2(a1), norm2(a2), norm2(a3)]
        aarseth_step = huge(1.0_dp)
        if (.not. (f(2) > 0 .or. (f(1) > 0 .and. f(3) > 0))) return
        if (.not. (f(1) > 0 .or. (f(0) > 0 .and. f(2) > 0))) return
        e = exponent(maxval(f(1:2), f(1:2) > 0)) - exponent(max(f(2), f(3)))    ! of a unit of time
        unit = scale(1.0_dp, e)
        do p = 3, 1, -1
            f(p:) = f(p:)*unit                                                  ! f(p) unit^p: accelerations
        end do
        f = scale(f, -exponent(maxval(f)))
        aarseth_step = unit*sqrt(eta*(f(0)*f(2) + f(1)**2)/(f(1)*f(3) + f(2)**2))
    end function aarseth_step

    ! The first step, when snap is not known: see criterion_first in examples/apps/common/criterion.h.
    pure real(dp) function first_step(a0, a1, potential)
        real(dp), intent(in) :: a0(3), a1(3), potential
        real(dp), parameter :: eta_start = 0.0025_dp
        real(dp) :: speed
        speed = sqrt(abs(potential))
        first_step = huge(1.0_dp)
        if (norm2(a1) > 0) then
            first_step = max(eta_start*norm2(a0)/norm2(a1), eta_start*scale(sqrt(speed/norm2(a1)), -10))
        else if (norm2(a0) > 0) then
            first_step = eta_start*min(longest*tick, speed/norm2(a0))
        end if
    end function first_step

    integer(i8) function block_step(star, wanted)    ! in ticks
        integer, intent(in) :: star
        real(dp), intent(in) :: wanted
        block_step = longest
        do while (block_step*tick > wanted .and. block_step > 1)
            block_step = block_step/2
        end do
        if (block_step == 1 .and. .not. told) call warn_of_collapse(star)
    end function block_step

    subroutine warn_of_collapse(star)
        integer, intent(in) :: star
        real(dp) :: distance(n)
        integer :: p
        told = .true.
        distance = [(norm2(x(:, p) - x(:, star)), p=1, n)]
        distance(star) = huge(1.0_dp)
        p = minloc(distance, 1)
        write (error_unit, '(a,i0,a,es9.2,a,i0,a,es9.2,2a)') 'hermite4_f90: the steps have collapsed: particle ', star, &
            ' needs a step of ', tick, ' or less; its nearest neighbour is particle ', p, ',', distance(p), ' away', &
            '; a larger EPS or ETA avoids it, or a shorter LONGEST if the unit of time is long'
    end subroutine warn_of_collapse

    function time_text()                             ! the present time, with the digits that it needs
        character(len=:), allocatable :: time_text
        character(len=32) :: text
        write (text, '(f0.3)') start + now*tick
        if (abs(start) < 1000) write (text, '(f7.3)') start + now*tick
        time_text = trim(text)
    end function time_text

    subroutine get_input
        character(len=512) :: text(5)
        character(len=512) :: word
        integer :: p, ignored, unit, status, taken
        real(dp) :: length
        text = ['-     ', '0.01  ', '1/256 ', '1     ', '1/8   ']
        gravity = 1
        taken = 0
        p = 0
        do while (p < command_argument_count())
            p = p + 1
            call get_command_argument(p, word)
            if (word == '--help' .or. word == '-h') call print_help
            if (word == '--version') call print_version
            if (word == '--G') then
                p = p + 1
                word = ''
                if (p <= command_argument_count()) call get_command_argument(p, word)
                gravity = number('--G', word)
                if (.not. (gravity > 0 .and. gravity <= huge(gravity))) call fail('--G must be positive', 2)
                cycle
            end if
            if (word(1:2) == '--' .or. (taken == 0 .and. word(1:1) == '-' .and. word /= '-')) &
                call fail("there is no option '"//trim(word)//"' (--G, --help, --version)", 2)
            if (taken == 5) call fail('at most five arguments are taken; --help tells which', 2)
            taken = taken + 1
            text(taken) = word
        end do
        eta = number('ETA', text(2))
        eps = number('EPS', text(3))
        length = number('END', text(4))
        tick = scale(number('LONGEST', text(5)), -40)
        if (.not. (eta > 0 .and. eps >= 0 .and. length >= 0 .and. tick > 0)) &
            call fail('ETA > 0, EPS >= 0, END >= 0 and LONGEST > 0 are needed', 2)
        if (.not. length/(longest*tick) < 4e6_dp) call fail('END is at most 4,000,000 times LONGEST', 2)
        start = 0
        if (text(1) == '-') then
            if (abs(gravity - 1) > 0) call fail('--G has no effect on the model, whose units have G = 1; it is for FILE', 2)
            call make_plummer(256)
        else
            open (newunit=unit, file=trim(text(1)), status='old', action='read', iostat=status)
            if (status /= 0) call fail('the file '//trim(text(1))//' cannot be opened', 2)
            n = 0
            read (unit, *, iostat=status) start, n
            if (status /= 0 .or. n < 1) call fail(trim(text(1))//': time and number of particles are missing', 2)
            allocate (m(n), x(3, n), v(3, n))
            do p = 1, n
                read (unit, *, iostat=status) ignored, m(p), x(:, p), v(:, p)
                if (status /= 0) call fail(trim(text(1))//': a particle is missing or not as it should be', 2)
            end do
            close (unit)
            m = gravity*m
            if (.not. all(m <= huge(m))) call fail('a mass times G does not fit into a number', 2)
        end if
        if (length > 0 .and. .not. abs((start + length) - start) > 0) &
            call fail('END does not change the time of '//trim(text(1))//', which has 53 bits', 2)
        end_tick = longest*ceiling(length/(longest*tick))        ! where all steps end
    end subroutine get_input

    ! Reads a number or a fraction, such as 1/256.
    real(dp) function number(name, text)
        character(len=*), intent(in) :: name, text
        real(dp) :: below
        integer :: slash, status, second
        slash = index_of_slash(text)
        below = 1
        second = 0
        read (text(:slash - 1), *, iostat=status) number
        if (slash <= len(text)) read (text(slash + 1:), *, iostat=second) below
        if (status /= 0 .or. second /= 0 .or. .not. abs(below) > 0) call fail(name//' is no number: '//trim(text), 2)
        number = number/below
    end function number

    integer function index_of_slash(text)
        character(len=*), intent(in) :: text
        index_of_slash = scan(text, '/')
        if (index_of_slash == 0) index_of_slash = len(text) + 1
    end function index_of_slash

    subroutine make_plummer(count)       ! Aarseth, Henon and Wielen (1974)
        integer, intent(in) :: count
        integer :: p
        real(dp) :: radius, q, level
        real(dp), parameter :: scale = 0.589048622548086_dp     ! 3 pi / 16: the Plummer radius in N-body units
        n = count
        allocate (m(n), x(3, n), v(3, n))
        m = 1.0_dp/n
        do p = 1, n
            radius = 1/sqrt((0.999_dp*uniform())**(-2.0_dp/3) - 1)
            do
                q = uniform()
                level = 0.1_dp*uniform()
                if (level < q**2*(1 - q**2)**3.5_dp) exit
            end do
            x(:, p) = scale*radius*direction()
            v(:, p) = q*sqrt(2/sqrt(1 + radius**2)/scale)*direction()
        end do
        x = x - spread(sum(x, 2)/n, 2, n)
        v = v - spread(sum(v, 2)/n, 2, n)
    end subroutine make_plummer

    function direction() result(d)
        real(dp) :: d(3), angle
        d(3) = 2*uniform() - 1
        angle = 6.283185307179586_dp*uniform()
        d(1:2) = sqrt(1 - d(3)**2)*[cos(angle), sin(angle)]
    end function direction

    real(dp) function uniform()          ! Park and Miller's generator: the same model everywhere
        integer, save :: state = 20100805
        state = int(modulo(int(state, 8)*48271_8, 2147483647_8))
        uniform = state/2147483647.0_dp
    end function uniform
end program hermite4
