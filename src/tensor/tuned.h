/* tuned.h - what tuning has found on this machine: a tuning for each graph, instruction set and number of workers. Kept in
 * the context; as text for a file or a page's storage:
 *
 *   sinter tuned 1
 *   avx2 2 5f1a77c0 213 1c000ff 0 lanes*0.25 task*4
 *
 * A line: instruction set, workers, hash and number of nodes of the graph, switches, memory budget, factors of knobs. A
 * wrong line can make a program slower and nothing else. */
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
  sn_tuning_report report; /* of a text: what is chosen, without times */
} sn_kept_tuning;

/* Keeps it for graphs like this one's; without memory for that it is not kept. */
void sn_tuned_keep(sn_context *ctx, const sn_compiled *compiled, const sn_tuning *tuning,
                   const sn_tuning_report *report);

/* What is kept for this graph, until the next one is; NULL: nothing. A program on record finds what one that runs has found. */
const sn_kept_tuning *sn_tuned_find(const sn_context *ctx, const sn_compiled *compiled);

void sn_tuned_free(sn_context *ctx);

#endif
