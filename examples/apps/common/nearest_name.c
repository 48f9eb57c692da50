/* nearest_name.c - see nearest_name.h. */
#include "nearest_name.h"

#include <string.h>

enum { MOST = 40 };

static int least(int a, int b) { return a < b ? a : b; }

/* Damerau's distance, where no letter is changed twice: row k has the distances of the first k letters. */
static int distance(const char *word, int n, const char *name, int m)
{
    int row[3][MOST + 1];
    for (int c = 0; c <= m; c++) row[0][c] = c;
    for (int k = 1; k <= n; k++) {
        int *const now = row[k % 3];
        const int *const before = row[(k + 2) % 3], *const earlier = row[(k + 1) % 3];
        now[0] = k;
        for (int c = 1; c <= m; c++) {
            now[c] = least(least(before[c], now[c - 1]) + 1, before[c - 1] + (word[k - 1] != name[c - 1]));
            if (k > 1 && c > 1 && word[k - 1] == name[c - 2] && word[k - 2] == name[c - 1])
                now[c] = least(now[c], earlier[c - 2] + 1);
        }
    }
    return row[n % 3][m];
}

int name_distance(const char *word, size_t length, const char *name)
{
    const size_t other = strlen(name), longer = length > other ? length : other;
    if (length == 0 || longer > MOST) return NAME_FAR;
    const int found = distance(word, (int)length, name, (int)other);
    return found <= (longer < 6 ? 1 : (int)longer / 3) ? found : NAME_FAR;
}
