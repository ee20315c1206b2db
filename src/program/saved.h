/* saved.h - a program as bytes: its graph after all passes, the types of its arguments, and the
 * contents of the captured ones. Groups, plan and kernels are not saved: the machine that reads the
 * program makes them again from the graph. A training step also has the meaning of its arguments and
 * its initial state.
 *
 *   bytes: [ magic | format | Sinter's version | vocabulary | size | checksum | contents ... ]
 *
 * vocabulary: a hash of the names of ops and dtypes, which the contents refer to by number.
 *
 * Reading trusts nothing. The graph that is read has been verified (sn_graph_verify) and its inputs
 * have the types of the arguments, so it is as safe to compile as a graph that a user builds. */
#ifndef SN_PROGRAM_SAVED_H
#define SN_PROGRAM_SAVED_H

#include "graph/regions.h"

/* What a training step has besides a program. sn_step_info in sinter.h says in which order its arguments are. */
typedef struct sn_saved_step {
  bool deterministic; /* of the context that saved it */
  sn_dtype precision;
  size_t n_state, n_rates;
  const char **paths; /* per input: its name */
  /* Per value of the state: this process of several has only a part of it. NULL: all are whole. Not saved. */
  bool *split;
  const void **values; /* per value of the state, then per rate: its elements */
} sn_saved_step;

typedef struct sn_saved {
  bool fusion, jit, excess; /* options of its compile */
  size_t memory_budget;     /* bytes; 0: none */
  const char *note;         /* the user's, or NULL */
  sn_graph graph;
  size_t n_inputs, n_captured;
  sn_type *types;      /* per argument: the inputs, then the captured ones */
  bool *donate;        /* per input */
  const void **values; /* per captured argument: its elements */
  bool is_step;
  sn_saved_step step;
} sn_saved;

/* Writes a program to *bytes, which are allocated in arena. */
sn_status sn_saved_write(sn_saved *saved, sn_arena *arena, const void **bytes, size_t *size);

/* Reads a program. SN_ERR_ARGUMENT, with a message, if the bytes are not a program that this version
 * has saved. Elements of values are not copied: out->values point into bytes. */
sn_status sn_saved_read(const void *bytes, size_t size, sn_arena *arena, sn_saved *out);

/* Writes the head, with its checksum, for the contents. Also for tests that change the contents. */
void sn_saved_write_head(void *bytes, size_t size);

#endif
