/* message.h - one line of text for the user, returned by functions that can fail. */
#ifndef COMMON_MESSAGE_H
#define COMMON_MESSAGE_H

typedef struct message {
    char text[512]; /* "" if there is no message; never with a control character */
} message;

#if defined(__GNUC__)
#define MESSAGE_FORMAT(position) __attribute__((format(printf, position, position + 1)))
#else
#define MESSAGE_FORMAT(position)
#endif

/* Writes the text and returns -1, so that a function can end with `return complain(why, ...)`. */
int complain(message *why, const char *format, ...) MESSAGE_FORMAT(2);
/* Writes the text: something worth knowing, not an error. */
void note(message *about, const char *format, ...) MESSAGE_FORMAT(2);

#endif
