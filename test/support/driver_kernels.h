/*
 * driver_kernels.h - two kernels in PTX, which every CUDA driver compiles by itself: test_driver.c needs no nvcc.
 *
 * add(p, nothing, n, k) adds k to n integers at p, if `nothing` is a null pointer; crash() writes to an invalid
 * address.
 */
#ifndef DRIVER_KERNELS_H
#define DRIVER_KERNELS_H

static const char driver_kernels[] =
    ".version 6.4\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u64 nothing, .param .u32 n, .param .u32 k) {\n"
    "  .reg .pred %q; .reg .b32 %r<5>; .reg .b64 %d<3>;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  ld.param.u32 %r2, [n]; setp.ge.u32 %q, %r1, %r2; @%q bra done;\n"
    "  ld.param.u64 %d1, [nothing]; setp.ne.u64 %q, %d1, 0; @%q bra done;\n"
    "  ld.param.u64 %d1, [p]; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
    "  ld.param.u32 %r3, [k]; ld.global.u32 %r4, [%d1]; add.u32 %r4, %r4, %r3; st.global.u32 [%d1], %r4;\n"
    "done: ret; }\n"
    ".visible .entry crash() {\n"
    "  .reg .b64 %d<2>; .reg .b32 %r<2>; mov.u64 %d1, 64; mov.u32 %r1, 1; st.global.u32 [%d1], %r1; ret; }\n";

#endif
