/* record.h - records what the compiler does as one JSON text while it works, for
 * sn_program_inspection and sn.inspect (js/src/inspect.ts has the format as types).
 *
 *   {"stages": [{name, text, compileMs, rewrites, nodes, edges, outputs, regions, dot} ...],
 *    "kernels": [...], "memory": {...}, "nodes": ..., "flops": ..., "bytes": ...}
 *
 * A region has nodes, edges, outputs and regions of its own; a node of control flow says which regions it runs
 * ("control"). An edge of the stage "groups" has "cut": true if one kernel computes the value and another one reads it.
 *
 * Only compilations that ask for it (sn_compile_options.record) are recorded. */
#ifndef SN_INSPECT_RECORD_H
#define SN_INSPECT_RECORD_H

#include "base/text.h"
#include "run/executable.h"

typedef struct sn_record {
  sn_text json;
  sn_text rewrites; /* rewrites of the stage under way */
  double began;     /* time at which it began, in ms */
} sn_record;

/* arena: holds the text until sn_record_end, and temporaries. */
void sn_record_begin(sn_record *record, sn_arena *arena);

/* A rule of the pass under way has replaced node `from` of the graph before by node `to` of its own. */
void sn_record_rewrite(sn_record *record, const char *rule, sn_id from, sn_id to);

/* Ends the stage that made the graph; groups is NULL before there are kernels. */
void sn_record_graph(sn_record *record, const char *stage, const char *text, const sn_graph *graph,
                     const sn_groups *groups);

/* Ends a stage whose nodes are kernels. */
void sn_record_kernels(sn_record *record, const char *stage, const char *text,
                       const sn_groups *groups);

/* Adds kernels, memory and totals, and gives the whole text to the executable's program. */
sn_status sn_record_end(sn_record *record, sn_executable *exe);

#endif
