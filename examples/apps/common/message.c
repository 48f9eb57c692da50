/*
 * message.c - see message.h.
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

/* Formats the text as one line: replaces control characters, which a file may contain. */
static void format_line(message *to, const char *format, va_list arguments)
{
    vsnprintf(to->text, sizeof to->text, format, arguments);
    for (char *c = to->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F) *c = *c == '\t' ? ' ' : '?';
}

int complain(message *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_line(why, format, arguments);
    va_end(arguments);
    return -1;
}

void note(message *about, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_line(about, format, arguments);
    va_end(arguments);
}
