/* tree_options.c - reads the options of a tree. */
#include "engine/tree_options.h"

#include <math.h>

#include "base/structs.h"
#include "engine/softening.h"
#include "engine/tree_error.h"
#include "engine/tree_limits.h"
#include "engine/tree_macs.h"
#include "physics/tree_parts.h"

const char *sap_tree_kind_word(sapporo_tree_kind kind) { return kind == SAPPORO_TREE_KDTREE ? "kdtree" : "octree"; }

int sap_tree_group_most(const struct sap_tree_settings *tree)
{
    return tree->kind == SAPPORO_TREE_KDTREE ? tree->group_size + tree->group_size / 2 : tree->group_size;
}

/* Two groups of a kd-tree that follow each other have more particles than a group may have. */
size_t sap_tree_groups_most(const struct sap_tree_settings *tree, int n)
{
    const size_t each = tree->kind == SAPPORO_TREE_KDTREE ? 2 : 1;
    const size_t halves = tree->splits ? (size_t)n / SAP_GROUP_LEAST : 0;
    return each * ((size_t)n / (size_t)tree->group_size) + halves + 2;
}

/*
 * Default sizes of a leaf and of a group: the fastest for Hernquist's and Plummer's models on AVX-512 and AVX2
 * (docs/decisions.md).
 */
enum { LEAF = 16, KD_LEAF = 8, GROUP = 64 };

static int default_leaf(sapporo_tree_kind kind) { return kind == SAPPORO_TREE_KDTREE ? KD_LEAF : LEAF; }

static int bad(struct sap_notes *notes, const char *name, long long value, long long low, long long high)
{
    return sap_error(notes, SAPPORO_ERR_ARGUMENT, "%s of a tree is %lld; it may be %lld to %lld", name, value, low,
                     high);
}

/* Returns the bound of groups of a criterion; particles that walk alone have none. */
static sapporo_tree_ball default_ball(const struct sap_tree_settings *t)
{
    return t->walk == SAPPORO_WALK_GROUPS ? (sapporo_tree_ball)sap_mac_row(t->mac).ball : SAPPORO_BALL_SMALLER;
}

static int check_error(const sapporo_tree_options *o, struct sap_notes *notes)
{
    if (o->error == 0) return SAPPORO_OK;
    if (!(o->error >= SAP_ERROR_LEAST && o->error <= SAP_ERROR_MOST))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "error of a tree is %g; it may be %g to %g, or 0", o->error,
                         SAP_ERROR_LEAST, SAP_ERROR_MOST);
    if (o->accuracy > 0)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "a tree has either an accuracy, %g, or an error, %g", o->accuracy,
                         o->error);
    if (o->mac && o->mac != SAPPORO_MAC_ACCELERATION)
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "mac of a tree is %d; with an error it may be 0 or %d",
                         (int)o->mac, (int)SAPPORO_MAC_ACCELERATION);
    return SAPPORO_OK;
}

static int check_period(const sapporo_tree_options *o, struct sap_notes *notes)
{
    if (o->period == 0) return SAPPORO_OK;
    if (!(o->period >= SAP_PERIOD_LEAST && o->period <= SAP_PERIOD_MOST))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "period of a tree is %g; it may be %g to %g, or 0", o->period,
                         SAP_PERIOD_LEAST, SAP_PERIOD_MOST);
    if (4 * o->eps2 < o->period * o->period) return SAPPORO_OK;
    return sap_error(notes, SAPPORO_ERR_ARGUMENT,
                     "eps2 of a tree of period %g is %g; the softening length must be below half the period", o->period,
                     o->eps2);
}

static int check(const sapporo_tree_options *o, struct sap_notes *notes)
{
    const struct {
        const char *name;
        long long value, high;
    } field[] = {{"kind", o->kind, SAPPORO_TREE_KDTREE},
                 {"mac", o->mac, SAP_MAC_COUNT},
                 {"order", o->order, 2},
                 {"leaf_size", o->leaf_size, SAP_LEAF_MOST},
                 {"group_size", o->group_size, SAP_GROUP_MOST},
                 {"precision", o->precision, SAPPORO_DP},
                 {"softening", o->softening, SAP_SOFTENING_LAST},
                 {"ball in experiments", o->experiments & 15, SAPPORO_BALL_NONE},
                 {"walk in experiments", o->experiments >> 4 & 15, SAPPORO_WALK_STACKLESS},
                 {"curve in experiments", o->experiments >> 8, SAPPORO_CURVE_MORTON}};
    for (size_t k = 0; k < sizeof field / sizeof field[0]; k++)
        if (field[k].value < 0 || field[k].value > field[k].high)
            return bad(notes, field[k].name, field[k].value, 0, field[k].high);
    if (!(o->accuracy >= 0 && o->accuracy <= 1e30))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "accuracy of a tree is %g; it is a number > 0", o->accuracy);
    int status = check_error(o, notes);
    if (!status) status = check_period(o, notes);
    if (status) return status;
    if (!(o->group_extent >= 0))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "group_extent of a tree is %g; it is a length > 0, or 0",
                         o->group_extent);
    if (!(o->eps2 >= 0 && o->eps2 <= SAP_TREE_LIMIT * SAP_TREE_LIMIT))
        return sap_error(notes, SAPPORO_ERR_ARGUMENT, "eps2 of a tree is %g; it may be 0 to 1e200", o->eps2);
    return SAPPORO_OK;
}

/* Returns the criterion of a tree; an accuracy without a criterion is an opening angle, as in other codes. */
static sapporo_tree_mac criterion_of(const sapporo_tree_options *o)
{
    if (o->mac) return o->mac;
    return o->accuracy > 0 ? SAPPORO_MAC_OPENING : SAPPORO_MAC_ACCELERATION;
}

/* Returns the accuracy of a criterion. */
static double accuracy_of(const sapporo_tree_options *o, sapporo_tree_mac mac)
{
    if (o->error > 0) return sap_error_first(o->order == 1 ? 1 : 2, o->error);
    return o->accuracy > 0 ? o->accuracy : sap_mac_row(mac).accuracy;
}

static void fill(const sapporo_tree_options *o, struct sap_tree_settings *t)
{
    t->kind = o->kind ? o->kind : SAPPORO_TREE_OCTREE;
    t->mac = criterion_of(o);
    t->accuracy = accuracy_of(o, t->mac);
    t->error = o->error;
    t->order = o->order ? o->order : 2;
    t->eps2 = o->eps2 < SAP_TREE_LEAST_EPS2 ? 0 : o->eps2;
    t->leaf_size = o->leaf_size ? o->leaf_size : default_leaf(t->kind);
    t->group_size = o->group_size ? o->group_size : GROUP;
    t->softening = o->softening;
    t->period = o->period;
    t->splits = o->group_extent > 0 && isfinite(o->group_extent);
    t->group_extent = t->splits ? o->group_extent : 0;
    t->walk = (o->experiments >> 4 & 15) == SAPPORO_WALK_STACKLESS ? SAPPORO_WALK_STACKLESS : SAPPORO_WALK_GROUPS;
    t->ball = (o->experiments & 15) ? (sapporo_tree_ball)(o->experiments & 15) : default_ball(t);
    t->bunch_ball = (o->experiments & 15) ? t->ball : SAPPORO_BALL_NONE;
    t->curve = o->experiments >> 8 == SAPPORO_CURVE_MORTON ? SAPPORO_CURVE_MORTON : SAPPORO_CURVE_HILBERT;
}

int sap_tree_options_read(const sapporo_tree_options *options, struct sap_settings *settings,
                          struct sap_tree_settings *tree, struct sap_notes *notes)
{
    sapporo_tree_options o = {.size = sizeof o};
    if (options) {
        const int status = sap_struct_copy(&o, sizeof o, options, sizeof options->size);
        if (status) return sap_struct_error(notes, status, "sapporo_tree_options", options);
    }
    int status = check(&o, notes);
    if (status) return status;
    fill(&o, tree);
    const sapporo_options base = {.size = sizeof base,
                                  .order = 2,
                                  .precision = o.precision,
                                  .backend = o.backend,
                                  .devices = o.devices,
                                  .ndevices = o.ndevices,
                                  .preferred_device = o.preferred_device,
                                  .cpu_isa = o.cpu_isa,
                                  .threads = o.threads,
                                  .gravitational_constant = o.gravitational_constant};
    status = sap_settings_read(settings, &base, notes);
    tree->gravity = settings->gravity;
    const int needs_double = o.error > 0 && o.error < SAP_ERROR_DOUBLE;
    /* ds that was asked for is served in double; ds by default, as direct sums have it, is sp */
    if (settings->precision == SAPPORO_DS)
        settings->precision = settings->mixed && !needs_double ? SAPPORO_SP : SAPPORO_DP;
    settings->mixed = 0;
    tree->precision = settings->precision;
    return status;
}
