/* writer.h - lines and loops of a C function, shared by the files that print kernels. */
#ifndef SN_CSOURCE_WRITER_H
#define SN_CSOURCE_WRITER_H

#include "base/text.h"
#include "fuse/group.h"

/* The state while a group's function is printed. */
typedef struct sn_c_writer {
  sn_text *t;
  const sn_group *g;
  sn_env *env;
  int depth; /* number of loops around the next line */
} sn_c_writer;

void sn_c_begin_line(sn_c_writer *w);

/* Open and close loops over <name>0, <name>1 ... */
void sn_c_open_loops(sn_c_writer *w, char name, const int64_t *dims, int rank);
void sn_c_close_loops(sn_c_writer *w, int rank);

/* write_call.c: adds what a call does at one point of the space. */
sn_status sn_c_add_call(sn_c_writer *w);

#endif
