/*
 * gpu_kernel_list.h - the kernels of primitives, direct sums, trees, kd-trees and steppers: their parameters, and how
 * each is launched.
 *
 * SAP_K_NAME(M, V) lists the parameters of the kernel NAME in their order: M(name) is memory of the device, V(type,
 * name) a value. SAP_KERNELS_MODULE(EACH, GROUPS, F) lists the kernels of a module with their threads per group:
 * launches of EACH have a thread per element, those of EARLY too, which begin early (driver/driver.h), those of GROUPS
 * so many groups; F is passed on. SAP_KERNELS_DIRECT(ROW) lists the rows of direct sums: each is of the kernels of all
 * precisions, orders, modes and shapes with these parameters. gpu_launch.h and gpu_direct_launch.h make functions of
 * the rows. test/project/test_launches.sh compares the rows with the kernels in lib/device.
 */
#ifndef SAP_GPU_KERNEL_LIST_H
#define SAP_GPU_KERNEL_LIST_H

/* ---- primitives: device/primitives.h, device/sort.h ---- */

#define SAP_K_scan_tiles(M, V)   M(in), M(sums), V(int, n)
#define SAP_K_scan_sums(M, V)    M(sums), V(int, tiles)
#define SAP_K_scan_finish(M, V)  M(in), M(sums), M(out), V(int, n)
#define SAP_K_compact_fill(M, V) M(flag), M(place), M(value), V(int, has_values), M(out), V(int, n)
#define SAP_K_bounds_parts(M, V) M(x), M(part), V(int, n), V(int, stride)
#define SAP_K_bounds_join(M, V)  M(part), M(out), V(int, groups)
#define SAP_K_sort_count(M, V)   M(key), M(scratch), V(int, n), V(int, shift), V(int, tile), V(int, tiles)
#define SAP_K_sort_offsets(M, V) M(scratch), V(int, tiles)
#define SAP_K_sort_scatter_short(M, V)                                                                                 \
    M(key), M(value), V(int, values), M(key_out), M(value_out), M(scratch), V(int, n), V(int, shift), V(int, tiles)
#define SAP_K_sort_scatter_long SAP_K_sort_scatter_short

/* clang-format off */
#define SAP_KERNELS_PRIMITIVES(EACH, GROUPS, F)                                                                        \
    GROUPS(F, scan_tiles, SAP_PRIMITIVE_THREADS) GROUPS(F, scan_sums, SAP_PRIMITIVE_THREADS)                           \
    GROUPS(F, scan_finish, SAP_PRIMITIVE_THREADS) GROUPS(F, compact_fill, SAP_PRIMITIVE_THREADS)                       \
    GROUPS(F, bounds_parts, SAP_PRIMITIVE_THREADS) GROUPS(F, bounds_join, SAP_PRIMITIVE_THREADS)                       \
    GROUPS(F, sort_count, SAP_PRIMITIVE_THREADS) GROUPS(F, sort_offsets, SAP_PRIMITIVE_THREADS)                        \
    GROUPS(F, sort_scatter_short, SAP_PRIMITIVE_THREADS) GROUPS(F, sort_scatter_long, SAP_PRIMITIVE_THREADS)
/* clang-format on */

/* ---- direct sums: arrivals.h, store.h, force.h, finish.h, lists.h, batch.h and its kin, neighbour.h, blocks.h ---- */

#define SAP_K_store_clear(M, V) M(store), V(int, columns), V(int, from), V(int, to)
#define SAP_K_store_address(M, V)                                                                                      \
    M(store), V(int, columns), V(int, from), V(int, to), V(int, block), V(int, processes), V(int, process),            \
        V(int, before)
#define SAP_K_store_look(M, V) M(column), M(seen), V(int, axes), V(int, n)
#define SAP_K_store_column(M, V)                                                                                       \
    M(store), V(int, columns), V(int, to), M(from), V(int, has_from), V(int, axes), V(int, factor), V(int, first),     \
        V(int, n)
#define SAP_K_store_tags(M, V)  M(store), V(int, columns), M(index), V(int, has_index), V(int, first), V(int, n)
#define SAP_K_store_stage(M, V) M(store), M(update), V(int, n), M(i), M(i_from), V(int, i_parts)
#define SAP_K_predict(M, V)     M(store), M(predicted), V(struct sap_gpu_force, f)
#define SAP_K_pack(M, V)        M(particle), M(predicted), V(int, n), V(int, superpackets)
#define SAP_K_soften(M, V)      M(soft), M(predicted), V(int, n)
#define SAP_K_force(M, V)                                                                                              \
    M(store), M(predicted), M(i), M(record), M(near), M(hit), M(hit_count), M(counters), V(struct sap_gpu_force, f),   \
        V(int, rows_per_group)
#define SAP_K_finish_sums(M, V) M(record), M(out), V(struct sap_gpu_force, f), V(int, parts), M(counters), M(told)
#define SAP_K_finish_sums_outside(M, V)                                                                                \
    M(record), M(out), V(struct sap_gpu_force, f), V(int, parts), M(store), M(i_all),                                  \
        V(struct sap_gpu_outside, outside), M(offset), M(cursor), M(entry), M(counters), M(list), M(list_out),         \
        V(int, entry_room), V(int, list_room)
#define SAP_K_finish_merge(M, V)   M(gathered), M(out), V(struct sap_gpu_force, f), V(int, devices)
#define SAP_K_finish_nearest(M, V) M(store), M(near), M(i_all), M(out), V(struct sap_gpu_force, f)
#define SAP_K_finish_long(M, V)    M(record), M(input), M(out), V(struct sap_gpu_batch, lists)
#define SAP_K_list_offsets(M, V)   M(count), M(offset), M(cursor), M(counters), V(int, n), M(told), V(int, last)
#define SAP_K_list_fill(M, V)                                                                                          \
    M(store), M(i_all), M(hit), M(offset), M(cursor), M(entry), M(counters), V(int, entry_room),                       \
        V(struct sap_gpu_force, f)
#define SAP_K_list_fill_outside(M, V) SAP_K_list_fill(M, V), V(struct sap_gpu_outside, outside)
#define SAP_K_list_sort(M, V)                                                                                          \
    M(offset), M(cursor), M(entry), M(counters), M(list), M(out), V(int, first_row), V(int, entry_room),               \
        V(int, out_room), V(int, rows)
#define SAP_K_list_more(M, V)     M(store), M(input), M(kept), M(extra), M(marks), M(out), V(struct sap_gpu_batch, lists)
#define SAP_K_batch(M, V)         M(predicted), M(input), M(kept), M(record), M(out), V(struct sap_gpu_batch, lists)
#define SAP_K_neighbour(M, V)     M(rows), M(there), M(input), M(all_out), V(struct sap_gpu_neighbour_slabs, f)
#define SAP_K_neighbour_put(M, V) M(rows), M(input), V(int, n), V(int, words), V(int, first)
#define SAP_K_blocks(M, V)                                                                                             \
    M(x), M(v), M(a), M(higher), M(pot), M(level), M(address), M(store), M(predicted), M(own_target), M(own_sum),      \
        M(own_after), M(told), M(out), V(struct sap_gpu_force, force), V(struct sap_hermite_force, f),                 \
        V(struct sap_hermite_blocks, run), V(struct sap_stepper_order, order), V(struct sap_hermite_rule, rule),       \
        V(struct sap_hermite_units, u), V(struct sap_field_list, fields)

/* clang-format off */
#define SAP_KERNELS_DIRECT(ROW)                                                                                        \
    ROW(store_clear) ROW(store_address) ROW(store_look) ROW(store_column) ROW(store_tags) ROW(store_stage) ROW(predict) ROW(pack) ROW(soften) ROW(force) ROW(finish_sums) \
    ROW(finish_sums_outside) ROW(finish_merge) ROW(finish_nearest) ROW(finish_long) ROW(list_offsets) ROW(list_fill)   \
    ROW(list_fill_outside) ROW(list_sort) ROW(list_more) ROW(batch) ROW(neighbour) ROW(neighbour_put) ROW(blocks)
/* clang-format on */

/* ---- tree: tree_given.h, tree_build.h, tree_moments.h, tree_rows.h, tree_search.h, tree_nearest.h, tree_stops.h,
 * tree_halo.h, tree_images.h, tree_bodies.h ---- */

#define SAP_K_tree_look(M, V)                                                                                          \
    M(x), M(mass), M(a), V(double, gravity), V(int, has_mass), V(int, has_a), M(bad), V(int, n)
#define SAP_K_tree_take(M, V)                                                                                          \
    M(x), M(mass), M(a), V(double, gravity), V(int, has_mass), V(int, keeps), V(int, has_a), M(particle), M(sizes),    \
        V(int, n)
#define SAP_K_tree_ahead(M, V)                                                                                         \
    M(particle), M(past), M(older), V(int, bends), V(double, lead), V(double, limit), V(double, period), V(int, n)
#define SAP_K_tree_look_active(M, V) M(active), M(bad), V(int, ni), V(int, n)
#define SAP_K_tree_halo_bins(M, V)   M(node), M(cell), M(bins), V(int, nodes)
#define SAP_K_tree_halo_flag(M, V)   M(node), M(cell), M(flag), V(int, last), V(int, nodes)
#define SAP_K_tree_halo_top(M, V)    M(node), M(cell), M(list), M(child), M(children), M(size), V(int, n)
#define SAP_K_tree_halo_tell(M, V)                                                                                     \
    M(from), M(node), M(sorted), M(address), M(group_of), M(bounds), M(active), V(int, has_active), M(a),              \
        V(int, has_a), M(length), V(int, has_length), V(double, widest), V(double, accuracy), M(region)
#define SAP_K_tree_halo_reach(M, V) M(node), M(cell), M(reach), M(parent), V(struct sap_gpu_tree, t)
#define SAP_K_tree_halo_sizes(M, V) M(bounds), M(size), V(int, groups)
#define SAP_K_tree_halo_open(M, V)                                                                                     \
    M(entry), M(opened), M(cell), M(reach), M(parent), M(region), M(block), M(region_first), V(int, first),            \
        V(int, threads)
#define SAP_K_tree_halo_test(M, V)                                                                                     \
    M(entry), M(more), M(node), M(node_level), V(int, level_most), V(int, order), V(int, n)
#define SAP_K_tree_halo_spread(M, V)                                                                                   \
    M(entry), M(more), M(before), M(node), M(next), M(part_first), V(int, parts), V(int, n)
#define SAP_K_tree_halo_place(M, V) M(entry), M(shift), V(int, shift_at), M(held), V(int, n)
#define SAP_K_tree_halo_bases(M, V) M(before), M(base), M(first), V(int, n)
#define SAP_K_tree_halo_fill(M, V)                                                                                     \
    M(entry), M(shift), V(int, shift_at), V(int, parts), M(base), M(x_base), M(before), M(node), M(cell), M(particle), \
        M(address), V(int, has_address), M(made), M(x)
#define SAP_K_tree_halo_join(M, V)                                                                                     \
    M(made), M(first), V(int, parts), V(int, roots), V(int, halos), M(node), M(cell), V(int, n)
#define SAP_K_tree_halo_above(M, V)  M(node), M(cell), V(int, first), V(int, child), V(int, parents), V(int, children)
#define SAP_K_tree_halo_masses(M, V) M(x), V(double, unit), V(int, n)
#define SAP_K_tree_image_regions(M, V)                                                                                 \
    M(bounds), M(group_of), M(slot), V(int, has_slot), M(strict), V(int, has_strict), M(longest), V(int, has_length),  \
        M(cell), V(double, period), M(region), V(int, n), V(struct sap_gpu_tree, t)
#define SAP_K_tree_image_blocks(M, V) M(region), M(block), V(int, n)
#define SAP_K_tree_image_place(M, V)                                                                                   \
    M(made), M(made_x), M(first), V(int, parts), M(x), V(double, period), V(int, before), V(int, nodes), V(int, n)
#define SAP_K_tree_body_places(M, V)  M(given), M(list), M(x), V(int, n)
#define SAP_K_tree_body_counts(M, V)  M(work), M(size), M(sums), V(int, n)
#define SAP_K_tree_body_weights(M, V) M(work), M(order), M(weight), V(struct sap_gpu_weights, how)
#define SAP_K_tree_body_blocks(M, V)  M(weight), M(sums), V(int, blocks), V(int, n)
#define SAP_K_tree_body_below(M, V)                                                                                    \
    M(key), M(weight), M(sums), M(sought), M(below), V(int, weighs), V(int, n), V(int, keys)
#define SAP_K_tree_body_pack(M, V)                                                                                     \
    M(given), M(size), M(order), V(int, has_order), M(particle), M(a), M(out), V(struct sap_gpu_staying, how)
#define SAP_K_tree_body_unpack(M, V) M(in), M(particle), M(a), V(struct sap_gpu_staying, how), V(int, n)
#define SAP_K_tree_body_learn(M, V)  M(acc), M(a), V(int, n)
#define SAP_K_tree_body_answer(M, V)                                                                                   \
    M(acc), M(pot), M(left), M(active), M(a), M(out), V(struct sap_gpu_told, told), V(struct sap_gpu_staying, how)
#define SAP_K_tree_body_deliver(M, V)                                                                                  \
    M(acc), M(pot), M(left), M(active), M(in), M(order), V(int, has_order), M(size), M(work), M(to_acc), M(to_pot),    \
        V(int, writes), V(struct sap_gpu_told, told), V(struct sap_gpu_staying, how)
#define SAP_K_tree_bounds(M, V) M(given), M(out), V(int, n), V(int, members)
#define SAP_K_tree_keys(M, V)   M(given), M(key), V(struct sap_gpu_tree, t), V(int, n)
#define SAP_K_tree_gather(M, V)                                                                                        \
    M(given), M(address), M(sorted), M(place), V(int, has_place), V(double, mass_unit), V(int, n)
#define SAP_K_tree_levels(M, V)       M(key), M(levels), M(count), V(struct sap_gpu_tree, t)
#define SAP_K_tree_level_firsts(M, V) M(count), M(total), M(first), V(int, total_at), V(int, tiles)
#define SAP_K_tree_link(M, V)         M(key), M(levels), M(offset), M(node), M(node_level), V(struct sap_gpu_tree, t)
#define SAP_K_tree_leaves(M, V)                                                                                        \
    M(sorted), M(node), M(node_level), M(level_first), M(cell), V(int, linked), V(struct sap_gpu_tree, t)
#define SAP_K_tree_cells(M, V) M(node), M(cell), V(int, from), V(int, to)
#define SAP_K_tree_words(M, V)                                                                                         \
    M(node), M(cell), M(top), M(word), M(source), M(moments), V(int, nodes), V(struct sap_gpu_tree, t)
#define SAP_K_tree_runs(M, V) M(group_first), M(group_of), V(int, size), V(int, n)
#define SAP_K_tree_divide(M, V)                                                                                        \
    M(given), M(address), M(group_first), M(flag), V(double, limit), V(int, size), V(int, groups), V(int, n)
#define SAP_K_tree_flagged(M, V) M(flag), M(before), M(group_first), M(group_of), V(int, n)
#define SAP_K_tree_groups(M, V)                                                                                        \
    M(x), M(cell), M(group_first), M(bound), M(heavy), M(a), M(address), M(strict), V(int, has_a),                     \
        V(struct sap_gpu_tree, t)
#define SAP_K_tree_row_keys(M, V)   M(place), M(active), V(int, has_active), M(key), V(int, n)
#define SAP_K_tree_row_order(M, V)  M(key), M(sorted), M(row), V(int, n)
#define SAP_K_tree_row_slots(M, V)  M(key), M(slot), V(int, n)
#define SAP_K_tree_row_places(M, V) M(place), M(active), V(int, has_active), M(slot), M(row), V(int, n)
#define SAP_K_tree_row_strict(M, V) M(cell), M(slot), M(a), M(address), M(strict), V(int, n), V(struct sap_gpu_tree, t)
#define SAP_K_tree_part_keys(M, V)  M(strict), M(key), V(int, group_parts), V(int, parts)
#define SAP_K_tree_list_items(M, V)                                                                                    \
    M(order), V(int, has_order), M(left), V(int, items), V(int, step), V(struct sap_gpu_walk, w)
#define SAP_K_tree_rows_unite(M, V) M(acc), M(pot), M(more_acc), M(more_pot), V(int, n)
#define SAP_K_tree_pick(M, V)       M(acc), M(pot), M(active), V(int, has_active), M(picked_acc), M(picked_pot), V(int, n)
#define SAP_K_tree_rows_add(M, V)                                                                                      \
    M(acc), M(pot), M(left), M(more_acc), M(more_pot), M(more_work), V(int, work_at), V(int, n)
#define SAP_K_tree_sizes(M, V) M(acc), M(active), V(int, has_active), M(a), V(int, n)
#define SAP_K_tree_next(M, V)  M(node), M(next), V(int, from), V(int, to)
#define SAP_K_OF_WITHIN(M, V)                                                                                          \
    M(walker), M(slot), M(row), M(radius), M(particle), M(address), M(node), M(next), M(cell), M(count), M(bad),       \
        M(list_first), M(list), V(uint64_t, room)
#define SAP_K_tree_within(M, V)        SAP_K_OF_WITHIN(M, V), V(struct sap_gpu_within, q)
#define SAP_K_tree_within_images(M, V) SAP_K_OF_WITHIN(M, V), V(double, period), V(struct sap_gpu_within, q)
#define SAP_K_tree_within_sums(M, V)   M(count), M(list_sum), V(int, n)
#define SAP_K_tree_within_scan(M, V)   M(list_sum), V(int, parts)
#define SAP_K_tree_within_first(M, V)  M(count), M(list_sum), M(list_first), V(int, n)
#define SAP_K_OF_NEAREST(M)                                                                                            \
    M(walker), M(slot), M(row), M(particle), M(address), M(node), M(next), M(cell), M(heap2), M(heap), M(list),        \
        M(distance2)
#define SAP_K_tree_nearest(M, V)        SAP_K_OF_NEAREST(M), V(struct sap_gpu_nearest, q)
#define SAP_K_tree_nearest_images(M, V) SAP_K_OF_NEAREST(M), V(double, period), V(struct sap_gpu_nearest, q)
#define SAP_K_tree_nearest_group(M, V)                                                                                 \
    M(walker), M(slot), M(row), M(particle), M(address), M(node), M(next), M(cell), M(list), M(distance2),             \
        V(double, period), V(struct sap_gpu_nearest, q)
#define SAP_K_tree_stop_count(M, V) M(node), M(node_level), M(begin), M(top), V(struct sap_gpu_tree, t)
#define SAP_K_tree_stop_cells(M, V)                                                                                    \
    M(node), M(node_level), M(begin), M(top), M(word), M(source), M(stop), V(struct sap_gpu_tree, t)
#define SAP_K_tree_stop_particles(M, V) M(sorted), M(begin), M(stop), V(struct sap_gpu_tree, t)
#define SAP_K_tree_inside(M, V)         M(particle), V(double, period), V(int, n)
#define SAP_K_tree_follow(M, V)         M(particle), M(sorted), M(address), V(double, period), V(int, n)
#define SAP_K_tree_shift(M, V)          M(from), M(to), V(int, words), V(double, x), V(double, y), V(double, z), V(int, n)
#define SAP_K_tree_image_add(M, V)      M(from), M(sum), V(int, has_sum), V(int, n)
#define SAP_K_tree_image_tell(M, V)     M(left), M(told), V(int, has_told)
#define SAP_K_tree_least(M, V)          M(a), V(double, least), V(int, n)
#define SAP_K_tree_far_moments(M, V)    M(sorted), M(part), V(double, inverse), V(int, parts), V(int, n)
#define SAP_K_tree_far_join(M, V)       M(part), M(far_sums), V(int, parts), V(int, n)
#define SAP_K_tree_far_force(M, V)                                                                                     \
    M(walker), M(slot), V(int, all_slots), M(row), M(field), M(sum_acc), M(sum_pot), M(acc), M(pot), M(told),          \
        V(double, inverse), V(double, mass_unit), V(int, n)
#define SAP_K_tree_far_tidal(M, V)                                                                                     \
    M(walker), M(slot), V(int, all_slots), M(row), M(field), M(sum), M(tidal), M(told), V(double, inverse),            \
        V(double, mass_unit), V(int, n)

/* clang-format off */
#define SAP_KERNELS_TREE(EACH, GROUPS, F)                                                                              \
    EACH(F, tree_look, SAP_TREE_THREADS) EACH(F, tree_take, SAP_TREE_THREADS) EACH(F, tree_ahead, SAP_TREE_THREADS)    \
    EACH(F, tree_look_active, SAP_TREE_THREADS) EACH(F, tree_halo_bins, SAP_TREE_THREADS)                              \
    EACH(F, tree_halo_flag, SAP_TREE_THREADS) EACH(F, tree_halo_top, SAP_TREE_THREADS)                                 \
    EACH(F, tree_halo_sizes, SAP_TREE_THREADS) EACH(F, tree_halo_open, SAP_TREE_THREADS)                               \
    GROUPS(F, tree_halo_tell, SAP_HALO_TELLERS) EACH(F, tree_halo_reach, SAP_TREE_THREADS)                             \
    EACH(F, tree_halo_test, SAP_TREE_THREADS) EACH(F, tree_halo_spread, SAP_TREE_THREADS)                              \
    EACH(F, tree_halo_place, SAP_TREE_THREADS) EACH(F, tree_halo_bases, SAP_TREE_THREADS)                              \
    EACH(F, tree_halo_join, SAP_TREE_THREADS) EACH(F, tree_halo_above, SAP_TREE_THREADS)                               \
    EACH(F, tree_halo_masses, SAP_TREE_THREADS) GROUPS(F, tree_image_regions, SAP_HALO_TELLERS)                        \
    EACH(F, tree_image_blocks, SAP_TREE_THREADS) EACH(F, tree_image_place, SAP_TREE_THREADS)                           \
    GROUPS(F, tree_halo_fill, 32) GROUPS(F, tree_bounds, SAP_TREE_THREADS) EACH(F, tree_keys, SAP_TREE_THREADS)        \
    EACH(F, tree_gather, SAP_TREE_THREADS) GROUPS(F, tree_levels, SAP_TREE_THREADS) GROUPS(F, tree_level_firsts, 32)   \
    GROUPS(F, tree_link, SAP_TREE_THREADS) EACH(F, tree_leaves, SAP_LEAF_THREADS)                                      \
    EACH(F, tree_cells, SAP_LEAF_THREADS) EACH(F, tree_words, SAP_TREE_THREADS) EACH(F, tree_runs, SAP_TREE_THREADS)   \
    GROUPS(F, tree_divide, 32) EACH(F, tree_flagged, SAP_TREE_THREADS) GROUPS(F, tree_groups, 32)                      \
    EACH(F, tree_row_keys, SAP_TREE_THREADS) EACH(F, tree_row_order, SAP_TREE_THREADS)                                 \
    EACH(F, tree_row_slots, SAP_TREE_THREADS) EACH(F, tree_row_places, SAP_TREE_THREADS)                               \
    EACH(F, tree_row_strict, SAP_TREE_THREADS) EACH(F, tree_part_keys, SAP_TREE_THREADS)                               \
    EACH(F, tree_list_items, SAP_TREE_THREADS) EACH(F, tree_rows_unite, SAP_TREE_THREADS)                              \
    EACH(F, tree_pick, SAP_TREE_THREADS) EACH(F, tree_rows_add, SAP_TREE_THREADS)                                      \
    EACH(F, tree_sizes, SAP_TREE_THREADS) EACH(F, tree_next, SAP_TREE_THREADS) EACH(F, tree_within, SAP_TREE_THREADS)  \
    EACH(F, tree_within_images, SAP_TREE_THREADS) EACH(F, tree_within_sums, SAP_TREE_THREADS)                          \
    GROUPS(F, tree_within_scan, SAP_TREE_THREADS) EACH(F, tree_within_first, SAP_TREE_THREADS)                         \
    EACH(F, tree_nearest, SAP_TREE_THREADS) EACH(F, tree_nearest_images, SAP_TREE_THREADS)                             \
    GROUPS(F, tree_nearest_group, SAP_NEAREST_THREADS)                                                                 \
    EACH(F, tree_stop_count, SAP_TREE_THREADS) EACH(F, tree_stop_cells, SAP_TREE_THREADS)                              \
    EACH(F, tree_stop_particles, SAP_TREE_THREADS) EACH(F, tree_body_places, SAP_TREE_THREADS)                         \
    GROUPS(F, tree_body_counts, SAP_TREE_THREADS) EACH(F, tree_body_weights, SAP_TREE_THREADS)                         \
    EACH(F, tree_body_blocks, SAP_TREE_THREADS) EACH(F, tree_body_below, SAP_TREE_THREADS)                             \
    EACH(F, tree_body_pack, SAP_TREE_THREADS) EACH(F, tree_body_unpack, SAP_TREE_THREADS)                              \
    EACH(F, tree_body_learn, SAP_TREE_THREADS) EACH(F, tree_body_answer, SAP_TREE_THREADS)                             \
    EACH(F, tree_body_deliver, SAP_TREE_THREADS) EACH(F, tree_inside, SAP_TREE_THREADS)                                \
    EACH(F, tree_follow, SAP_TREE_THREADS) EACH(F, tree_shift, SAP_TREE_THREADS)                                       \
    EACH(F, tree_image_add, SAP_TREE_THREADS) EACH(F, tree_image_tell, SAP_TREE_THREADS)                               \
    EACH(F, tree_least, SAP_TREE_THREADS) GROUPS(F, tree_far_moments, SAP_FAR_THREADS)                                \
    EACH(F, tree_far_join, SAP_TREE_THREADS) EACH(F, tree_far_force, SAP_ALONE_THREADS)                                \
    EACH(F, tree_far_tidal, SAP_ALONE_THREADS)
/* clang-format on */

/* ---- tree_walk_sp, tree_walk_dp: tree_walk.h, tree_few.h, tree_stackless.h ---- */

/* Sources, target particles and results of a walk by groups or in bunches, and of one of single particles. */
#define SAP_K_OF_WALKS(M)                                                                                              \
    M(particle), M(walker), M(word), M(centre), M(moments), M(cell), M(group_first), M(group_of), M(bound), M(heavy),  \
        M(strict), M(slot), M(row), M(acc), M(pot), M(left)
#define SAP_K_OF_ALONE(M, V)                                                                                           \
    M(walker), M(stop), M(cell), M(a), M(address), M(slot), M(row), M(acc), M(pot), M(left), V(int, stops)
#define SAP_K_OF_TIDAL(M, V)                                                                                           \
    M(walker), M(stop), M(cell), M(bound), M(group_of), M(heavy), M(strict), M(slot), M(row), M(tidal), M(left),       \
        V(int, stops)

#define SAP_K_tree_walk_sp(M, V)                                                                                       \
    SAP_K_OF_WALKS(M), M(district_node), M(district), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)
#define SAP_K_tree_walk_whole_sp    SAP_K_tree_walk_sp
#define SAP_K_tree_selected_sp      SAP_K_tree_walk_sp
#define SAP_K_tree_bunches_sp(M, V) M(slot), M(left), V(struct sap_gpu_walk, w)
#define SAP_K_tree_few_sp           SAP_K_tree_walk_sp
#define SAP_K_tree_crowds_sp(M, V)                                                                                     \
    M(word), M(bound), M(group_first), M(heavy), M(left), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)
#define SAP_K_tree_large_sp SAP_K_tree_walk_sp
#define SAP_K_tree_districts_sp(M, V)                                                                                  \
    M(word), M(centre), M(moments), M(cell), M(bound), M(strict), M(district_node), M(district), V(int, groups),       \
        V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)

/* clang-format off */
#define SAP_KERNELS_TREE_WALK_SP(EACH, GROUPS, F)                                                                      \
    GROUPS(F, tree_walk_sp, SAP_WALK_THREADS) GROUPS(F, tree_walk_whole_sp, SAP_WALK_THREADS)                          \
    GROUPS(F, tree_selected_sp, SAP_WALK_THREADS) EACH(F, tree_bunches_sp, SAP_TREE_THREADS)                           \
    GROUPS(F, tree_crowds_sp, SAP_WALK_THREADS) GROUPS(F, tree_districts_sp, SAP_WALK_THREADS)                         \
    GROUPS(F, tree_few_sp, SAP_FEW_THREADS) GROUPS(F, tree_large_sp, SAP_LARGE_THREADS)
/* clang-format on */

#define SAP_K_tree_walk_dp            SAP_K_tree_walk_sp
#define SAP_K_tree_selected_dp        SAP_K_tree_walk_sp
#define SAP_K_tree_bunches_dp         SAP_K_tree_bunches_sp
#define SAP_K_tree_few_dp             SAP_K_tree_walk_sp
#define SAP_K_tree_crowds_dp          SAP_K_tree_crowds_sp
#define SAP_K_tree_districts_dp       SAP_K_tree_districts_sp
#define SAP_K_tree_alone_masses(M, V) SAP_K_OF_ALONE(M, V), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)
#define SAP_K_tree_alone_moments      SAP_K_tree_alone_masses
#define SAP_K_tree_tidal_masses(M, V) SAP_K_OF_TIDAL(M, V), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)
#define SAP_K_tree_tidal_moments      SAP_K_tree_tidal_masses

/* clang-format off */
#define SAP_KERNELS_TREE_WALK_DP(EACH, GROUPS, F)                                                                      \
    GROUPS(F, tree_walk_dp, SAP_WALK_THREADS) GROUPS(F, tree_selected_dp, SAP_WALK_THREADS)                            \
    EACH(F, tree_bunches_dp, SAP_TREE_THREADS) GROUPS(F, tree_few_dp, SAP_FEW_THREADS)                                 \
    GROUPS(F, tree_crowds_dp, SAP_WALK_THREADS) GROUPS(F, tree_districts_dp, SAP_WALK_THREADS)                         \
    EACH(F, tree_alone_masses, SAP_ALONE_THREADS) EACH(F, tree_alone_moments, SAP_ALONE_THREADS)                       \
    EACH(F, tree_tidal_masses, SAP_ALONE_THREADS) EACH(F, tree_tidal_moments, SAP_ALONE_THREADS)
/* clang-format on */

/* ---- tree_lengths: tree_lengths.h ---- */

#define SAP_K_tree_length_gather(M, V) M(given), M(address), M(length), V(double, unit), V(int, n)
#define SAP_K_tree_length_nodes(M, V)                                                                                  \
    M(node), M(cell), M(length), M(of_node), M(word), V(int, from), V(int, to), V(struct sap_gpu_tree, t)
#define SAP_K_tree_length_groups(M, V) M(length), M(group_first), M(longest), M(heavy), V(int, groups)
#define SAP_K_tree_length_words(M, V)  M(cell), M(of_node), M(word), V(int, nodes), V(struct sap_gpu_tree, t)
#define SAP_K_tree_length_reach(M, V)  M(cell), M(of_node), M(reach), V(double, unit), V(int, nodes)
#define SAP_K_tree_length_fill(M, V)                                                                                   \
    M(entry), M(shift), V(int, shift_at), M(before), M(node), M(of_node), M(given), M(address), V(int, has_address),   \
        M(made), M(made_h), V(int, words), V(double, unit)
#define SAP_K_tree_length_join(M, V)                                                                                   \
    M(made), M(first), V(int, parts), V(int, roots), V(int, halos), M(of_node), V(int, words), V(int, n)
#define SAP_K_tree_soft_nodes(M, V)                                                                                    \
    M(node), M(cell), M(top), M(particle), M(length), M(of_node), M(word), V(int, from), V(int, to),                   \
        V(struct sap_gpu_tree, t)
#define SAP_K_tree_soft_words(M, V) M(cell), M(top), M(of_node), M(word), V(int, nodes), V(struct sap_gpu_tree, t)
#define SAP_K_tree_soft_reach(M, V) M(cell), M(of_node), M(reach), V(int, nodes), V(struct sap_gpu_tree, t)

/* clang-format off */
#define SAP_KERNELS_TREE_LENGTHS(EACH, GROUPS, F)                                                                      \
    EACH(F, tree_length_gather, SAP_TREE_THREADS) EACH(F, tree_length_nodes, SAP_TREE_THREADS)                         \
    EACH(F, tree_length_groups, SAP_TREE_THREADS) EACH(F, tree_length_words, SAP_TREE_THREADS)                         \
    EACH(F, tree_length_reach, SAP_TREE_THREADS) GROUPS(F, tree_length_fill, 32)                                       \
    EACH(F, tree_length_join, SAP_TREE_THREADS)                                                                        \
    EACH(F, tree_soft_nodes, SAP_TREE_THREADS) EACH(F, tree_soft_words, SAP_TREE_THREADS)                              \
    EACH(F, tree_soft_reach, SAP_TREE_THREADS)
/* clang-format on */

/* ---- tree_spline_sp, tree_spline_dp: walks with spline softening ---- */

#define SAP_K_tree_walk_spline_sp(M, V)                                                                                \
    SAP_K_OF_WALKS(M), M(length), M(walker_length), M(longest), V(int, law), V(struct sap_gpu_walk, w),                \
        V(struct sap_gpu_tree, t)
#define SAP_K_tree_walk_whole_spline_sp SAP_K_tree_walk_spline_sp
#define SAP_K_tree_few_spline_sp        SAP_K_tree_walk_spline_sp

/* clang-format off */
#define SAP_KERNELS_TREE_SPLINE_SP(EACH, GROUPS, F)                                                                    \
    GROUPS(F, tree_walk_spline_sp, SAP_WALK_THREADS) GROUPS(F, tree_walk_whole_spline_sp, SAP_WALK_THREADS)            \
    GROUPS(F, tree_few_spline_sp, SAP_FEW_THREADS)
/* clang-format on */

#define SAP_K_tree_walk_spline_dp SAP_K_tree_walk_spline_sp
#define SAP_K_tree_few_spline_dp  SAP_K_tree_walk_spline_sp
#define SAP_K_tree_alone_spline(M, V)                                                                                  \
    SAP_K_OF_ALONE(M, V), M(word), M(length), M(walker_length), V(int, law), V(struct sap_gpu_walk, w),                \
        V(struct sap_gpu_tree, t)
#define SAP_K_tree_tidal_spline(M, V)                                                                                  \
    SAP_K_OF_TIDAL(M, V), M(word), M(length), M(walker_length), V(int, law), V(struct sap_gpu_walk, w),                \
        V(struct sap_gpu_tree, t)

/* clang-format off */
#define SAP_KERNELS_TREE_SPLINE_DP(EACH, GROUPS, F)                                                                    \
    GROUPS(F, tree_walk_spline_dp, SAP_WALK_THREADS) GROUPS(F, tree_few_spline_dp, SAP_FEW_THREADS)                    \
    EACH(F, tree_alone_spline, SAP_ALONE_THREADS) EACH(F, tree_tidal_spline, SAP_ALONE_THREADS)
/* clang-format on */

/* ---- tree_soft_sp, tree_soft_dp: walks with Plummer lengths per particle ---- */

#define SAP_K_tree_walk_soft_sp(M, V)                                                                                  \
    SAP_K_OF_WALKS(M), M(length), M(walker_length), M(soft), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)
#define SAP_K_tree_walk_whole_soft_sp SAP_K_tree_walk_soft_sp
#define SAP_K_tree_few_soft_sp        SAP_K_tree_walk_soft_sp

/* clang-format off */
#define SAP_KERNELS_TREE_SOFT_SP(EACH, GROUPS, F)                                                                      \
    GROUPS(F, tree_walk_soft_sp, SAP_WALK_THREADS) GROUPS(F, tree_walk_whole_soft_sp, SAP_WALK_THREADS)                \
    GROUPS(F, tree_few_soft_sp, SAP_FEW_THREADS)
/* clang-format on */

#define SAP_K_tree_walk_soft_dp SAP_K_tree_walk_soft_sp
#define SAP_K_tree_few_soft_dp  SAP_K_tree_walk_soft_sp
#define SAP_K_tree_alone_soft(M, V)                                                                                    \
    SAP_K_OF_ALONE(M, V), M(length), M(walker_length), M(soft), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)
#define SAP_K_tree_tidal_soft(M, V)                                                                                    \
    SAP_K_OF_TIDAL(M, V), M(length), M(walker_length), M(soft), V(struct sap_gpu_walk, w), V(struct sap_gpu_tree, t)

/* clang-format off */
#define SAP_KERNELS_TREE_SOFT_DP(EACH, GROUPS, F)                                                                      \
    GROUPS(F, tree_walk_soft_dp, SAP_WALK_THREADS) GROUPS(F, tree_few_soft_dp, SAP_FEW_THREADS)                        \
    EACH(F, tree_alone_soft, SAP_ALONE_THREADS) EACH(F, tree_tidal_soft, SAP_ALONE_THREADS)
/* clang-format on */

/* ---- kdtree: kd_large.h, kd_small.h, kd_link.h, kd_groups.h ---- */

#define SAP_K_kd_breaks(M, V)       M(inner), M(leaf), M(flag), V(int, most), V(int, n)
#define SAP_K_kd_group_links(M, V)  M(at), M(count), M(link), M(mark), V(int, count_at), V(int, most), V(int, n)
#define SAP_K_kd_group_marks(M, V)  M(count), M(link), M(further), M(mark), V(int, count_at)
#define SAP_K_kd_group_begins(M, V) M(at), M(count), M(mark), M(flag), V(int, count_at)
#define SAP_K_kd_start(M, V)                                                                                           \
    M(given), M(point), M(address), M(node_of), M(inner), M(leaf), M(large), M(root), M(counter),                      \
        V(struct sap_kd_arguments, b)
#define SAP_K_kd_boxes(M, V) M(point), M(node_of), M(box), V(int, n)
#define SAP_K_kd_join(M, V)  M(box), M(node_of), M(joined), V(int, n)
#define SAP_K_kd_planes(M, V)                                                                                          \
    M(box), M(joined), M(large), M(leaf), M(counter), V(struct sap_kd_arguments, b), V(int, round), V(int, sorts)
#define SAP_K_kd_sort_keys(M, V)   M(point), M(node_of), M(large), M(key), V(int, n)
#define SAP_K_kd_sort_places(M, V) M(node_of), M(large), M(value), M(key), V(int, n)
#define SAP_K_kd_sort_move(M, V)                                                                                       \
    M(node_of), M(large), M(value), V(int, has_values), M(from), M(from_address), M(to), M(to_address), V(int, n)
#define SAP_K_kd_sides(M, V) M(given), M(point), M(node_of), M(large), M(second), V(int, n)
#define SAP_K_kd_children(M, V)                                                                                        \
    M(point), M(large), M(next), M(root), M(inner), M(leaf), M(counter), M(before), V(struct sap_kd_arguments, b),     \
        V(int, round), V(int, side)
#define SAP_K_kd_move(M, V)                                                                                            \
    M(point), M(address), M(node_of), M(large), M(before), M(to), M(to_address), M(to_node_of), M(order), V(int, n)
#define SAP_K_kd_levels(M, V)       M(inner), M(leaf), M(levels), M(count), V(struct sap_kd_arguments, b)
#define SAP_K_kd_level_firsts(M, V) M(count), M(total), M(first), V(int, total_at), V(struct sap_kd_arguments, b)
#define SAP_K_kd_link(M, V)                                                                                            \
    M(inner), M(leaf), M(levels), M(offset), M(node), M(node_level), V(struct sap_kd_arguments, b)
#define SAP_K_kd_count_children(M, V) M(node), M(node_level), M(level_first), V(int, nodes)
#define SAP_K_kd_small(M, V)                                                                                           \
    M(point), M(other_point), M(address), M(other_address), M(roots), M(inner), M(leaf), M(order),                     \
        V(struct sap_kd_arguments, b)

/* clang-format off */
#define SAP_KERNELS_KDTREE(EACH, GROUPS, F)                                                                            \
    EACH(F, kd_breaks, SAP_KD_TILE) GROUPS(F, kd_group_links, SAP_KD_TILE) GROUPS(F, kd_group_marks, SAP_KD_TILE)      \
    GROUPS(F, kd_group_begins, SAP_KD_TILE) EACH(F, kd_start, SAP_KD_TILE) GROUPS(F, kd_boxes, SAP_KD_NODE_THREADS)    \
    GROUPS(F, kd_join, SAP_KD_JOINED) GROUPS(F, kd_planes, SAP_KD_NODE_THREADS) EACH(F, kd_sort_keys, SAP_KD_TILE)     \
    EACH(F, kd_sort_places, SAP_KD_TILE) EACH(F, kd_sort_move, SAP_KD_TILE) EACH(F, kd_sides, SAP_KD_TILE)             \
    GROUPS(F, kd_children, SAP_KD_NODE_THREADS) EACH(F, kd_move, SAP_KD_TILE) GROUPS(F, kd_levels, SAP_TREE_THREADS)   \
    GROUPS(F, kd_level_firsts, SAP_TREE_THREADS) GROUPS(F, kd_link, SAP_TREE_THREADS)                                  \
    EACH(F, kd_count_children, SAP_KD_TILE) GROUPS(F, kd_small, SAP_KD_SMALL)
/* clang-format on */

/* ---- stepper: stepper.h ---- */

#define SAP_K_stepper_look(M, V)    M(v), M(particle), M(bad), V(int, n)
#define SAP_K_stepper_arrange(M, V) M(x), M(mass), M(slot), M(particle), V(int, n)
#define SAP_K_stepper_predict(M, V)                                                                                    \
    M(x), M(v), M(a), M(level), M(slot), M(particle), M(sizes), M(bad), V(int, has_sizes), V(int, done), V(int, n),    \
        V(struct sap_stepper_order, order), V(struct sap_step, s)
#define SAP_K_stepper_columns(M, V) M(particle), M(x), M(mass), V(int, n)
#define SAP_K_stepper_own(M, V)                                                                                        \
    M(x), M(a), M(slot), M(sizes), V(int, n), V(struct sap_stepper_order, order), V(struct sap_field_list, fields)
#define SAP_K_stepper_flag(M, V)                                                                                       \
    M(level), M(address), M(flag), V(int, coarsest), V(int, n), V(struct sap_stepper_order, order)
#define SAP_K_stepper_targets(M, V)                                                                                    \
    M(particle), M(active), M(to), V(double, eps2), V(int, has_active), V(int, massive), V(int, before),               \
        V(int, beyond), V(int, rows)
#define SAP_K_stepper_soften(M, V)  M(soft), M(active), M(to), V(int, has_active), V(int, rows)
#define SAP_K_stepper_units(M, V)   M(particle), M(to), V(double, length), V(double, mass), V(int, n)
#define SAP_K_stepper_results(M, V) M(sum), M(row_a), M(row_pot), V(double, acc), V(double, pot), V(int, rows)
#define SAP_K_stepper_massless(M, V)                                                                                   \
    M(particle), M(sizes), M(active), M(to), M(to_sizes), V(int, has_active), V(int, has_sizes), V(int, first),        \
        V(int, rows), V(struct sap_stepper_range, range)
#define SAP_K_stepper_join(M, V)                                                                                       \
    M(acc), M(pot), M(particle), M(active), M(row_a), M(row_pot), V(int, has_active), V(int, is_massless),             \
        V(int, first), V(int, rows), V(struct sap_stepper_range, range)
#define SAP_K_stepper_lengths(M, V)                                                                                    \
    M(lengths), M(active), M(to), M(row_a), M(row_pot), V(int, has_active), V(int, erases), V(int, first),             \
        V(int, rows), V(struct sap_stepper_range, range)
#define SAP_K_stepper_judge(M, V)                                                                                      \
    M(particle), M(v), M(a), M(level), M(active), M(address), M(row_a), M(row_pot), M(reach), M(row_level), M(told),   \
        V(int, has_active), V(int, has_reach), V(int, massive), V(int, rows), V(struct sap_stepper_order, order),      \
        V(struct sap_step, s), V(struct sap_step_rule, common), V(struct sap_field_list, fields)
#define SAP_K_stepper_commit(M, V)                                                                                     \
    M(x), M(v), M(a), M(pot), M(level), M(active), M(address), M(row_a), M(row_pot), M(row_level), V(int, has_active), \
        V(int, rows), V(struct sap_stepper_order, order), V(struct sap_step, s)
#define SAP_K_stepper_at(M, V) M(x), M(v), M(a), M(level), M(to_x), M(to_v), V(int, n), V(struct sap_step, s)
#define SAP_K_stepper_sums(M, V)                                                                                       \
    M(x), M(v), M(a), M(level), M(slot), M(particle), M(pot), M(out), V(int, forced), V(int, n),                       \
        V(struct sap_stepper_order, order), V(struct sap_step, s), V(struct sap_field_list, fields)

/* clang-format off */
#define SAP_KERNELS_STEPPER(EACH, GROUPS, F)                                                                           \
    EACH(F, stepper_look, SAP_STEPPER_THREADS) EACH(F, stepper_arrange, SAP_STEPPER_THREADS)                           \
    EACH(F, stepper_predict, SAP_STEPPER_THREADS) EACH(F, stepper_own, SAP_STEPPER_THREADS)                            \
    EACH(F, stepper_columns, SAP_STEPPER_THREADS)                                                                      \
    EACH(F, stepper_flag, SAP_STEPPER_THREADS) EACH(F, stepper_targets, SAP_STEPPER_THREADS)                           \
    EACH(F, stepper_units, SAP_STEPPER_THREADS) EACH(F, stepper_results, SAP_STEPPER_THREADS)                          \
    EACH(F, stepper_massless, SAP_STEPPER_THREADS) EACH(F, stepper_join, SAP_STEPPER_THREADS)                          \
    EACH(F, stepper_soften, SAP_STEPPER_THREADS) EACH(F, stepper_lengths, SAP_STEPPER_THREADS)                         \
    EACH(F, stepper_judge, SAP_STEPPER_THREADS) EACH(F, stepper_commit, SAP_STEPPER_THREADS)                           \
    EACH(F, stepper_at, SAP_STEPPER_THREADS) EACH(F, stepper_sums, SAP_STEPPER_THREADS)
/* clang-format on */

/* ---- hermite: hermite.h ---- */

#define SAP_K_hermite_send(M, V)                                                                                       \
    M(x), M(v), M(a), M(higher), M(level), M(particle), M(address), M(store), V(int, n),                               \
        V(struct sap_hermite_force, f), V(struct sap_stepper_order, order), V(struct sap_step, s),                     \
        V(struct sap_hermite_units, u)
#define SAP_K_hermite_soften(M, V) M(soft), M(active), M(to), V(struct sap_hermite_force, f)
#define SAP_K_hermite4_targets(M, V)                                                                                   \
    M(x), M(v), M(a), M(higher), M(level), M(active), M(address), M(to), M(told), V(struct sap_hermite_force, f),      \
        V(struct sap_stepper_order, order), V(struct sap_step, s), V(struct sap_hermite_units, u)
#define SAP_K_hermite6_targets SAP_K_hermite4_targets
#define SAP_K_hermite8_targets SAP_K_hermite4_targets
#define SAP_K_hermite4_judge(M, V)                                                                                     \
    M(x), M(v), M(a), M(higher), M(level), M(active), M(address), M(sum), M(near), M(row_d), M(row_pot), M(row_level), \
        M(told), M(out), V(struct sap_hermite_force, f), V(struct sap_stepper_order, order), V(struct sap_step, s),    \
        V(struct sap_hermite_rule, rule), V(struct sap_hermite_units, u), V(struct sap_field_list, fields)
#define SAP_K_hermite6_judge SAP_K_hermite4_judge
#define SAP_K_hermite8_judge SAP_K_hermite4_judge
#define SAP_K_hermite4_at(M, V)                                                                                        \
    M(x), M(v), M(a), M(higher), M(level), M(to_x), M(to_v), V(int, n), V(struct sap_step, s)
#define SAP_K_hermite6_at SAP_K_hermite4_at
#define SAP_K_hermite8_at SAP_K_hermite4_at
#define SAP_K_hermite_commit(M, V)                                                                                     \
    M(x), M(v), M(a), M(higher), M(pot), M(level), M(store), M(active), M(address), M(row_d), M(row_pot),              \
        M(row_level), M(near), M(number), M(nearest), M(nearest_r2), M(told), V(struct sap_hermite_force, f),          \
        V(struct sap_stepper_order, order), V(struct sap_step, s), V(struct sap_hermite_units, u)
#define SAP_K_hermite_share(M, V)                                                                                      \
    M(x), M(v), M(a), M(higher), M(level), M(particle), M(soft), M(row_d), M(active), M(address), M(to),               \
        V(struct sap_hermite_force, f), V(struct sap_hermite_records, r), V(struct sap_stepper_order, order),          \
        V(struct sap_step, s)
#define SAP_K_hermite_join(M, V)                                                                                       \
    M(own), M(all), M(store), M(number), V(struct sap_hermite_force, f), V(struct sap_hermite_records, r),             \
        V(struct sap_hermite_units, u)
#define SAP_K_hermite_again(M, V)                                                                                      \
    M(row_d), M(active), M(told), M(store), M(to), V(struct sap_hermite_force, f), V(struct sap_step, s),              \
        V(struct sap_hermite_units, u)
#define SAP_K_hermite_pots(M, V)                                                                                       \
    M(sum), M(address), M(pot), V(double, unit), V(int, n), V(struct sap_stepper_order, order)
#define SAP_K_hermite_jerks(M, V)                                                                                      \
    M(x), M(v), M(level), M(sum), M(address), M(a), M(higher), V(struct sap_hermite_force, f),                         \
        V(struct sap_stepper_order, order), V(struct sap_step, s), V(struct sap_hermite_units, u),                     \
        V(struct sap_field_list, fields)
#define SAP_K_hermite_sums(M, V)                                                                                       \
    M(x), M(v), M(slot), M(particle), M(pot), M(out), V(int, forced), V(double, unit), V(int, n),                      \
        V(struct sap_stepper_order, order), V(struct sap_field_list, fields)

/* clang-format off */
#define SAP_KERNELS_HERMITE(EACH, EARLY, F)                                                                            \
    EACH(F, hermite_send, SAP_STEPPER_THREADS) EACH(F, hermite_soften, SAP_STEPPER_THREADS)                            \
    EARLY(F, hermite4_targets, SAP_STEPPER_THREADS)                                                                    \
    EARLY(F, hermite6_targets, SAP_STEPPER_THREADS) EARLY(F, hermite8_targets, SAP_STEPPER_THREADS)                    \
    EARLY(F, hermite4_judge, SAP_STEPPER_THREADS) EARLY(F, hermite6_judge, SAP_STEPPER_THREADS)                        \
    EARLY(F, hermite8_judge, SAP_STEPPER_THREADS) EACH(F, hermite4_at, SAP_STEPPER_THREADS)                            \
    EACH(F, hermite6_at, SAP_STEPPER_THREADS) EACH(F, hermite8_at, SAP_STEPPER_THREADS)                                \
    EARLY(F, hermite_commit, SAP_STEPPER_THREADS) EACH(F, hermite_jerks, SAP_STEPPER_THREADS)                          \
    EACH(F, hermite_share, SAP_STEPPER_THREADS) EACH(F, hermite_join, SAP_STEPPER_THREADS)                             \
    EACH(F, hermite_again, SAP_STEPPER_THREADS)                                                                        \
    EACH(F, hermite_pots, SAP_STEPPER_THREADS) EACH(F, hermite_sums, SAP_STEPPER_THREADS)
/* clang-format on */

#endif
