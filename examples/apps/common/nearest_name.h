/* nearest_name.h - finds the name that a misspelt word may mean. */
#ifndef COMMON_NEAREST_NAME_H
#define COMMON_NEAREST_NAME_H

#include <stddef.h>

/*
 * Returns the number of letters to insert, remove, replace or exchange with the next one that turn the first `length`
 * characters of a word into a name; NAME_FAR if that is more than a third of the letters of the longer one, or more
 * than 1 of short names.
 */
enum { NAME_FAR = 99 };
int name_distance(const char *word, size_t length, const char *name);

#endif
