/*
 * radii.c - which kind of neighbour radii a code passes: h2, or h2 to be multiplied by the mass of j.
 *
 * With N stars of total mass 1 the squared radii of the two kinds differ by a factor of N.  By the wrong kind nearly
 * all lists hold all stars, or none but the target itself.  So the lists of the first targets show which kind it is.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/nbody6/nbody6.h"
#include "base/environment.h"
#include "variables.h"

enum {
    TRIALS = 16, /* forces per opening by which the kind may be decided; as many may be looked at for the warning */
    FEW = 8      /* fewer lists give no warning against a decision */
};

static struct {
    enum sap_radii kind;  /* of the library or the variable */
    enum sap_radii found; /* by lists, also of earlier openings; SAP_RADII_AUTO: nothing yet */
    int trials, looks;    /* forces that are left for deciding, and for the warning */
} radii = {.found = SAP_RADII_AUTO};

static atomic_flag doubted = ATOMIC_FLAG_INIT, warned = ATOMIC_FLAG_INIT;

static const char *const word[] = {[SAP_RADII_PLAIN] = "plain", [SAP_RADII_MASS] = "mass"};
static const char *const formula[] = {[SAP_RADII_PLAIN] = "h2", [SAP_RADII_MASS] = "m_j h2"};

/* ---- what lists show ---- */

/* The number of other stars that a neighbour sphere holds at most. */
static int bound(int most, int nj)
{
    const int least = most < nj / 2 ? most : nj / 2;
    return least > 1 ? least : 1;
}

struct sap_radii_lists sap_radii_count(int rows, const int *length, int most, int nj)
{
    struct sap_radii_lists lists = {.rows = rows};
    for (int i = 0; i < rows; i++) {
        const int n = length[i];
        lists.overflows += n > most;
        lists.alone += n <= 1;
        lists.usable += n > 1 && n <= most && n - 1 <= bound(most, nj);
        lists.others += n > 1 ? n - 1 : 0;
    }
    return lists;
}

/* The factor by which the mean list is too long, or too short to hold one other star; 1 if it is neither.  A mean list
 * of nearly all stars is infinitely wrong: no code takes the whole system for the neighbours of a star. */
static double misfit(const struct sap_radii_lists *lists, int most, int nj)
{
    const double mean = lists->others / lists->rows;
    if (mean > 0.75 * (nj - 1)) return INFINITY;
    return fmax(1, fmax(mean / bound(most, nj), 1 / mean));
}

enum sap_radii sap_radii_fit(const struct sap_radii_lists *plain, const struct sap_radii_lists *mass, int most, int nj)
{
    const double most_rows = 0.5 * plain->rows;
    if (plain->usable >= most_rows && plain->usable > 2 * mass->usable) return SAP_RADII_PLAIN;
    if (mass->usable >= most_rows && mass->usable > 2 * plain->usable) return SAP_RADII_MASS;
    const double of_plain = misfit(plain, most, nj), of_mass = misfit(mass, most, nj);
    if (of_mass > 1.25 * of_plain) return SAP_RADII_PLAIN;
    return of_plain > 1.25 * of_mass ? SAP_RADII_MASS : SAP_RADII_AUTO;
}

/* ---- the kind in use ---- */

void sap_radii_open(enum sap_radii usual)
{
    const struct sap_word *set = NULL;
    char wrong[SAP_WRONG_ROOM]; /* a bad value makes the opening of the context fail, with this message */
    if (usual != SAP_RADII_OF_CALL) (void)sap_env_word(&sap_variables[SAP_VAR_NBODY6_RADII], &set, wrong);
    radii.kind = set ? (enum sap_radii)set->value : usual;
    radii.trials = radii.kind == SAP_RADII_AUTO ? TRIALS : 0;
    radii.looks = radii.kind == SAP_RADII_OF_CALL ? 0 : TRIALS;
}

int sap_radii_undecided(void) { return radii.trials > 0; }

static enum sap_radii in_use(void)
{
    if (radii.kind != SAP_RADII_AUTO) return radii.kind;
    return radii.found == SAP_RADII_MASS ? SAP_RADII_MASS : SAP_RADII_PLAIN;
}

int sap_radii_by_mass(int of_call) { return in_use() == SAP_RADII_OF_CALL ? of_call : in_use() == SAP_RADII_MASS; }

static void log_decision(const struct sap_radii_lists *plain, const struct sap_radii_lists *mass)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "gpunb_regf: neighbour radii are %s: %d lists hold %.1f stars on average by h2, and %.1f by m_j h2",
                   formula[radii.found], plain->rows, 1 + plain->others / plain->rows, 1 + mass->others / mass->rows);
    sapporo_log(SAPPORO_LOG_INFO, text);
}

void sap_radii_decide(const struct sap_radii_lists *plain, const struct sap_radii_lists *mass, int differ, int most,
                      int nj)
{
    const enum sap_radii fit = sap_radii_fit(plain, mass, most, nj);
    radii.trials--;
    if (fit == SAP_RADII_AUTO) {
        if (differ && radii.found == SAP_RADII_AUTO && !atomic_flag_test_and_set(&doubted))
            sap_nbody6_tell("gpunb_regf: the lists do not show whether the code weights neighbour radii by mass; "
                            "%s is used; SAPPORO_NBODY6_RADII=plain means h2, mass means m_j h2",
                            formula[in_use()]);
    } else {
        radii.found = fit;
        radii.trials = 0;
        log_decision(plain, mass);
    }
}

/* ---- lists that are wrong ---- */

/* Whether n is nearly all of the rows. */
static int nearly_all(int n, const struct sap_radii_lists *lists) { return (double)n >= 0.9 * lists->rows; }

int sap_radii_suspect(const struct sap_radii_lists *used)
{
    const int overflow = nearly_all(used->overflows, used) && (used->rows >= FEW || radii.kind != SAP_RADII_AUTO);
    if (radii.looks == 0 || (!overflow && !(nearly_all(used->alone, used) && used->rows >= FEW))) return 0;
    radii.looks--;
    return 1;
}

void sap_radii_warn(const struct sap_radii_lists *used, const struct sap_radii_lists *other, int most, int nj)
{
    const enum sap_radii kind = in_use(), better = kind == SAP_RADII_MASS ? SAP_RADII_PLAIN : SAP_RADII_MASS;
    const struct sap_radii_lists *const plain = kind == SAP_RADII_MASS ? other : used;
    const struct sap_radii_lists *const mass = kind == SAP_RADII_MASS ? used : other;
    const int overflow = nearly_all(used->overflows, used);
    if (other->overflows > 0.1 * other->rows) return;
    /* Where lists decided on the kind, an overflow alone shows only that the radii are too large. */
    if ((radii.kind == SAP_RADII_AUTO || !overflow) && sap_radii_fit(plain, mass, most, nj) != better) return;
    if (atomic_flag_test_and_set(&warned)) return;
    sap_nbody6_tell("gpunb_regf: by %s %d of %d neighbour lists %s, by %s %d; %s is used; if the code passes radii for "
                    "%s, set SAPPORO_NBODY6_RADII=%s",
                    formula[kind], overflow ? used->overflows : used->alone, used->rows,
                    overflow ? "overflow" : "hold no other star", formula[better],
                    overflow ? other->overflows : other->alone, formula[kind], formula[better], word[better]);
}
