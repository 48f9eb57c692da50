/*
 * message.c - see message.h.
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

int complain(message *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return -1;
}

void note(message *about, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(about->text, sizeof about->text, format, arguments);
    va_end(arguments);
}
