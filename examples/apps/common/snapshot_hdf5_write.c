/*
 * snapshot_hdf5_write.c - writes particles as HDF5 (snapshot_hdf5.h).
 *
 * libhdf5 makes the file in memory, and the functions for all files of the programs write the bytes: so a full disk is
 * an ordinary error, and libhdf5 opens no file.
 */
#include "snapshot_hdf5.h"

#ifdef SNAPSHOT_HDF5_BUILT

#include "atomic_file.h"

#include <hdf5.h>
#include <stdint.h>
#include <string.h>

enum {
    TYPES = 6, /* PartType0 to PartType5 */
    OWN = 1,   /* the type of all particles */
    ROW = 64   /* bytes of a particle */
};

/* A file that is made. */
typedef struct output {
    hid_t file;
    int failed, knows_units;
    cgs_units units;
} output;

/* A data set of particles. */
typedef struct column {
    const char *name;
    hid_t stored, given;
    int width;                     /* numbers per particle */
    double length, velocity, mass; /* powers of its unit */
} column;

/* ---- attributes --------------------------------------------------------------------------- */

/* Writes an attribute of n values, as an array if n > 0, else a single value. */
static void put(output *o, hid_t at, const char *name, hid_t stored, hid_t given, const void *value, int n)
{
    const hsize_t size = (hsize_t)n;
    const hid_t space = n > 0 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, given, value) < 0) o->failed = 1;
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
}

static void put_counts(output *o, hid_t at, const char *name, const unsigned value[TYPES])
{
    put(o, at, name, H5T_STD_U32LE, H5T_NATIVE_UINT, value, TYPES);
}

static void put_flag(output *o, hid_t at, const char *name, int value)
{
    put(o, at, name, H5T_STD_I32LE, H5T_NATIVE_INT, &value, 0);
}

static void put_real(output *o, hid_t at, const char *name, double value)
{
    put(o, at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, 0);
}

/* SWIFT stores single numbers as arrays of one number. */
static void put_array(output *o, hid_t at, const char *name, double value)
{
    put(o, at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, 1);
}

static void put_text(output *o, hid_t at, const char *name, const char *text)
{
    if (!text[0]) return;
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (H5Tset_size(type, strlen(text) + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0) o->failed = 1;
    put(o, at, name, type, type, text, 0);
    H5Tclose(type);
}

static hid_t begin_group(output *o, const char *name)
{
    const hid_t group = H5Gcreate2(o->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) o->failed = 1;
    return group;
}

static void end_group(hid_t group)
{
    if (group >= 0) H5Gclose(group);
}

/* ---- parts of the file -------------------------------------------------------------------- */

/* Writes that there is no cosmology and no periodic box. */
static void put_cosmology(output *o, hid_t at)
{
    put_real(o, at, "BoxSize", 0);
    put_real(o, at, "Omega0", 0);
    put_real(o, at, "OmegaLambda", 0);
    put_real(o, at, "HubbleParam", 1);
}

static void put_header(output *o, const bodies *set)
{
    static const char *const flags[] = {"Flag_Sfr",    "Flag_Cooling",  "Flag_StellarAge",
                                        "Flag_Metals", "Flag_Feedback", "Flag_Entropy_ICs"};
    const unsigned none[TYPES] = {0}, count[TYPES] = {[OWN] = (unsigned)set->n};
    const double masses[TYPES] = {0};
    const hid_t at = begin_group(o, "Header");
    put_counts(o, at, "NumPart_ThisFile", count);
    put_counts(o, at, "NumPart_Total", count);
    put_counts(o, at, "NumPart_Total_HighWord", none);
    put(o, at, "MassTable", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, masses, TYPES);
    put_real(o, at, "Time", set->time);
    put_real(o, at, "Redshift", 0);
    put_cosmology(o, at);
    put_flag(o, at, "NumFilesPerSnapshot", 1);
    put_flag(o, at, "Dimension", 3);
    put_flag(o, at, "Flag_DoublePrecision", 1);
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) put_flag(o, at, flags[k], 0);
    put_text(o, at, "sapporo_units", set->units);
    put_text(o, at, "sapporo_parts", set->parts);
    end_group(at);
}

/* Writes units as GADGET-4 names them. */
static void put_gadget_units(output *o, hid_t at, const cgs_units *units)
{
    put_real(o, at, "UnitLength_in_cm", units->length);
    put_real(o, at, "UnitMass_in_g", units->mass);
    put_real(o, at, "UnitVelocity_in_cm_per_s", units->velocity);
}

/* Writes units as SWIFT names them; some readers look for the names of GADGET here, too. */
static void put_swift_units(output *o, const cgs_units *units)
{
    const hid_t at = begin_group(o, "Units");
    put_array(o, at, "Unit length in cgs (U_L)", units->length);
    put_array(o, at, "Unit mass in cgs (U_M)", units->mass);
    put_array(o, at, "Unit time in cgs (U_t)", units->length / units->velocity);
    put_array(o, at, "Unit current in cgs (U_I)", 1);
    put_array(o, at, "Unit temperature in cgs (U_T)", 1);
    put_gadget_units(o, at, units);
    end_group(at);
}

/* Writes parameters as GADGET-4 names them, and units where they are known: N-body units have none in cgs. */
static void put_parameters(output *o, const bodies *set)
{
    const double G = set->G > 0 ? set->G : 1;
    const hid_t at = begin_group(o, "Parameters");
    o->knows_units = !cgs_units_read(set->units, G, &o->units);
    if (o->knows_units || set->G > 0) put_real(o, at, "GravityConstantInternal", G);
    put_flag(o, at, "ComovingIntegrationOn", 0);
    put_cosmology(o, at);
    if (o->knows_units) put_gadget_units(o, at, &o->units);
    end_group(at);
    if (o->knows_units) put_swift_units(o, &o->units);
}

/* Writes the unit of a data set as GADGET-4 does. */
static void put_unit(output *o, hid_t data, const column *c)
{
    const cgs_units *const u = &o->units;
    put_real(o, data, "a_scaling", 0);
    put_real(o, data, "h_scaling", 0);
    put_real(o, data, "length_scaling", c->length);
    put_real(o, data, "mass_scaling", c->mass);
    put_real(o, data, "velocity_scaling", c->velocity);
    put_real(o, data, "to_cgs", c->length > 0 ? u->length : c->mass > 0 ? u->mass : u->velocity);
}

/* Writes a data set without the time of day: the same set gives the same bytes. */
static void put_data(output *o, hid_t at, const column *c, const void *value, int rows)
{
    const hsize_t size[2] = {(hsize_t)rows, (hsize_t)c->width};
    const hid_t space = H5Screate_simple(c->width == 1 ? 1 : 2, size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(list, 0);
    const hid_t data = H5Dcreate2(at, c->name, c->stored, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (data < 0 || H5Dwrite(data, c->given, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) o->failed = 1;
    if (o->knows_units && data >= 0 && c->length + c->velocity + c->mass > 0) put_unit(o, data, c);
    if (data >= 0 && H5Dclose(data) < 0) o->failed = 1;
    H5Pclose(list);
    H5Sclose(space);
}

static void put_particles(output *o, const bodies *set)
{
    const hid_t at = begin_group(o, "PartType1");
    int is_signed = 0; /* GADGET-4 and SWIFT have ids without a sign */
    for (int k = 0; k < set->n && !is_signed; k++) is_signed = set->id[k] < 0;
    const hid_t real = H5T_IEEE_F64LE, given = H5T_NATIVE_DOUBLE, whole = is_signed ? H5T_STD_I64LE : H5T_STD_U64LE;
    const column x = {.name = "Coordinates", .stored = real, .given = given, .width = 3, .length = 1},
                 v = {.name = "Velocities", .stored = real, .given = given, .width = 3, .velocity = 1},
                 mass = {.name = "Masses", .stored = real, .given = given, .width = 1, .mass = 1},
                 id = {.name = "ParticleIDs", .stored = whole, .given = H5T_NATIVE_LLONG, .width = 1};
    put_data(o, at, &x, set->x, set->n);
    put_data(o, at, &v, set->v, set->n);
    put_data(o, at, &mass, set->mass, set->n);
    put_data(o, at, &id, set->id, set->n);
    end_group(at);
}

/* ---- file --------------------------------------------------------------------------------- */

/* Begins a file in memory, with room for the particles. */
static void begin_file(output *o, const bodies *set)
{
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    o->failed = 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (list < 0 || H5Pset_fapl_core(list, (size_t)set->n * ROW + 65536, 0) < 0) o->failed = 1;
    o->file = o->failed ? -1 : H5Fcreate("snapshot.hdf5", H5F_ACC_TRUNC, H5P_DEFAULT, list);
    if (o->file < 0) o->failed = 1;
    if (list >= 0) H5Pclose(list);
}

/* Returns the bytes of a file that is made, which live as long as the file is open; NULL: memory was not sufficient. */
static const void *file_bytes(output *o, size_t *length)
{
    void *handle = NULL;
    if (o->failed || H5Fflush(o->file, H5F_SCOPE_GLOBAL) < 0) return NULL;
    const ssize_t size = H5Fget_file_image(o->file, NULL, 0);
    if (size <= 0 || H5Fget_vfd_handle(o->file, H5P_DEFAULT, &handle) < 0 || !handle) return NULL;
    *length = (size_t)size;
    return *(void **)handle;
}

static int write_bytes(const char *path, const void *bytes, size_t length, message *about)
{
    atomic_file file;
    if (atomic_open(&file, path, about)) return -1;
    (void)fwrite(bytes, 1, length, file.stream);
    return atomic_commit(&file, about);
}

int snapshot_hdf5_write(const char *path, const bodies *set, message *about)
{
    output o;
    size_t length = 0;
    begin_file(&o, set);
    if (!o.failed) {
        put_header(&o, set);
        put_parameters(&o, set);
        put_particles(&o, set);
    }
    const void *const bytes = file_bytes(&o, &length);
    const int status = bytes ? write_bytes(path, bytes, length, about)
                             : complain(about, "cannot write %s: memory is not sufficient for this file", path);
    if (o.file >= 0) H5Fclose(o.file);
    return status;
}

#endif
