/*
 * messages.c - where messages of the library go, and what an error says.
 *
 *   cc messages.c -lsapporo -o messages
 *   ./messages
 *
 * Sends all messages to a function of the program, and opens a context for instructions that the library lacks.
 *
 * It prints
 *
 *     message of level 0: cpu_isa is 'mmx'; it may be scalar, sse2, avx2, avx512 or neon
 *     an argument is out of range; context is NULL
 *     cpu_isa is 'mmx'; it may be scalar, sse2, avx2, avx512 or neon
 */
#include <sapporo.h>
#include <stdio.h>

static void print(void *user, int level, const char *text) { printf("%s %d: %s\n", (const char *)user, level, text); }

int main(void)
{
    sapporo *context;
    const sapporo_options options = {.size = sizeof options, .order = 4, .cpu_isa = "mmx"};
    sapporo_set_log(print, "message of level");
    const int status = sapporo_open(&options, &context);
    printf("%s; context is %s\n", sapporo_status_text(status), context ? "open" : "NULL");
    printf("%s\n", sapporo_last_error(NULL));
    return status == SAPPORO_ERR_ARGUMENT ? 0 : 1;
}
