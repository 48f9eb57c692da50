/* status.c - the text of each sapporo_status. */
#include "sapporo.h"

static const struct {
    int status;
    const char *text;
} texts[] = {
    {SAPPORO_OK, "success"},
    {SAPPORO_PARTIAL, "some i-particles were not finite; their rows are NaN"},
    {SAPPORO_TRUNCATED, "the list is longer than the room given"},
    {SAPPORO_STOPPED, "two particles of the stepper are closer than its limit"},
    {SAPPORO_ERR_ARGUMENT, "an argument is out of range"},
    {SAPPORO_ERR_MEMORY, "out of memory"},
    {SAPPORO_ERR_CLOSED, "the context, force or tree is not open"},
    {SAPPORO_ERR_NOT_FINITE, "particle data are not finite"},
    {SAPPORO_ERR_UNSUPPORTED, "not supported by this build or engine"},
    {SAPPORO_ERR_DEVICE, "no such device, or the device failed"},
    {SAPPORO_ERR_GONE, "the particles needed for the answer have changed since"},
};

const char *sapporo_status_text(int status)
{
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        if (texts[k].status == status) return texts[k].text;
    return "unknown status";
}
