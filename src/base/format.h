/* format.h - printf's texts without the C library's printf. A page would have to download all of
 * that, with arithmetic on long double, for the little that is used here.
 *
 *   %s %c   %d %i %u %x with ll and z   %f %g   %%     width, precision (or *), flags - and 0
 *   %*p     a shape, rank and dims: (2, 3), (2,), ()
 *
 * The text is the C library's, to the last digit: numbers are expanded exactly and rounded half to
 * even. A precision is at most 40. 0 fills up unsigned numbers only. */
#ifndef SN_BASE_FORMAT_H
#define SN_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

#include "sinter.h"

/* Writes at most room bytes, the NUL at the end included (none if room is 0), and returns the
 * length that the whole text has. */
size_t sn_format(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One more shape of an error, as far as there is room. Where a size is negative it is none, but what
 * somebody asked for. */
void sn_note_shape(sn_error *error, int rank, const int64_t *dims);

/* Also notes the shapes that it writes, as far as there is room, in *error, unless that is NULL. */
size_t sn_format_list(char *out, size_t room, sn_error *error, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

#endif
