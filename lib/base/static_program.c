/* static_program.c - how the library was linked; see static_program.h. */
#define _GNU_SOURCE

#include "base/static_program.h"

#include <dlfcn.h>

#if defined(__linux__)
#include <link.h>
#include <stddef.h>

/* Looks at the program itself, which is the first object: only a static program asks the system for no loader. */
static int look(struct dl_phdr_info *object, size_t size, void *is_static)
{
    (void)size;
    *(int *)is_static = 1;
    for (int k = 0; k < (int)object->dlpi_phnum; k++)
        if (object->dlpi_phdr[k].p_type == PT_INTERP) *(int *)is_static = 0;
    return 1;
}

int sap_program_is_static(void)
{
    int is_static = 0;
    (void)dl_iterate_phdr(look, &is_static);
    return is_static;
}
#else
int sap_program_is_static(void) { return 0; }
#endif

static const char *library_file = "";

/*
 * Finds the file when the library is loaded.  Later would be too late: dladdr takes a lock of the dynamic linker, which
 * no thread of a child releases if another thread held it at the fork.
 */
__attribute__((constructor)) static void find_file(void)
{
    Dl_info here;
    static const char anywhere;
    if (!sap_program_is_static() && dladdr(&anywhere, &here) && here.dli_fname) library_file = here.dli_fname;
}

const char *sap_library_file(void) { return library_file; }
