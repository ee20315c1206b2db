/* writer.h - the lines of a C function: what the files that print kernels share. */
#ifndef SN_CSOURCE_WRITER_H
#define SN_CSOURCE_WRITER_H

#include "base/text.h"
#include "fuse/group.h"

/* The place in a group's function where the next line goes. */
typedef struct sn_c_writer {
  sn_text *t;
  const sn_group *g;
  sn_env *env;
  int depth; /* of loops around it */
} sn_c_writer;

void sn_c_begin_line(sn_c_writer *w);

/* Loops over <name>0, <name>1 ... */
void sn_c_open_loops(sn_c_writer *w, char name, const int64_t *dims, int rank);
void sn_c_close_loops(sn_c_writer *w, int rank);

/* write_call.c: what a call does at one point of the space. */
sn_status sn_c_add_call(sn_c_writer *w);

#endif
