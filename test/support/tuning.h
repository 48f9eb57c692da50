/* tuning.h - a folder for tuning files, and what is said about them; for tests. */
#ifndef TUNING_H
#define TUNING_H

/* The folder, the file that SAPPORO_TUNE names there, and where HOME is. */
extern char tuning_folder[], tuning_path[64], tuning_home[64];

/* The last warning, and how many there were since the test began. */
extern char tuning_said[1024];
extern int tuning_warnings;

/* Assertions are CMocka's. */
void tuning_write(const char *name, const char *text);

/* For each test: no file, and an environment that names it.  Return 0. */
int tuning_clean(void **state);

/* For all of a program. */
int tuning_make_folder(void **state);
int tuning_remove_folder(void **state);

#endif
