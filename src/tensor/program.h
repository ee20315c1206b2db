/* program.h - what stands behind an sn_program. */
#ifndef SN_TENSOR_PROGRAM_H
#define SN_TENSOR_PROGRAM_H

#include "tensor/tensor.h"

struct sn_program {
  sn_context *ctx;
  sn_compiled *compiled;
  size_t n_inputs, n_outputs;
  size_t n_captured;    /* arguments n_inputs .. are captured tensors, then the prelude's results */
  sn_tensor **captured; /* a result is NULL until the prelude has run */
  sn_program *prelude;  /* what depends on captured tensors alone; or NULL */
  sn_type *types;       /* of the inputs */
  bool *donate;
  sn_arena listing; /* of the code or bytes asked for last */
  sn_arena tracing; /* of the whole graph: with a prelude, as C source runs at once, or on record */
  sn_graph whole;
  sn_arena cutting; /* of what is made of it to be compiled: until that is done */
  sn_compile_options options;
  char *note; /* that it was saved with, or NULL */
  size_t note_bytes;
  bool asks_tuning; /* option tune */
  bool tunes;       /* it is to find out for itself: what runs, and of which nothing is known */
  struct sn_tuner *tuner; /* finds the form that compiled should be; it stays for who asks what was tried. Or NULL */
  bool tuned;             /* that is done */
  struct sn_program_step *step; /* of a training step that was loaded; or NULL */
};

/* One with nothing compiled yet; sn_program_release takes it back at any stage. */
sn_status sn_program_new(sn_context *ctx, size_t n_inputs, size_t n_outputs, sn_program **out);

/* sn_compile_with in pieces, for a caller that has other things to do in between: all that is read of tensors is read
 * when it begins. It goes on until the clock of sn_host_now_ms shows `until`. Until it is done, or after a failure, the
 * program can only be released. */
sn_status sn_program_begin_compile(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                                   sn_tensor *const *outputs, size_t n_outputs,
                                   const sn_program_options *options, sn_program **out);
sn_status sn_program_continue_compile(sn_program *program, double until, bool *done);

/* All that was captured gets its value, results of the prelude among it. */
sn_status sn_program_capture_all(sn_program *program, sn_arena *arena);

/* Runs it at once and looks for the first value that is not finite: *out tells of it (inspect/watched.h), or is NULL. */
sn_status sn_program_watch(sn_program *program, sn_tensor *const *inputs, sn_tensor **outputs,
                           const char **out);

/* save.c: the program as bytes; step: what makes it a training step, or NULL. */
struct sn_saved_step;
sn_status sn_program_write(sn_program *program, const char *note, const struct sn_saved_step *step,
                           const void **bytes, size_t *size);

/* save.c: a program of bytes; is_step: one that has to be a training step. */
sn_status sn_program_read(sn_context *ctx, const void *bytes, size_t size, bool is_step,
                          sn_program **out);

/* save.c: a tensor with the elements that were read. */
sn_status sn_load_value(sn_context *ctx, const sn_type *type, const void *elements,
                        sn_tensor **out);

/* training_step.c: program, which was read, becomes the step. */
struct sn_saved;
sn_status sn_step_adopt(sn_program *program, const struct sn_saved *saved);
void sn_step_forget(sn_program *program);

/* Where the elements are of value i of the state, then the rates, that a step was read with. */
const void *sn_step_value(const sn_program *program, size_t i);

/* The arena of what was asked for last, emptied. */
sn_arena *sn_program_listing(sn_program *program);

#endif
