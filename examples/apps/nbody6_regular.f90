! nbody6_regular.f90 - the calls that NBODY6++GPU makes: regular forces with neighbour lists, irregular forces from the
! lists, potentials; each compared with a scalar sum of its own.
!
!   nbody6_regular_f90 [N [NEIGHBOURS]]
!
! N stars in a sphere, with G = M = 1, drift along straight lines for a few regular steps.  At each of them the regular
! force brings new lists; where a list is too long its radius shrinks and the block is sent again, as in the code itself.
! Ends with status 1 if a force or a list is not as it should be.  N may be written as 1e4 or 10k; --version prints the
! version of the library.
program nbody6_regular
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    integer, parameter :: dp = kind(1.0d0), block = 1024, steps = 3
    integer :: n, wanted, lmax, room, k, start, ni, repeats, wrong
    real(dp), parameter :: step = 0.0625_dp
    real(dp), allocatable :: m(:), x(:, :), v(:, :), h2(:), dtr(:), pot(:), regular(:, :), jrk(:, :), irregular(:, :), &
        irr_jrk(:, :), all_pot(:)
    integer, allocatable :: list(:, :), number(:), nearest(:), nblist(:)
    real(dp) :: worst, worst_pot
    character(len=200) :: line

    n = argument('N', 1, 2000)
    wanted = argument('NEIGHBOURS', 2, 60)
    if (wanted >= n) call fail('NEIGHBOURS must be less than N')
    lmax = 2*wanted + 20
    allocate (m(n), x(3, n), v(3, n), h2(n), dtr(n), pot(n), regular(3, n), jrk(3, n), irregular(3, n), irr_jrk(3, n), &
        all_pot(n), list(lmax, n), number(n), nearest(n), nblist(lmax))
    call make_stars
    number = [(k, k=1, n)]
    dtr = step
    h2 = (2.2_dp*wanted/n)**(2.0_dp/3) ! too large: some lists will not fit
    repeats = 0
    wrong = 0

    call gpunb_devinit(0)
    call gpunb_open(n, 0)
    call irr_simd_open(n, lmax, 0)
    do k = 1, steps
        call gpunb_send(n, m, x, v)
        do start = 1, n, block
            ni = min(block, n - start + 1)
            call regular_block
        end do
        call irregular_force((k - 1)*step)
        call gpupot(0, 1, n, n, m, x, all_pot)
        call compare
        write (line, '(a,f7.4,a,f7.2,a,es9.2,a,es9.2)') '# time ', (k - 1)*step, ': neighbours ', &
            real(sum(list(1, :)), dp)/n - 1, ', error of forces ', worst, ', of potentials ', worst_pot
        call say(line)
        x = x + v*step
    end do
    call gpunb_profile(0)
    call irr_simd_profile(0)
    call irr_simd_close(0)
    call gpunb_close()
    write (line, '(a,i0,a,i0)') '# blocks sent again: ', repeats, ', lists that are wrong: ', wrong
    call say(line)
    if (wrong > 0 .or. worst > 1e-5_dp .or. worst_pot > 1e-10_dp) error stop 1

contains

    subroutine fail(what)
        character(len=*), intent(in) :: what
        write (error_unit, '(2a)') 'nbody6_regular_f90: ', what
        stop 2
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
        write (error_unit, '(a)') 'nbody6_regular_f90: cannot write to standard output'
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
        write (line, '(99a)') 'nbody6_regular_f90, libsapporo ', text(1:length)
        call say(line)
        stop
    end subroutine print_version

    ! Forces on a block, and again where some lists did not fit.
    subroutine regular_block
        integer :: i
        room = lmax - 1
        do
            call gpunb_regf(ni, h2(start), dtr(start), x(1, start), v(1, start), regular(1, start), jrk(1, start), &
                pot(start), lmax, room, list(1, start), 0)
            if (all(list(1, start:start + ni - 1) >= 0)) return
            repeats = repeats + 1
            do i = start, start + ni - 1
                if (list(1, i) < 0) h2(i) = h2(i)*(0.9_dp*room/(-list(1, i)))**(2.0_dp/3)
            end do
        end do
    end subroutine regular_block

    ! From the lists, whose addresses begin with 0 and have the star itself; numbers begin with 1.
    subroutine irregular_force(time)
        real(dp), intent(in) :: time
        real(dp), parameter :: none(3) = 0
        integer :: i, j
        do i = 1, n
            call irr_simd_set_jp(i, x(1, i), v(1, i), none, none, m(i), time)
            nblist(1) = 0
            do j = 2, list(1, i) + 1
                if (list(j, i) + 1 == i) cycle
                nblist(1) = nblist(1) + 1
                nblist(nblist(1) + 1) = list(j, i) + 1
            end do
            call irr_simd_set_list(i, nblist)
        end do
        call irr_simd_firr_vec(time, n, number, irregular, irr_jrk, nearest)
    end subroutine irregular_force

    ! Both forces together are that of all stars; lists are those that the criterion says.
    subroutine compare
        integer :: i, j, at
        real(dp) :: force(3), d(3), w(3), r2, potential, near
        logical :: member
        worst = 0
        worst_pot = 0
        do i = 1, n, max(1, n/200)
            force = 0
            potential = 0
            near = huge(near)
            at = 1
            do j = 1, n
                d = x(:, j) - x(:, i)
                w = v(:, j) - v(:, i)
                r2 = sum(d*d)
                member = min(r2, sum((d + dtr(i)*w)**2)) < h2(i)
                if (member) then
                    at = at + 1
                    if (at > list(1, i) + 1) exit
                    if (list(at, i) /= j - 1) exit
                end if
                if (j == i) cycle
                force = force + m(j)*d/(r2*sqrt(r2))
                potential = potential + m(j)/sqrt(r2)
                if (member) near = min(near, r2)
            end do
            if (j <= n .or. at /= list(1, i) + 1) then
                wrong = wrong + 1
                cycle
            end if
            if (nearest(i) > 0) then
                if (abs(sum((x(:, nearest(i)) - x(:, i))**2) - near) > 1e-12_dp*near) wrong = wrong + 1
            end if
            force = force - regular(:, i) - irregular(:, i)
            if (.not. sum(force*force) + abs(all_pot(i)) < huge(r2)) wrong = wrong + 1     ! NaN, which max drops
            worst = max(worst, sqrt(sum(force*force)))
            worst_pot = max(worst_pot, abs(all_pot(i) - potential)/potential)
        end do
    end subroutine compare

    subroutine make_stars
        integer :: i, seed_size
        integer, allocatable :: seed(:)
        real(dp) :: r
        call random_seed(size=seed_size)
        allocate (seed(seed_size), source=7)
        call random_seed(put=seed)
        m = 1.0_dp/n
        do i = 1, n
            do
                call random_number(x(:, i))
                x(:, i) = 2*x(:, i) - 1
                r = sum(x(:, i)**2)
                if (r < 1 .and. r > 0) exit
            end do
            call random_number(v(:, i))
            v(:, i) = v(:, i) - 0.5_dp
        end do
    end subroutine make_stars

    ! Reads a count: 20000, 2e4, 20k, 1M.
    integer function argument(name, number, default)
        character(*), intent(in) :: name
        integer, intent(in) :: number, default
        character(32) :: text
        integer :: last, letter, status
        real(dp) :: count
        argument = default
        call get_command_argument(number, text)
        if (text == '--version') call print_version
        last = len_trim(text)
        if (last == 0) return
        letter = scan('kMG', text(last:last))
        if (letter > 0) text(last:last) = ' '
        read (text, *, iostat=status) count
        if (status /= 0) call fail(name//' is no number: '//trim(text))
        count = count*1000.0_dp**letter
        if (count > huge(argument)) call fail(name//' is too large: '//trim(text))
        if (.not. count >= 1 .or. abs(count - anint(count)) > 0) call fail(name//' is no whole number from 1 up')
        argument = nint(count)
    end function argument

end program nbody6_regular
