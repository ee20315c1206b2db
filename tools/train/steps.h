/* steps.h - the exported step as programs: one for whole batches and, where a pass ends with a smaller batch, one for that.
 * Both take and make one state, with the same parts of it in each process, so that either may follow the other. */
#ifndef TRAIN_STEPS_H
#define TRAIN_STEPS_H

#include <sinter.h>

#include "options.h"

typedef struct step {
  const char *path;
  sn_program *program; /* NULL: there is none */
  const sn_step_info *info;
  uint32_t hash; /* of the file */
} step;

typedef struct steps {
  sn_context *ctx;
  step whole, last;
} steps;

/* In the numeric mode in which they were exported; stops the program where one cannot be read, or they differ in more than
 * the batch. threads: of the context; 0: as the library chooses. */
steps steps_open(const options *o, int threads);
void steps_close(steps *s);

#endif
