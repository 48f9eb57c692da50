/* fuzzer.c - libFuzzer's entry; PARSER_TARGET is one function of targets.h. */
#include "targets.h"

#include <stdint.h>

#ifndef PARSER_TARGET
#define PARSER_TARGET parse_number
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    PARSER_TARGET(bytes, size);
    return 0;
}
