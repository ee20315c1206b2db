/* find.h - searches in a text. Nothing is allocated, so that what reports errors can use it, too. */
#ifndef SN_BASE_FIND_H
#define SN_BASE_FIND_H

#include <stddef.h>

/* The first occurrence of part, which is not empty, in text; NULL if there is none. Used instead of
 * the C library's strstr, which is built for long parts and would have to be downloaded by pages. */
const char *sn_text_find(const char *text, const char *part);

/* If text begins with part, the rest of text; else NULL. */
const char *sn_text_after(const char *text, const char *part);

#endif
