/*
 * internals.h - the functions of libsapporo that libsapporo_mpi calls and no public header declares, as one table.
 *
 * The shared library hides the functions themselves.  libsapporo_mpi refuses to work with a libsapporo of another
 * version, or with another table.  A row of SAP_INTERNALS is the name of a function without its sap_.
 */
#ifndef SAP_CONTEXT_INTERNALS_H
#define SAP_CONTEXT_INTERNALS_H

#include <stddef.h>
#include <string.h>

#include "context/caller.h"
#include "context/partial.h"
#include "context/stepper_part.h"
#include "context/travel.h"
#include "context/tree_bodies.h"
#include "context/tree_part.h"
#include "context/tree_port.h"

/* clang-format off */
#define SAP_INTERNALS(ROW) \
    ROW(caller_give_results) ROW(caller_take_columns) ROW(caller_take_particles) ROW(caller_take_request) \
    ROW(caller_take_results) ROW(context_is_mixed) ROW(partial_begin) ROW(partial_end) ROW(partial_first_lost) ROW(partial_keep_engine) ROW(partial_loop) \
    ROW(partial_parts) ROW(partial_read) ROW(partial_store) ROW(whole_begin) \
    ROW(close_pairs) ROW(stepper_part_close) ROW(stepper_part_create) ROW(stepper_part_pots) ROW(stepper_part_read) ROW(stepper_part_restore) ROW(stepper_part_saved) \
    ROW(travel_device) ROW(travel_enter) ROW(travel_facts) ROW(travel_hold) ROW(travel_leave) ROW(travel_pack) \
    ROW(travel_packed) ROW(travel_read) ROW(travel_started) ROW(travel_state) ROW(travel_stream) ROW(travel_take) \
    ROW(travel_write) \
    ROW(part_import) ROW(part_join) ROW(part_pull) ROW(part_regions) ROW(part_select) \
    ROW(part_selected) ROW(part_selects) ROW(part_settings) ROW(part_structure) \
    ROW(part_walk) ROW(part_walked) \
    ROW(port_device) ROW(port_enter) ROW(port_hold) ROW(port_join) ROW(port_leave) ROW(port_made) ROW(port_read) \
    ROW(port_receive) ROW(port_records) ROW(port_started) ROW(port_state) ROW(port_stream) ROW(port_write) \
    ROW(bodies_able) ROW(bodies_answer) ROW(bodies_arrive) ROW(bodies_below) ROW(bodies_copy) ROW(bodies_deliver) ROW(bodies_erase) \
    ROW(bodies_grow) ROW(bodies_know) ROW(bodies_learn) ROW(bodies_look) ROW(bodies_order) ROW(bodies_places) \
    ROW(bodies_send) ROW(bodies_sort) ROW(bodies_take) ROW(bodies_tell)
/* clang-format on */

struct sap_internals {
    size_t size; /* of this struct */
#define SAP_INTERNALS_MEMBER(name) __typeof__(sap_##name) *name;
    SAP_INTERNALS(SAP_INTERNALS_MEMBER)
#undef SAP_INTERNALS_MEMBER
};

/* The table; static storage. */
SAPPORO_API const struct sap_internals *sapporo_internals(void);

/* Returns 1 if libsapporo has the version and the table with which the calling library was compiled. */
static inline int sap_internals_fit(void)
{
    return strcmp(sapporo_version(), SAPPORO_VERSION) == 0 && sapporo_internals()->size == sizeof(struct sap_internals);
}

#endif
