#!/usr/bin/env bash
# Builds and installs libsapporo into the prefix of a conda package.
set -eu

# Kernels are optimised as without a package.  conda's flags name a processor; kernels add the flags of each path.
# conda-forge builds for CPUs here: a package with GPU kernels is one more variant, with its cuda-nvcc and FULL=1.
settings=(PREFIX="$PREFIX" KERNEL_OPTIMISE=-O3 CUDA=0 MPI=0 HDF5=0)
make -j"${CPU_COUNT:-1}" all "${settings[@]}"
make install "${settings[@]}"

# conda-forge has no static libraries.
rm "$PREFIX"/lib/lib{sapporo,g6,pg5,pg5_symmetric,sapporo6th,yebisug6,nbody6_gpu,nbody7_gpu,nbody6_2010_gpu,nbody6pp_gpu,sphgrav_sapporo,cunbody1,harp3,g5c}.a
