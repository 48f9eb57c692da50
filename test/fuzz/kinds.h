/*
 * kinds.h - all operations of all interfaces: a name, and the call as text of C.
 *
 * The text is compiled into the fuzzer and printed into programs.  I(k) and D(k) are numbers of the operation, R(k),
 * V(k), N(k), M(k) its columns of doubles, vectors, ints and lists, or NULL.
 */
#ifndef FUZZ_KINDS_H
#define FUZZ_KINDS_H

#define KINDS_G6(CALL)                                                                                                 \
    CALL(G6_OPEN, rc = g6_open(I(0)))                                                                                  \
    CALL(G6_CLOSE, rc = g6_close(I(0)))                                                                                \
    CALL(G6_RESET, rc = g6_reset(I(0)))                                                                                \
    CALL(G6_REINITIALIZE, rc = g6_reinitialize(I(0)))                                                                  \
    CALL(G6_TIME, rc = g6_set_ti(I(0), D(0)))                                                                          \
    CALL(G6_SET, rc = g6_set_j_particle(I(0), I(1), I(2), D(0), D(1), D(2), R(0), R(1), R(2), R(3), R(4)))             \
    CALL(G6_SET_MX, rc = g6_set_j_particle_mxonly(I(0), I(1), I(2), D(0), R(0)))                                       \
    CALL(G6_LOAD, rc = g6_load(I(0), I(1), N(0), N(1), R(2), R(3), V(4), V(5), V(6), V(7), V(8)))                      \
    CALL(FILL, rc = fill(I(0), I(1), N(0), V(1), V(2), R(3)))                                                          \
    CALL(FILL_MORE, rc = fill_more(I(0), I(1), V(0), V(1), R(2), R(3)))                                                \
    CALL(G6_FIRST,                                                                                                     \
         g6calc_firsthalf(I(0), I(1), I(2), UNLESS(0, I(4), batch[I(3)].index), UNLESS(1, I(4), batch[I(3)].x),        \
                          UNLESS(2, I(4), batch[I(3)].v), NULL, NULL, NULL, D(0), UNLESS(3, I(4), batch[I(3)].h2)))    \
    CALL(G6_LAST,                                                                                                      \
         rc = g6calc_lasthalf(I(0), I(1), I(2), UNLESS(0, I(4), batch[I(3)].index), UNLESS(1, I(4), batch[I(3)].x),    \
                              UNLESS(2, I(4), batch[I(3)].v), D(0), UNLESS(3, I(4), batch[I(3)].h2),                   \
                              UNLESS(4, I(4), out.acc), UNLESS(5, I(4), out.jerk), UNLESS(6, I(4), out.pot)))          \
    CALL(G6_LAST2,                                                                                                     \
         rc = g6calc_lasthalf2(I(0), I(1), I(2), UNLESS(0, I(4), batch[I(3)].index), UNLESS(1, I(4), batch[I(3)].x),   \
                               UNLESS(2, I(4), batch[I(3)].v), D(0), UNLESS(3, I(4), batch[I(3)].h2),                  \
                               UNLESS(4, I(4), out.acc), UNLESS(5, I(4), out.jerk), UNLESS(6, I(4), out.pot),          \
                               UNLESS(7, I(4), out.nearest)))                                                          \
    CALL(G6_LAST2P,                                                                                                    \
         rc = g6calc_lasthalf2p(I(0), I(1), I(2), UNLESS(0, I(4), batch[I(3)].index), UNLESS(1, I(4), batch[I(3)].x),  \
                                UNLESS(2, I(4), batch[I(3)].v), D(0), UNLESS(3, I(4), batch[I(3)].h2),                 \
                                UNLESS(4, I(4), out.acc), UNLESS(5, I(4), out.jerk), UNLESS(6, I(4), out.pot),         \
                                UNLESS(7, I(4), out.nearest), UNLESS(8, I(4), out.distance)))                          \
    CALL(G6_THREADS, rc = share_force(1, I(0), I(1), I(2), I(3), 0, 0, 0, D(0)))                                       \
    CALL(G6_LISTS, rc = g6_lists(I(0), I(1), I(2), I(3)))                                                              \
    CALL(G6_LIST, rc = g6_get_neighbour_list(I(0), I(1), I(2), out.n, out.list))

#define KINDS_NATIVE(CALL)                                                                                             \
    CALL(OPEN, rc = native_open(I(0), I(1), I(2), I(3)))                                                               \
    CALL(CLOSE, rc = native_close(I(0), I(1)))                                                                         \
    CALL(CLEAR, rc = sapporo_clear_particles(context[I(0)]))                                                           \
    CALL(TIME, rc = sapporo_set_time(context[I(0)], D(0)))                                                             \
    CALL(SET, rc = native_set(I(0), I(1), I(2), D(0), D(1), D(2), R(0)))                                               \
    CALL(LOAD, rc = native_load(I(0), I(1), I(2), V(0), V(1), V(2), V(3), V(4), R(5), R(6), N(7), R(8)))               \
    CALL(GET, rc = native_get(I(0), I(1), I(2)))                                                                       \
    CALL(BEGIN, rc = native_begin(I(0), I(1), I(2), I(3), I(4), I(5), I(6), I(7), D(0)))                               \
    CALL(END, rc = native_end(I(0), I(1), I(2)))                                                                       \
    CALL(THREADS, rc = share_force(0, I(0), I(1), I(2), I(3), I(4), I(5), I(6), D(0)))                                 \
    CALL(TWICE, rc = native_twice(I(1), I(2), I(3), I(4), I(5), I(6), I(7), D(0), (int)D(1), I(0)))                    \
    CALL(NEIGHBOURS, rc = sapporo_force_neighbours(job[I(0)], I(1), I(2), out.n, out.list, out.total))                 \
    CALL(LISTS, rc = sapporo_force_neighbour_lists(job[I(0)], I(1), I(2), I(3), out.list, out.n))                      \
    CALL(FREE, rc = native_free(I(0)))                                                                                 \
    CALL(NEIGHBOUR_FORCE, rc = native_neighbour_force(I(0), I(1), I(2), D(0), N(0), N(1), M(2)))                       \
    CALL(BATCH_FORCE, rc = native_batch_force(I(0), I(1), I(2), I(3), I(4), D(0), N(0), N(1), N(2), M(3)))

#define KINDS_NBODY6(CALL)                                                                                             \
    CALL(NB_OPEN, rc = nb_open(I(0), I(1), I(2)))                                                                      \
    CALL(NB_CLOSE, rc = nb_close(I(0)))                                                                                \
    CALL(NB_SEND, rc = nb_send(I(0), I(1), R(0), V(1), V(2)))                                                          \
    CALL(NB_REGF, rc = nb_regf(I(0), I(1), I(2), I(3), I(4), I(5)))                                                    \
    CALL(NB_POT, rc = nb_pot(I(0), I(1), I(2), I(3), R(0), V(1)))                                                      \
    CALL(IRR_OPEN, rc = irr_open(I(0), I(1), I(2)))                                                                    \
    CALL(IRR_CLOSE, rc = irr_close(I(0)))                                                                              \
    CALL(IRR_SET, rc = irr_set(I(0), I(1), N(0), V(1), V(2), V(3), V(4), R(5), R(6)))                                  \
    CALL(IRR_SET_LIST, rc = irr_set_list(I(0), I(1), N(0), M(1)))                                                      \
    CALL(IRR_FORCE, rc = irr_force(I(0), D(0), I(1), N(0)))

#define KINDS_SIXTH(CALL)                                                                                              \
    CALL(SIXTH_SET, rc = sixth_set(I(0), N(0), N(1), R(2), R(3), V(4), V(5), V(6), V(7), V(8), V(9)))                  \
    CALL(SIXTH_PREDICT, rc = sixth_predict(D(0), I(0), I(1)))                                                          \
    CALL(SIXTH_GET, rc = sixth_get(I(0)))                                                                              \
    CALL(SIXTH_FORCE, rc = sixth_force(I(0), I(1), I(2)))

#define KINDS_ONECALL(CALL)                                                                                            \
    CALL(CUNBODY, rc = cunbody("cunbody1_force", I(0), I(1), I(2), D(0), V(0), R(1)))                                  \
    CALL(CUNBODY_BEGIN, rc = cunbody("cunbody1_force_begin", I(0), I(1), I(2), D(0), V(0), R(1)))                      \
    CALL(CUNBODY_END, rc = cunbody("cunbody1_force_end", I(0), I(1), I(2), D(0), V(0), R(1)))                          \
    CALL(HARP, rc = harp(I(0), I(1), I(2), D(0), V(0), R(1)))

#define KINDS_G5C(CALL)                                                                                                \
    CALL(G5C_SET_N, rc = g5c_count(I(0), I(1)))                                                                        \
    CALL(G5C_LOAD, rc = g5c_load(I(0), I(1), I(2), V(0), R(1), R(2)))                                                  \
    CALL(G5C_FORCE, rc = g5c_force(I(0), I(1), I(2), I(4)))

#define KINDS_TREE(CALL)                                                                                               \
    CALL(TREE_CREATE,                                                                                                  \
         rc = tree_create(I(0), I(1), I(8), I(2), I(3), I(4), I(5), I(6), I(7), I(9), D(0), D(1), D(2), D(3)))         \
    CALL(TREE_DESTROY, rc = tree_destroy(I(0)))                                                                        \
    CALL(TREE_SET, rc = tree_set(I(0), I(1), V(0), R(1), R(2), R(3)))                                                  \
    CALL(TREE_BUILD, rc = sapporo_tree_build(tree[I(0)]))                                                              \
    CALL(TREE_REFRESH, rc = sapporo_tree_refresh(tree[I(0)]))                                                          \
    CALL(TREE_RENEW, rc = tree_renew(I(0), D(0)))                                                                      \
    CALL(TREE_FORCE, rc = tree_force(I(0), I(1), I(2), I(3), I(4), N(0)))                                              \
    CALL(TREE_NEIGHBOURS, rc = tree_neighbours(I(0), I(1), I(2), I(3)))                                                \
    CALL(TREE_WITHIN, rc = tree_within(I(0), I(1), I(2), I(3), I(4), N(0)))                                            \
    CALL(TREE_NEAREST, rc = tree_nearest(I(0), I(1), I(2), I(3), I(4), N(0)))                                          \
    CALL(TREE_TIDAL, rc = tree_tidal(I(0), I(1), I(2), I(3), N(0)))

#define KINDS_G5(CALL)                                                                                                 \
    CALL(G5_OPEN, rc = g5_openMC(I(0)))                                                                                \
    CALL(G5_CLOSE, rc = g5_closeMC(I(0)))                                                                              \
    CALL(G5_EPS, rc = g5_set_eps_to_all(D(0)))                                                                         \
    CALL(G5_EPS2, rc = g5_set_eps2_to_all(D(0)))                                                                       \
    CALL(G5_SET_N, rc = g5_set_nMC(I(0), I(1)))                                                                        \
    CALL(G5_SET_XMJ, rc = g5_set_xmjMC(I(0), I(1), I(2), V(0), R(1)))                                                  \
    CALL(G5_SET_XJ, rc = g5_set_xjMC(I(0), I(1), I(2), V(0)))                                                          \
    CALL(G5_SET_MJ, rc = g5_set_mjMC(I(0), I(1), I(2), R(1)))                                                          \
    CALL(G5_SET_XMJ0, rc = g5_set_xmjMC0(I(0), I(1), I(2), V(0), R(1), R(2)))                                          \
    CALL(G5_SET_XI, rc = g5_pipes(I(0), I(1), I(2)))                                                                   \
    CALL(G5_SET_EPS2, rc = g5_set_eps2MC(I(0), I(1), batch[I(2)].eps2))                                                \
    CALL(G5_SET_XI0, rc = g5_set_xiMC0(I(0), I(1), batch[I(2)].x, batch[I(2)].eps2))                                   \
    CALL(G5_RUN, rc = g5_runMC(I(0)))                                                                                  \
    CALL(G5_RUN0, rc = g5_runMC0(I(0)))                                                                                \
    CALL(G5_GET, rc = g5_get_forceMC(I(0), I(1), out.acc, out.pot))                                                    \
    CALL(G5_CALCULATE, rc = g5_calculate_force_on_xMC(I(0), batch[I(2)].x, UNLESS(4, I(4), out.acc),                   \
                                                      UNLESS(6, I(4), out.pot), I(1)))                                 \
    CALL(G5_CALCULATE0,                                                                                                \
         rc = g5_calculate_force_on_xMC0(I(0), batch[I(2)].x, out.acc, out.pot, I(1), batch[I(2)].eps2))               \
    CALL(G5_SET_XMEPS2J, rc = g5_set_xmeps2j(I(1), I(2), V(0), R(1), R(2)))                                            \
    CALL(G5_RUN_SYMMETRIZED, rc = g5_run_symmetrized_softening())                                                      \
    CALL(G5_XEPS, rc = g5_calculate_force_on_xeps(batch[I(2)].x, batch[I(2)].eps2, out.acc, out.pot, I(1)))

#define KINDS(CALL)                                                                                                    \
    KINDS_G5(CALL)                                                                                                     \
    KINDS_G5C(CALL)                                                                                                    \
    KINDS_G6(CALL) KINDS_NATIVE(CALL) KINDS_TREE(CALL) KINDS_NBODY6(CALL) KINDS_SIXTH(CALL) KINDS_ONECALL(CALL)

#define KIND_NAME(name, ...) OP_##name,
enum kind { KINDS(KIND_NAME) OP_KINDS };
#undef KIND_NAME

#endif
