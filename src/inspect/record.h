/* record.h - what the compiler does, written down as one JSON text while it works, for
 * sn_program_inspection and sn.inspect (js/src/inspect.ts has the form as types).
 *
 *   {"stages": [{name, text, compileMs, rewrites, nodes, edges, outputs, regions, dot} ...],
 *    "kernels": [...], "memory": {...}, "nodes": ..., "flops": ..., "bytes": ...}
 *
 * A region has nodes, edges, outputs and regions itself; a node of control flow says which ones it runs ("control").
 * An edge of the stage "groups" has "cut": true where a kernel reads what another one computed.
 *
 * Only compilations that ask for it are recorded; the others never come here. */
#ifndef SN_INSPECT_RECORD_H
#define SN_INSPECT_RECORD_H

#include "base/text.h"
#include "run/executable.h"

typedef struct sn_record {
  sn_text json;
  sn_text rewrites; /* of the stage under way */
  double began;     /* when it began */
} sn_record;

/* arena: for temporaries. */
void sn_record_begin(sn_record *record, sn_arena *arena);

/* A rule of the pass under way put a node of its graph in the place of one of the graph before. */
void sn_record_rewrite(sn_record *record, const char *rule, sn_id from, sn_id to);

/* The stage that made graph ends; groups: NULL before there are kernels. */
void sn_record_graph(sn_record *record, const char *stage, const char *text, const sn_graph *graph,
                     const sn_groups *groups);

/* A stage ends whose nodes are kernels. */
void sn_record_kernels(sn_record *record, const char *stage, const char *text,
                       const sn_groups *groups);

/* Adds the rest, and puts the whole text into the executable. */
sn_status sn_record_end(sn_record *record, sn_executable *exe);

#endif
