/* tune_measure.c - times forces with the launch parameters of a trial file. */
#define _POSIX_C_SOURCE 200809L

#include "tune.h"
#include "util.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double EPS2 = 1.0 / 65536.0;

/* ---- messages of the library ----------------------------------------------------------- */

static char told[1024]; /* the library's last line about its launch parameters */

static void hear(void *user, int level, const char *text)
{
    (void)user;
    if (strncmp(text, "tuning of [", 11) == 0)
        snprintf(told, sizeof told, "%s", text);
    else if (level <= SAPPORO_LOG_WARNING)
        fprintf(stderr, "sapporo: %s\n", text);
}

/* Reads the line "tuning of [DEVICE]: key number key number; from FILE". */
static int read_told(tuning *numbers)
{
    memset(numbers, 0, sizeof *numbers);
    const char *name = told + strlen("tuning of ["), *end = strstr(told, "]:");
    if (told[0] == '\0' || end == NULL || (size_t)(end - name) >= sizeof numbers->device) return -1;
    memcpy(numbers->device, name, (size_t)(end - name));
    for (const char *text = end + 2; *text == ' ' && numbers->n < TUNE_NUMBERS; numbers->n++) {
        const size_t length = strcspn(++text, " ;");
        char *after;
        if (length >= TUNE_KEY || text[length] != ' ') return -1;
        memcpy(numbers->key[numbers->n], text, length);
        numbers->value[numbers->n] = strtod(text + length + 1, &after);
        text = after;
    }
    return numbers->n > 0 ? 0 : -1;
}

int tune_ask(tuner *self, tuning *numbers)
{
    told[0] = '\0';
    sapporo_set_log(hear, NULL);
    client *probe = CLIENT_NATIVE.open(&self->what);
    snprintf(self->error, sizeof self->error, "%s", CLIENT_NATIVE.error(probe));
    CLIENT_NATIVE.close(probe);
    if (self->error[0] != '\0') return -1;
    if (read_told(numbers) == 0) return 0;
    snprintf(self->error, sizeof self->error, "the engine has no numbers that can be tuned");
    return -1;
}

int tune_find(const tuning *numbers, const char *key)
{
    for (int k = 0; k < numbers->n; k++)
        if (strcmp(numbers->key[k], key) == 0) return k;
    return -1;
}

/* ---- contexts ------------------------------------------------------------------------- */

static client *open_loaded(tuner *self, const settings *what)
{
    client *on = CLIENT_NATIVE.open(what);
    if (CLIENT_NATIVE.error(on)[0] == '\0' && CLIENT_NATIVE.load(on, &self->cluster) == 0) return on;
    snprintf(self->error, sizeof self->error, "%s", CLIENT_NATIVE.error(on));
    CLIENT_NATIVE.close(on);
    return NULL;
}

client *tune_open(tuner *self, const tuning *numbers)
{
    remove(self->trial);
    if (tune_file_write(self->trial, self->kind, numbers, self->error, sizeof self->error) != 0) return NULL;
    set_environment("SAPPORO_TUNE", self->trial);
    return open_loaded(self, &self->what);
}

client *tune_open_cpu(tuner *self)
{
    const settings cpu = {.backend = SAPPORO_BACKEND_CPU, .precision = self->what.precision, .order = self->what.order};
    return open_loaded(self, &cpu);
}

/* ---- times ------------------------------------------------------------------------------ */

static int call(tuner *self, client *on, int ni, int nj, int step, int turn)
{
    const batch all = {&self->stars, 0, ni, 0};
    for (int k = 0; k < ni && step; k++) {
        const int star = (int)((long long)k * nj / ni);
        if (CLIENT_NATIVE.set(on, &self->cluster, star, star) != 0) return -1;
    }
    if (CLIENT_NATIVE.set_time(on, (turn + 1) * 0x1p-20) != 0) return -1;
    return CLIENT_NATIVE.force(on, nj, &all, EPS2, 0, &self->out);
}

/* Returns the lower quartile of the samples: less disturbed than the median, less lucky than the least. */
double tune_time(tuner *self, client *on, int ni, int nj, int step)
{
    enum { MOST = 64, FEWEST = 7 };
    double sample[MOST], sum = 0.0;
    const double enough = self->quick ? 0.001 : 0.004, too_long = 0.3;
    int n = 0;
    for (int turn = -2; n < MOST; turn++) {
        const double before = now();
        if (call(self, on, ni, nj, step, turn & 1023) != 0) {
            snprintf(self->error, sizeof self->error, "%s", CLIENT_NATIVE.error(on));
            return -1.0;
        }
        const double seconds = now() - before;
        if (turn < 0 && seconds < too_long) continue;
        sample[n++] = seconds;
        sum += seconds;
        if ((n >= FEWEST && sum >= enough) || sum >= too_long) break;
    }
    sort_values(sample, (size_t)n);
    return quantile(sample, (size_t)n, 0.25);
}

int tune_time_grid(tuner *self, const tuning *numbers, grid *sizes, int again)
{
    client *on = tune_open(self, numbers);
    if (on == NULL) return -1;
    int status = 0;
    for (int k = 0; k < sizes->n && status == 0; k++) {
        const double seconds = tune_time(self, on, sizes->ni[k], sizes->nj[k], 0);
        if (seconds < 0.0) status = -1;
        if (!again || seconds < sizes->seconds[k]) sizes->seconds[k] = seconds;
    }
    CLIENT_NATIVE.close(on);
    return status;
}

void tune_sizes(const tuner *self, grid *sizes)
{
    static const int NI[] = {1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 16384};
    static const int NJ[] = {1024, 4096, 16384, 65536, 131072};
    const int every = self->quick ? 3 : 1;
    sizes->n = 0;
    for (size_t j = 0; j < sizeof NJ / sizeof NJ[0]; j += self->quick ? 2 : 1)
        for (size_t i = 0; i < sizeof NI / sizeof NI[0]; i += (size_t)every) {
            if (NI[i] > NJ[j] || NJ[j] > self->cluster.n) continue;
            sizes->ni[sizes->n] = NI[i];
            sizes->nj[sizes->n++] = NJ[j];
        }
}
