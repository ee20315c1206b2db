/* tuned.h - keeps what tuning has found on this machine: a tuning for each graph, instruction set and number of workers. It is
 * kept in the context, and can be written as text for a file or a page's storage:
 *
 *   sinter tuned 1
 *   avx2 2 1595570112 213 29360383 0 lanes*0.25 task*4
 *
 * A line has the instruction set, workers, hash and number of nodes of the graph, switches, memory budget, and factors of
 * knobs; numbers are decimal. A wrong line can make a program slower and nothing else. */
#ifndef SN_TENSOR_TUNED_H
#define SN_TENSOR_TUNED_H

#include "tensor/tensor.h"
#include "tensor/tuning_report.h"

typedef struct sn_kept_tuning {
  sn_isa_id isa;
  int workers;
  uint32_t hash, nodes, switches;
  size_t memory_budget;
  sn_tuning tuning;
  sn_tuning_report report; /* if it was read from text: what is chosen, without times */
} sn_kept_tuning;

/* Keeps a tuning for equal graphs; drops it if memory runs out. */
void sn_tuned_keep(sn_context *ctx, const sn_compiled *compiled, const sn_tuning *tuning,
                   const sn_tuning_report *report);

/* Forgets what is kept for this graph. */
void sn_tuned_drop(sn_context *ctx, const sn_compiled *compiled);

/* What is kept for this graph, or NULL; valid until something else is kept. Programs on record find the tuning of programs
 * that are not. */
const sn_kept_tuning *sn_tuned_find(const sn_context *ctx, const sn_compiled *compiled);

void sn_tuned_free(sn_context *ctx);

#endif
