/* program.h - the struct behind the handle sn_program. */
#ifndef SN_TENSOR_PROGRAM_H
#define SN_TENSOR_PROGRAM_H

#include "tensor/tensor.h"

struct sn_program {
  sn_context *ctx;
  sn_compiled *compiled;
  size_t n_inputs, n_outputs;
  size_t n_captured;    /* arguments from n_inputs on: captured tensors, then the prelude's results */
  sn_tensor **captured; /* their tensors; a result is NULL until the prelude has run */
  sn_program *prelude;  /* computes what depends on captured tensors alone; or NULL */
  sn_type *types;       /* of the inputs */
  bool *donate;
  sn_arena listing; /* holds the code or bytes that were asked for last */
  sn_arena tracing; /* holds `whole`; freed after compiling unless there is a prelude or it is on record */
  sn_graph whole;   /* the traced graph, prelude included: for C source, which has no prelude, and for inspection */
  sn_arena cutting; /* holds the graphs that are compiled, until that is done */
  sn_compile_options options;
  char *note; /* the note that it was saved with, or NULL */
  size_t note_bytes;
  bool asks_tuning; /* option tune */
  bool tunes;       /* it has to tune itself: it is not on record, and no tuning of its graph is known */
  sn_compiled *untuned; /* while a form with a known tuning is compiled: the one without; else NULL */
  struct sn_tuner *tuner; /* finds the best form; kept afterwards to tell what was tried. Or NULL */
  bool tuned;             /* tuning is done, and compiled is the best form */
  struct sn_program_step *step; /* what makes a loaded program a training step; or NULL */
};

/* A program with nothing compiled yet. sn_program_release frees it at any stage. */
sn_status sn_program_new(sn_context *ctx, size_t n_inputs, size_t n_outputs, sn_program **out);

/* sn_compile_with in pieces, for a caller that has other things to do in between. Tensors are read only when it begins.
 * Each call continues until sn_host_now_ms() reaches `until`. Until it is done, and after a failure, the program can only
 * be released. */
sn_status sn_program_begin_compile(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                                   sn_tensor *const *outputs, size_t n_outputs,
                                   const sn_program_options *options, sn_program **out);
sn_status sn_program_continue_compile(sn_program *program, double until, bool *done);

/* Evaluates all captured tensors, and runs the prelude for its results. */
sn_status sn_program_capture_all(sn_program *program, sn_arena *arena);

/* Runs the program at once and looks for the first value that is not finite. *out is JSON about it (inspect/watched.h), or
 * NULL. */
sn_status sn_program_watch(sn_program *program, sn_tensor *const *inputs, sn_tensor **outputs,
                           const char **out);

/* save.c: the program as bytes, in its listing arena. step: what makes it a training step, or NULL. */
struct sn_saved_step;
sn_status sn_program_write(sn_program *program, const char *note, const struct sn_saved_step *step,
                           const void **bytes, size_t *size);

/* save.c: the program of bytes. is_step: it has to be a training step. */
sn_status sn_program_read(sn_context *ctx, const void *bytes, size_t size, bool is_step,
                          sn_program **out);

/* save.c: a tensor with a copy of the elements. */
sn_status sn_load_value(sn_context *ctx, const sn_type *type, const void *elements,
                        sn_tensor **out);

/* training_step.c: makes a program that was read a training step; frees what makes it one. */
struct sn_saved;
sn_status sn_step_adopt(sn_program *program, const struct sn_saved *saved);
void sn_step_forget(sn_program *program);

/* The elements of value i of the first state, followed by the rates, that the step was read with. */
const void *sn_step_value(const sn_program *program, size_t i);

/* Empties the arena for what is asked for, and returns it. */
sn_arena *sn_program_listing(sn_program *program);

#endif
