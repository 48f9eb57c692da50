/*
 * contexts.c - two independent contexts.
 *
 *   cc contexts.c -lsapporo -o contexts
 *   ./contexts
 *
 * Opens one context with the defaults and one in double precision on one CPU thread, and asks what each has.
 *
 * It prints
 *
 *     ds is the default
 *     1 thread in the other
 */
#include <sapporo.h>
#include <stdio.h>

int main(void)
{
    sapporo *fast, *exact;
    const sapporo_options in_double = {
        .size = sizeof in_double, .precision = SAPPORO_DP, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    sapporo_device device = {.size = sizeof device};
    if (sapporo_device_count(SAPPORO_BACKEND_CPU) < 1) return 1;
    if (sapporo_device_describe(SAPPORO_BACKEND_CPU, 0, &device) < 0 || device.units < 1) return 1;
    if (sapporo_open(NULL, &fast) < 0 || sapporo_open(&in_double, &exact) < 0) return 1;
    printf("%s\n", sapporo_get_precision(fast) == SAPPORO_DS ? "ds is the default" : "something else");
    printf("%d thread in the other\n", sapporo_get_threads(exact));
    if (sapporo_kind(exact)[0] == 0 || sapporo_get_backend(exact) != SAPPORO_BACKEND_CPU) return 1;
    if (sapporo_memory_needed(exact, 1000000, NULL) > 256u * 1000000u) return 1;
    sapporo_clear_error(fast);
    sapporo_close(fast);
    sapporo_close(exact);
    return 0;
}
