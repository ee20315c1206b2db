/* stop.h - how the program ends before its end: one line on stderr, and an exit code. It may end anywhere: what it
 * leaves behind is as complete as after kill -9. */
#ifndef TRAIN_STOP_H
#define TRAIN_STOP_H

#include <sinter.h>

enum {
  EXIT_TRAINING = 1,   /* no memory, a lost thread */
  EXIT_USAGE = 2,      /* arguments */
  EXIT_INPUT = 3,      /* the step or the data: not there, damaged, of the wrong shape */
  EXIT_CHECKPOINT = 4, /* damaged, of another training, in use */
  EXIT_OUTPUT = 5,     /* a file that cannot be written */
  EXIT_SIGNAL = 128    /* and its number: a checkpoint was written first */
};

_Noreturn void stop(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* With what the library says. what: "the step". */
_Noreturn void stop_for(int code, const char *what, const sn_context *ctx);

/* Memory of size bytes, zeroed. */
void *allocate(size_t count, size_t size);

#endif
