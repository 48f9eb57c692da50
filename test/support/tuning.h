/* tuning.h - a folder for tuning files, and the messages about them; for tests. */
#ifndef TUNING_H
#define TUNING_H

/* The folder, the file in it that SAPPORO_TUNE names, and the folder of HOME. */
extern char tuning_folder[], tuning_path[64], tuning_home[64];

/* The last warning, and the number of warnings since the test began. */
extern char tuning_said[1024];
extern int tuning_warnings;

/* Writes a file.  Assertions are CMocka's. */
void tuning_write(const char *name, const char *text);

/* Prepares each test: no file, and an environment that names it.  Return 0. */
int tuning_clean(void **state);

/* Set-up for all tests of a program. */
int tuning_make_folder(void **state);
int tuning_remove_folder(void **state);

#endif
