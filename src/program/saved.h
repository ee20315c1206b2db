/* saved.h - a program as bytes: its graph after all passes, its arguments, and the contents of the
 * captured ones. Groups, plan and kernels are made again from them, for the machine that reads
 * them: they follow from the graph alone. Of a training step also what its arguments are, and the
 * state that it begins with.
 *
 *   bytes: [ magic | format | Sinter's version | vocabulary | size | checksum | contents ... ]
 *
 * vocabulary: a hash of the names of ops and dtypes, which the contents refer to by number.
 *
 * Reading trusts nothing. What comes out is a sentence of the IR (sn_graph_verify) whose inputs
 * have the types of the arguments, so that it is as safe to compile as what a user builds. */
#ifndef SN_PROGRAM_SAVED_H
#define SN_PROGRAM_SAVED_H

#include "graph/regions.h"

/* What makes a program a training step; sn_step_info in sinter.h says how its arguments lie. */
typedef struct sn_saved_step {
  bool deterministic; /* of the context that saved it */
  sn_dtype precision;
  size_t n_state, n_rates;
  const char **paths;  /* per input */
  bool *split; /* per value of the state, of one of several processes: it has a part of it; NULL: all whole */
  const void **values; /* of the state and the rates: their elements */
} sn_saved_step;

typedef struct sn_saved {
  bool fusion, jit, excess; /* as it was compiled */
  size_t memory_budget;
  const char *note; /* the user's, or NULL */
  sn_graph graph;
  size_t n_inputs, n_captured;
  sn_type *types;      /* per argument: inputs, then captured ones */
  bool *donate;        /* per input */
  const void **values; /* per captured argument: its elements */
  bool is_step;
  sn_saved_step step;
} sn_saved;

/* The bytes in arena. */
sn_status sn_saved_write(sn_saved *saved, sn_arena *arena, const void **bytes, size_t *size);

/* SN_ERR_ARGUMENT, and what is wrong, for bytes that are not a program's of this version. Values
 * stay where they are among the bytes. */
sn_status sn_saved_read(const void *bytes, size_t size, sn_arena *arena, sn_saved *out);

/* Makes head and checksum fit the contents. For tests that change these. */
void sn_saved_seal(void *bytes, size_t size);

#endif
