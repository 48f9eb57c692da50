/*
 * snapshot_hdf5_read.c - reads particles from HDF5 (snapshot_hdf5.h).
 *
 * The size of a data set is compared with the header and with the bytes that are stored before memory is allocated, so
 * that no damaged file asks for more than the particles need.
 */
#include "snapshot_hdf5.h"

#ifdef SNAPSHOT_HDF5_BUILT

#include <hdf5.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TYPES = 6,           /* PartType0 to PartType5 */
    TYPES_MAX = 16,      /* entries of arrays in the header */
    PATH_ROOM = 64,      /* of a data set */
    RATIO_MOST = 1 << 20 /* bytes of numbers per stored byte: no filter reaches that */
};

/* A file that is read. */
typedef struct input {
    const char *name;
    hid_t file;
    bodies *set;
    message *about;
    int count[TYPES], first[TYPES]; /* particles of each type, the first one in the set */
    double mass[TYPES];             /* of all particles of a type; 0: a data set tells */
} input;

/* ---- attributes --------------------------------------------------------------------------- */

/* Opens a group or data set inside the file; -1 if it is not there, or behind a link to another file. */
static hid_t open_object(hid_t at, const char *name)
{
    H5L_info_t link;
    if (H5Lexists(at, name, H5P_DEFAULT) <= 0 || H5Lget_info(at, name, &link, H5P_DEFAULT) < 0) return -1;
    return link.type == H5L_TYPE_HARD || link.type == H5L_TYPE_SOFT ? H5Oopen(at, name, H5P_DEFAULT) : -1;
}

/* Reads at most `most` values of an open attribute; returns their number, or -1. */
static int read_values(hid_t attribute, double *value, int most)
{
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const H5T_class_t class = H5Tget_class(type);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    const int fits = (class == H5T_INTEGER || class == H5T_FLOAT) && n >= 1 && n <= most;
    const int read = fits && H5Aread(attribute, H5T_NATIVE_DOUBLE, value) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    return read ? (int)n : -1;
}

/* Reads the values of an attribute; returns their number, 0 if there is none, -1 if it has another form. */
static int get_values(const input *in, const char *group, const char *name, double *value, int most)
{
    const hid_t at = open_object(in->file, group);
    int n = 0;
    if (at < 0) return 0;
    if (H5Aexists(at, name) > 0) {
        const hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
        n = attribute < 0 ? -1 : read_values(attribute, value, most);
        if (attribute >= 0) H5Aclose(attribute);
    }
    H5Oclose(at);
    return n;
}

/* Returns a positive finite number from an attribute; 0: there is none. */
static double get_positive(const input *in, const char *group, const char *name)
{
    double value = 0;
    return get_values(in, group, name, &value, 1) == 1 && value > 0 && isfinite(value) ? value : 0;
}

/* Reads an attribute of text, "" if there is none, or if it has control characters. */
static void get_text(const input *in, const char *group, const char *name, char text[BODIES_REMARK])
{
    const hid_t at = open_object(in->file, group);
    memset(text, 0, BODIES_REMARK);
    if (at < 0) return;
    const hid_t attribute = H5Aexists(at, name) > 0 ? H5Aopen(at, name, H5P_DEFAULT) : -1;
    if (attribute >= 0) {
        const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute), mine = H5Tcopy(H5T_C_S1);
        const int is_text = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
                            H5Sget_simple_extent_npoints(space) == 1;
        H5Tset_size(mine, BODIES_REMARK);
        if (is_text) H5Tset_cset(mine, H5Tget_cset(type));
        if (!is_text || H5Aread(attribute, mine, text) < 0) text[0] = 0;
        H5Tclose(type);
        H5Tclose(mine);
        H5Sclose(space);
        H5Aclose(attribute);
    }
    H5Oclose(at);
    text[BODIES_REMARK - 1] = 0;
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) text[0] = 0;
}

/* ---- header ------------------------------------------------------------------------------- */

/* Reads an array over types of particles; types that it does not name have 0. */
static int get_types(input *in, const char *name, double value[TYPES_MAX])
{
    memset(value, 0, TYPES_MAX * sizeof *value);
    const int n = get_values(in, "Header", name, value, TYPES_MAX);
    return n >= 0 ? n : complain(in->about, "%s: Header/%s is no list of numbers per type of particle", in->name, name);
}

static int read_counts(input *in)
{
    double count[TYPES_MAX], total = 0;
    const int n = get_types(in, "NumPart_ThisFile", count);
    if (n < 0) return -1;
    if (n == 0)
        return complain(in->about, "%s: there is no Header/NumPart_ThisFile; snapshots of GADGET-4 and SWIFT have it",
                        in->name);
    for (int k = 0; k < TYPES_MAX; k++) {
        if (!(count[k] >= 0)) return complain(in->about, "%s: Header/NumPart_ThisFile is negative", in->name);
        if (k >= TYPES && count[k] > 0)
            return complain(in->about, "%s: there are particles of PartType%d; only PartType0 to PartType5 are known",
                            in->name, k);
        total += count[k];
    }
    if (total > INT_MAX)
        return complain(in->about, "%s: Header/NumPart_ThisFile: %.10g particles are too many, at most %d are possible",
                        in->name, total, INT_MAX);
    if (total == 0) return complain(in->about, "%s: there are no particles in this file", in->name);
    for (int k = 0, next = 0; k < TYPES; k++) {
        in->count[k] = (int)count[k];
        in->first[k] = next;
        next += in->count[k];
    }
    return 0;
}

static int read_masses(input *in)
{
    double mass[TYPES_MAX];
    if (get_types(in, "MassTable", mass) < 0) return -1;
    for (int k = 0; k < TYPES; k++) {
        if (!(mass[k] >= 0) || !isfinite(mass[k]))
            return complain(in->about, "%s: Header/MassTable: %g is no mass", in->name, mass[k]);
        in->mass[k] = mass[k];
    }
    return 0;
}

/* Refuses what makes other numbers than positions, velocities and masses of the whole system. */
static int refuse_others(const input *in)
{
    double files = 1, comoving = 0, cosmology = 0, redshift = 0;
    (void)get_values(in, "Header", "NumFilesPerSnapshot", &files, 1);
    (void)get_values(in, "Header", "Redshift", &redshift, 1);
    (void)get_values(in, "Parameters", "ComovingIntegrationOn", &comoving, 1);
    (void)get_values(in, "Cosmology", "Cosmological run", &cosmology, 1);
    if (files > 1)
        return complain(in->about,
                        "%s: this is one of %.10g files of a snapshot; only snapshots in one file can be read",
                        in->name, files);
    if (comoving != 0 || cosmology != 0 || redshift > 0)
        return complain(in->about, "%s: this is a cosmological snapshot, in comoving coordinates", in->name);
    return 0;
}

static int read_time(input *in)
{
    const int n = get_values(in, "Header", "Time", &in->set->time, 1);
    if (n >= 0 && isfinite(in->set->time)) return 0;
    return complain(in->about, "%s: Header/Time is no finite number", in->name);
}

/* Reads the units in cgs.  SWIFT names that of time; GADGET-4 and its kin name that of velocity.  -1: none. */
static int read_cgs(const input *in, cgs_units *units)
{
    static const char *const place[][4] = {
        {"Parameters", "UnitMass_in_g", "UnitLength_in_cm", "UnitVelocity_in_cm_per_s"},
        {"Units", "UnitMass_in_g", "UnitLength_in_cm", "UnitVelocity_in_cm_per_s"},
        {"Header", "UnitMass_in_g", "UnitLength_in_cm", "UnitVelocity_in_cm_per_s"},
        {"Header", "UnitMass_In_CGS", "UnitLength_In_CGS", "UnitVelocity_In_CGS"}};
    const double time = get_positive(in, "Units", "Unit time in cgs (U_t)");
    *units = (cgs_units){.mass = get_positive(in, "Units", "Unit mass in cgs (U_M)"),
                         .length = get_positive(in, "Units", "Unit length in cgs (U_L)")};
    units->velocity = time > 0 ? units->length / time : 0;
    for (int k = 0; !(units->mass > 0 && units->velocity > 0) && k < (int)(sizeof place / sizeof *place); k++)
        *units = (cgs_units){.mass = get_positive(in, place[k][0], place[k][1]),
                             .length = get_positive(in, place[k][0], place[k][2]),
                             .velocity = get_positive(in, place[k][0], place[k][3])};
    return units->mass > 0 && units->length > 0 && units->velocity > 0 ? 0 : -1;
}

/* Reads the units and the gravitational constant, where the file tells them. */
static void read_units(input *in)
{
    cgs_units units;
    const double own = get_positive(in, "Parameters", "GravityConstantInternal");
    const double swift = get_positive(in, "PhysicalConstants/CGS", "newton_G");
    get_text(in, "Header", "sapporo_units", in->set->units);
    get_text(in, "Header", "sapporo_parts", in->set->parts);
    in->set->G = own;
    if (read_cgs(in, &units)) return;
    const double G = cgs_units_constant(&units, swift > 0 ? swift : CGS_G);
    if (!(G > 0) || !isfinite(G)) return;
    /* A run whose G is its own, such as 1, has no units, though GADGET-4 writes its defaults. */
    const int agree = own == 0 || fabs(own - G) <= 1e-3 * G;
    if (agree && !in->set->units[0]) cgs_units_print(&units, in->set->units);
    if (own == 0) in->set->G = G;
}

/* Names the types as components if the ids count them in their order, as a remark of components needs it. */
static void name_parts(const input *in)
{
    static const char *const name[TYPES] = {"gas", "halo", "disc", "bulge", "stars", "holes"};
    char parts[BODIES_REMARK] = "";
    int found = 0;
    for (int k = 0; k < TYPES; k++) {
        const size_t used = strlen(parts);
        const int first = in->first[k], behind = first + in->count[k];
        if (in->count[k] == 0) continue;
        for (int i = first; i < behind; i++)
            if (in->set->id[i] <= first || in->set->id[i] > behind) return;
        snprintf(parts + used, sizeof parts - used, "%s%s %d", found++ ? ", " : "", name[k], in->count[k]);
    }
    if (found > 1 && !in->set->parts[0]) memcpy(in->set->parts, parts, sizeof parts);
}

/* ---- data sets ---------------------------------------------------------------------------- */

static void data_name(char path[PATH_ROOM], int type, const char *name)
{
    snprintf(path, PATH_ROOM, "PartType%d/%s", type, name);
}

/* Returns why an open data set cannot be read, NULL if it can; *stored: bytes in the file. */
static const char *refuse_storage(hid_t data, double bytes)
{
    const char *why = NULL;
    const hid_t list = H5Dget_create_plist(data);
    if (list < 0) return "its description is damaged";
    const H5D_layout_t layout = H5Pget_layout(list);
    const double stored = (double)H5Dget_storage_size(data);
    if (layout < 0)
        why = "its description is damaged";
    else if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
        why = "it is a virtual data set, whose numbers are in other files";
    else if (H5Pget_external_count(list) != 0)
        why = "its numbers are in other files";
    else if (H5Pall_filters_avail(list) <= 0)
        why = "it is compressed by a filter that libhdf5 does not have here";
    else if (stored <= 0 || bytes > stored * RATIO_MOST)
        why = "not all of its numbers are in the file";
    H5Pclose(list);
    return why;
}

/* Returns why an open data set is not what is wanted, NULL if it is. */
static const char *refuse_form(hid_t data, H5T_class_t wanted, int rows, int columns)
{
    const hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    const H5T_class_t class = H5Tget_class(type);
    hsize_t size[2] = {0, 1};
    const int axes = H5Sget_simple_extent_ndims(space);
    const int fits = axes >= 1 && axes <= 2 && H5Sget_simple_extent_dims(space, size, NULL) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    if (class != wanted)
        return wanted == H5T_FLOAT ? "its numbers are not float or double" : "its numbers are not whole";
    if (!fits || size[1] != (hsize_t)columns)
        return columns == 1 ? "it must have one number per particle" : "it must have three numbers per particle";
    if (size[0] != (hsize_t)rows) return "its number of particles is not that of Header/NumPart_ThisFile";
    return refuse_storage(data, (double)rows * columns);
}

/*
 * Reads or, if `to` is NULL, checks a data set of a type.  1: it is there; 0: it is not; -1: an error, with a message.
 */
static int get_data(const input *in, int type, const char *name, int columns, void *to)
{
    const int whole = !strcmp(name, "ParticleIDs");
    char path[PATH_ROOM], group[PATH_ROOM];
    data_name(path, type, name);
    snprintf(group, sizeof group, "PartType%d", type);
    const hid_t parent = open_object(in->file, group), data = parent < 0 ? -1 : open_object(parent, name);
    if (parent >= 0) H5Oclose(parent);
    if (data < 0) return 0;
    const char *why = H5Iget_type(data) != H5I_DATASET
                          ? "it is no data set"
                          : refuse_form(data, whole ? H5T_INTEGER : H5T_FLOAT, in->count[type], columns);
    if (!why && to &&
        H5Dread(data, whole ? H5T_NATIVE_LLONG : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
        why = "it cannot be read: the file is damaged or not complete";
    H5Oclose(data);
    return why ? complain(in->about, "%s: %s: %s", in->name, path, why) : 1;
}

/* Checks or reads a data set that must be there. */
static int need_data(const input *in, int type, const char *name, int columns, void *to)
{
    const int found = get_data(in, type, name, columns, to);
    if (found == 0) return complain(in->about, "%s: there is no PartType%d/%s", in->name, type, name);
    return found < 0 ? -1 : 0;
}

/* Reads masses, from the first data set of two that is there, or the table; to NULL: checks that there are some. */
static int get_masses(const input *in, int type, double *to)
{
    int found = get_data(in, type, "Masses", 1, to);
    if (!found) found = get_data(in, type, "DynamicalMasses", 1, to); /* black holes of SWIFT */
    if (found) return found < 0 ? -1 : 0;
    if (!(in->mass[type] > 0))
        return complain(in->about, "%s: there is no PartType%d/Masses, and Header/MassTable has no mass of that type",
                        in->name, type);
    for (int k = 0; to && k < in->count[type]; k++) to[k] = in->mass[type];
    return 0;
}

/* Reads ids; particles of a file without them are numbered. */
static int get_ids(const input *in, int type, long long *to)
{
    const int found = get_data(in, type, "ParticleIDs", 1, to);
    for (int k = 0; to && k < in->count[type]; k++) {
        if (!found) to[k] = in->first[type] + k + 1;
        if (found && to[k] == LLONG_MAX) /* to which libhdf5 rounds larger ones */
            return complain(in->about, "%s: PartType%d/ParticleIDs: the id of particle %d is too large", in->name, type,
                            k + 1);
    }
    return found < 0 ? -1 : 0;
}

/* Checks the data sets of a type. */
static int check_type(const input *in, int type)
{
    return need_data(in, type, "Coordinates", 3, NULL) || need_data(in, type, "Velocities", 3, NULL) ||
                   get_masses(in, type, NULL) || get_ids(in, type, NULL)
               ? -1
               : 0;
}

static int fail_number(const input *in, int type, const char *name, int k, double value)
{
    return complain(in->about, "%s: PartType%d/%s: particle %d has %g", in->name, type, name, k + 1, value);
}

/* Reads the data sets of a type, and looks at their numbers. */
static int read_type(const input *in, int type)
{
    const int first = in->first[type];
    double *const mass = in->set->mass + first;
    double(*const x)[3] = in->set->x + first, (*const v)[3] = in->set->v + first;
    if (!mass || !x || !v) return complain(in->about, "%s: out of memory", in->name);
    if (need_data(in, type, "Coordinates", 3, x) || need_data(in, type, "Velocities", 3, v) ||
        get_masses(in, type, mass) || get_ids(in, type, in->set->id + first))
        return -1;
    for (int k = 0; k < in->count[type]; k++) {
        if (!(mass[k] >= 0) || !isfinite(mass[k])) return fail_number(in, type, "Masses", k, mass[k]);
        for (int c = 0; c < 3; c++) {
            if (!isfinite(x[k][c])) return fail_number(in, type, "Coordinates", k, x[k][c]);
            if (!isfinite(v[k][c])) return fail_number(in, type, "Velocities", k, v[k][c]);
        }
    }
    return 0;
}

/* Reads all particles. */
static int read_particles(input *in)
{
    const int last = TYPES - 1, n = in->first[last] + in->count[last];
    for (int k = 0; k < TYPES; k++)
        if (in->count[k] > 0 && check_type(in, k)) return -1;
    if (bodies_allocate(in->set, n)) return complain(in->about, "%s: out of memory for %d particles", in->name, n);
    for (int k = 0; k < TYPES; k++)
        if (in->count[k] > 0 && read_type(in, k)) return -1;
    if (in->count[0] > 0)
        note(in->about, "%s: the %d particles of gas are read as stars, without pressure", in->name, in->count[0]);
    return 0;
}

static int read_all(input *in)
{
    if (read_counts(in) || refuse_others(in) || read_masses(in) || read_particles(in) || read_time(in)) return -1;
    read_units(in);
    name_parts(in);
    return 0;
}

int snapshot_hdf5_read_here(const char *path, bodies *set, message *about)
{
    input in = {.name = path, .set = set, .about = about};
    *set = (bodies){0};
    about->text[0] = 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    in.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (in.file < 0) return complain(about, "%s: this HDF5 file cannot be opened: it is damaged or not complete", path);
    const int status = read_all(&in);
    H5Fclose(in.file);
    if (status) bodies_free(set);
    return status;
}

#endif
