/* serial_elements.h - a loop over tiny programs (kernels/serial_loop.h) as scalar code: where each element of each value is
 * kept, and how groups are unrolled element by element.
 *
 *   emit_serial.c    control flow: sections of straight-line code, and the loops and branches between them
 *   serial_groups.c  the groups within a section */
#ifndef SN_JIT_SERIAL_ELEMENTS_H
#define SN_JIT_SERIAL_ELEMENTS_H

#include "jit/body.h"
#include "kernels/serial_loop.h"

typedef struct sn_element {
  uint32_t leaf;    /* where it is kept for other sections, or SN_NONE */
  uint32_t section; /* the section, counted from 1, in which node `now` is its value */
  sn_vec_value now;
} sn_element;

/* Where the elements of a value are kept: in memory, or each in a register, or, if no other section
 * reads the value, only as nodes of its section. */
typedef struct sn_home {
  const sn_type *type;
  bool in_memory, in_registers;
  uint32_t pointer; /* in memory: local with the address; */
  int64_t offset;   /* elements from there to the first one; */
  int level;        /* level of a read (vector.h): 0 if the elements never change during the call */
  sn_element *elements;
} sn_home;

typedef struct sn_serial {
  sn_jit j;                /* first member: sn_serial_read casts an sn_jit to this */
  sn_home **homes;         /* homes of the values of the region under way, by value */
  int64_t at[SN_MAX_RANK]; /* indices of the point being described: space, then reduced */
  sn_vec_value *kept;      /* [slot][point of a row] */
  int64_t row_points;
  uint32_t n_registers;
} sn_serial;

/* The node of element i as it is now; and gives it a new value. */
sn_vec_value sn_serial_element(sn_serial *s, sn_home *home, int64_t i);
void sn_serial_set(sn_serial *s, sn_home *home, int64_t i, sn_vec_value value);

/* Describes all points of a group in the section under way. */
sn_status sn_serial_group(sn_serial *s, const sn_group *group, const sn_kernel *kernel);

/* An sn_jit.read: a load or a kept value of a body. */
sn_vec_value sn_serial_read(sn_jit *j, const sn_body *body, const sn_insn *insn);

#endif
