/* static_program.h - whether the program was linked without shared libraries, and the file that contains the library.
 */
#ifndef SAP_STATIC_PROGRAM_H
#define SAP_STATIC_PROGRAM_H

/*
 * 1 if the program was linked with -static or -static-pie.  Such a program must not load drivers: they bring a second C
 * library that is not initialised, and crash in their first call.
 */
int sap_program_is_static(void);

/* The path of the file that contains this library: a shared library, or the program; "": unknown. */
const char *sap_library_file(void);

#endif
