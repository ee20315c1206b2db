/* watch.h - finds the first value that is not finite while a program runs, kernel by kernel, and the ranges of the values that
 * its kernel reads. For runs that look for a fault: it reads all values once more, on one thread. */
#ifndef SN_RUN_WATCH_H
#define SN_RUN_WATCH_H

#include "program/steps.h"

enum { SN_WATCHED = 8 }; /* so many of the values that a kernel reads are noted, the first ones */

/* The range of a float32 or float64 value in memory. */
typedef struct sn_range_seen {
  uint32_t value;
  double least, most; /* of its finite elements; least > most if there are none */
  uint64_t nans, infinities;
} sn_range_seen;

typedef struct sn_watch {
  const sn_program_code *program; /* the kernel's: the whole program, or that of a region */
  size_t kernel;
  bool found;
  sn_range_seen written; /* if found */
  sn_range_seen reads[SN_WATCHED];
  size_t n_reads;
} sn_watch;

/* Called before and after kernel k runs; values: addresses of the program's values. The first value
 * that is found stays. */
void sn_watch_before(sn_watch *watch, const sn_program_code *program, size_t k,
                     void *const *values);
void sn_watch_after(sn_watch *watch, void *const *values);

#endif
