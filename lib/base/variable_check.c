/* variable_check.c - warnings about the environment; see variable_check.h. */
#include "base/variable_check.h"

#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/team.h"

extern char **environ;

static const char ours[] = "SAPPORO_";

/* Prefixes, after SAPPORO_, of variables that belong to the project's programs and tests. */
static const char *const elsewhere[] = {"TEST_", "FAULT", "LIBRARY", "TOOL"};

/* 1: the environment has been checked. */
static atomic_int checked;

enum { LONGEST = 40 }; /* length of the longest name that is compared, without the part up to the first '_' */

/* ---- distance between names ------------------------------------------------------------ */

static int smaller(int a, int b) { return a < b ? a : b; }

/* Like toupper, but independent of the caller's locale. */
static int upper(char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; }

/*
 * The number of letters that must be inserted, deleted, replaced or swapped with their neighbour to change one text
 * into the other (Damerau 1964, Communications of the ACM 7, 171; each letter is changed at most once).  Neither text
 * is longer than LONGEST.
 */
static int distance(const char *a, int na, const char *b, int nb)
{
    int rows[3][LONGEST + 1] = {{0}};
    for (int j = 0; j <= nb; j++) rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *const now = rows[i % 3], *const before = rows[(i + 2) % 3], *const earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            const int differ = upper(a[i - 1]) != upper(b[j - 1]);
            now[j] = smaller(before[j - 1] + differ, smaller(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && upper(a[i - 1]) == upper(b[j - 2]) && upper(a[i - 2]) == upper(b[j - 1]))
                now[j] = smaller(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

const char *sap_variable_nearest(const char *name, int n)
{
    const char *nearest = NULL, *const dash = memchr(name, '_', (size_t)n);
    const int from = dash != NULL ? (int)(dash - name) + 1 : 0;
    int least = (n - from) / 2 + 1; /* texts that differ in more than half of their letters are not similar */
    if (n - from > LONGEST) return NULL;
    for (int k = 0; k < sap_variable_table.n; k++) {
        const struct sap_variable_row *const row = &sap_variable_table.row[k];
        const char *const known = strchr(row->name, '_');
        if (known == NULL || row->audience == SAPPORO_FOR_OTHERS || strlen(known + 1) > LONGEST) continue;
        const int d = distance(name + from, n - from, known + 1, (int)strlen(known + 1));
        if (d >= least) continue;
        least = d;
        nearest = row->name;
    }
    return nearest;
}

/* ---- check -------------------------------------------------------------------------------- */

static int is_known(const char *name, size_t n)
{
    const size_t start = sizeof ours - 1;
    for (int k = 0; k < sap_variable_table.n; k++) {
        const char *const known = sap_variable_table.row[k].name;
        if (strlen(known) == n && strncmp(known, name, n) == 0) return 1;
    }
    for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
        if (strncmp(name + start, elsewhere[k], strlen(elsewhere[k])) == 0) return 1;
    return 0;
}

static void warn_of_unknown(void)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const size_t n = strcspn(*entry, "=");
        if (strncmp(*entry, ours, sizeof ours - 1) != 0 || is_known(*entry, n)) continue;
        const int shown = n < 100 ? (int)n : 100;
        const char *const nearest = sap_variable_nearest(*entry, shown);
        sap_log(SAPPORO_LOG_WARNING, "%.*s is not a variable of this library%s%s%s", shown, *entry,
                nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
    }
}

static void warn_of_ignored(void)
{
    char wrong[SAP_WRONG_ROOM];
    for (int k = 0; k < sap_variable_table.n; k++) {
        const struct sap_variable_row *const row = &sap_variable_table.row[k];
        if (row->bad == SAP_BAD_WARNED && sap_env_check(row, wrong) == SAP_READ_BAD)
            sap_log(SAPPORO_LOG_WARNING, "%s; the value is ignored", wrong);
    }
}

/* The variable may ask for more threads than the library uses. */
static void warn_of_many_threads(void)
{
    const struct sap_variable_row *const row = sap_variable_table.threads;
    char wrong[SAP_WRONG_ROOM];
    int told = 0;
    (void)sap_env_number(row, &told, wrong);
    if (told > SAP_TEAM_MOST)
        sap_log(SAPPORO_LOG_WARNING, "%s is %d; the library uses at most %d threads", row->name, told,
                (int)SAP_TEAM_MOST);
}

void sap_variable_check(void)
{
    if (atomic_load_explicit(&checked, memory_order_relaxed) || atomic_exchange(&checked, 1)) return;
    warn_of_unknown();
    warn_of_ignored();
    warn_of_many_threads();
}

void sap_variable_check_again(void) { atomic_store(&checked, 0); }
