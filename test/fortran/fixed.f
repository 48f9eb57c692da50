C     fixed.f - the GRAPE names from fixed-form Fortran 77: constants
C     in read-only memory, arrays of larger leading sizes passed by
C     their first elements, functions and subroutines.
      PROGRAM FIXED
      INTEGER NMAX
      PARAMETER (NMAX = 8)
      REAL*8 X(3,NMAX), V(3,NMAX), M(NMAX), ZERO(3), A(3,NMAX)
      REAL*8 P(NMAX), XI(3,NMAX), VI(3,NMAX), OLD(3,NMAX), PHI(NMAX)
      REAL*8 H2(NMAX), ACC(3,NMAX), JERK(3,NMAX), POT(NMAX), EPS2(NMAX)
      REAL*8 XMIN, XMAX, MMIN
      INTEGER ID(NMAX), J, K, IERR
      INTEGER G6_OPEN, G6_CLOSE, G6_NPIPES, G6_SET_TI
      INTEGER G6_SET_TUNIT, G6_SET_J_PARTICLE, G6CALC_LASTHALF
      INTEGER G5_GET_NUMBER_OF_PIPELINES, G5_GET_JMEMSIZE
      EXTERNAL G6_OPEN, G6_CLOSE, G6_NPIPES, G6_SET_TI
      EXTERNAL G6_SET_TUNIT, G6_SET_J_PARTICLE, G6CALC_LASTHALF
      EXTERNAL G5_GET_NUMBER_OF_PIPELINES, G5_GET_JMEMSIZE
      DATA ZERO /3*0.0D0/
      DO 20 J = 1, NMAX
         M(J) = 2.0D0**(J - 1)
         PHI(J) = 1.0D0
         H2(J) = 0.0D0
         ID(J) = 9 + J
         EPS2(J) = 0.5D0
         DO 10 K = 1, 3
            X(K,J) = 0.0D0
            V(K,J) = 0.0D0
            XI(K,J) = 0.0D0
            VI(K,J) = 0.0D0
            OLD(K,J) = 1.0D0
   10    CONTINUE
   20 CONTINUE
      X(1,2) = 1.0D0
      X(2,3) = 2.0D0
C     GRAPE-6
      IERR = G6_OPEN(0)
      IF (IERR .NE. 0 .OR. G6_NPIPES() .LT. 1) STOP 1
      IERR = G6_SET_TUNIT(45)
      IERR = G6_SET_TI(0, 0.0D0)
      DO 30 J = 1, 3
         IERR = G6_SET_J_PARTICLE(0, J - 1, ID(J), 0.0D0, 0.125D0,
     &        M(J), ZERO, ZERO, ZERO, V(1,J), X(1,J))
         IF (IERR .NE. 0) STOP 2
   30 CONTINUE
      CALL G6CALC_FIRSTHALF(0, 3, 1, ID, XI, VI, OLD, OLD, PHI,
     &     1.0D0, H2)
      IERR = G6CALC_LASTHALF(0, 3, 1, ID, XI, VI, 1.0D0, H2, ACC,
     &     JERK, POT)
      IF (IERR .NE. 0) STOP 3
      IF (ABS(POT(1) + 3.20306794D0) .GT. 1.0D-6) STOP 4
      IERR = G6_CLOSE(0)
C     GRAPE-5
      IF (G5_GET_NUMBER_OF_PIPELINES() .LT. 1) STOP 5
      IF (G5_GET_JMEMSIZE() .NE. 65536) STOP 6
      CALL G5_OPEN()
      CALL G5_SET_RANGE(-10.0D0, 10.0D0, 0.01D0)
      CALL G5_GET_RANGE(XMIN, XMAX, MMIN)
      IF (XMIN .NE. -10.0D0 .OR. XMAX .NE. 10.0D0) STOP 7
      CALL G5_SET_EPS_TO_ALL(1.0D0)
      CALL G5_SET_N(3)
      CALL G5_SET_XMJ(0, 3, X, M)
      CALL G5_CALCULATE_FORCE_ON_X(XI, A, P, 1)
      CALL CHECK(P(1), 8)
      CALL G5_SET_JP(0, 3, M, X)
      CALL G5_SET_XI(2, XI)
      CALL G5_RUN()
      CALL G5_GET_FORCE(2, A, P)
      CALL CHECK(P(2), 9)
C     The same on a device of a thread
      CALL G5_OPENMC(3)
      CALL G5_SET_XMJMC(3, 0, 3, X, M)
      CALL G5_SET_NMC(3, 3)
      CALL G5_CALCULATE_FORCE_ON_XMC(3, XI, A, P, 1)
      CALL CHECK(P(1), 10)
      CALL G5_SET_XIMC(3, 1, XI)
      CALL G5_RUNMC(3)
      CALL G5_GET_FORCEMC(3, 1, A, P)
      CALL CHECK(P(1), 11)
C     and with a softening of each particle
      CALL G5_SET_XMJ0(0, 3, X, M, EPS2)
      CALL G5_CALCULATE_FORCE_ON_X0(XI, A, P, 1, EPS2)
      CALL CHECK(P(1), 12)
      CALL G5_SET_XMJMC0(3, 0, 3, X, M, EPS2)
      CALL G5_CALCULATE_FORCE_ON_XMC0(3, XI, A, P, 1, EPS2)
      CALL CHECK(P(1), 13)
      CALL G5_CLOSEMC(3)
      CALL G5_CLOSE()
      END

      SUBROUTINE CHECK(P, N)
      REAL*8 P
      INTEGER N
      IF (ABS(P - 4.20306794D0) .LE. 1.0D-6) RETURN
      WRITE (*,*) 'check ', N, ': potential ', P
      STOP 100
      END
