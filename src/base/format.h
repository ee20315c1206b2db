/* format.h - formats text as printf does, without the C library's printf: pages would have to
 * download all of that, with arithmetic on long double, for the few conversions that are used here.
 *
 *   %s %c   %d %i %u %x with ll and z   %f %g   %%     width, precision (or *), flags - and 0
 *   %*p     a shape, rank and dims: (2, 3), (2,), ()
 *
 * The text is the same as the C library's, to the last digit: numbers are expanded exactly and
 * rounded half to even. A precision is at most 40. The flag 0 is only for numbers without a sign. */
#ifndef SN_BASE_FORMAT_H
#define SN_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

#include "sinter.h"

/* Writes at most room bytes, including the NUL at the end (none if room is 0), and returns the length
 * of the whole text without the NUL. */
size_t sn_format(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a shape to those of an error if there is room. A shape with a negative size is skipped: it is
 * a user's invalid argument, not a tensor's shape. */
void sn_note_shape(sn_error *error, int rank, const int64_t *dims);

/* The same; it also adds the shapes that it writes to *error, unless that is NULL. */
size_t sn_format_list(char *out, size_t room, sn_error *error, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

#endif
