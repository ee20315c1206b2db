/* shape.h - types (dtype and shape) of values, and the type rule of every op.
 *
 * Canonical graph: elementwise inputs have identical shapes and dtypes. Broadcasting and promotion
 * become explicit broadcast and astype nodes when users' ops are recorded (tensor/apply.c), so
 * derivative rules, passes and fusion need not handle them. */
#ifndef SN_GRAPH_SHAPE_H
#define SN_GRAPH_SHAPE_H

#include "graph/ops.h"

typedef struct sn_type {
  sn_dtype dtype;
  int32_t rank;
  int64_t dims[SN_MAX_RANK]; /* unused ones are 0 */
} sn_type;

sn_type sn_type_scalar(sn_dtype dtype);
bool sn_type_equal(const sn_type *a, const sn_type *b);
bool sn_same_dims(const sn_type *a, const sn_type *b);

/* Number of elements, and of bytes, of a checked type. */
int64_t sn_type_size(const sn_type *type);
size_t sn_type_bytes(const sn_type *type);

/* Fails unless the rank and dtype are known, no size is negative and the byte count fits. what: the
 * op or function that the error names. */
sn_status sn_type_check(sn_env *env, const sn_type *type, const char *what);

/* The type with one more axis of that size in front, and without its first axis. */
sn_type sn_type_stacked(const sn_type *slice, int64_t size);
sn_type sn_type_slice(const sn_type *stack);

/* Row-major strides in elements. */
void sn_row_major(const sn_type *type, int64_t strides[SN_MAX_RANK]);

/* From an element's row-major number to its index along each axis, and back. */
void sn_unravel(const sn_type *type, int64_t flat, int64_t *index);
int64_t sn_ravel(const sn_type *type, const int64_t *index);

/* The permutation (as transpose takes it) that moves axis `from` to place `to` and keeps the order
 * of the others. */
void sn_move_axis(int rank, int from, int to, int64_t *perm);

/* The type of `out` windows of `size` elements along an axis of x: its dim becomes two, so x must have
 * fewer than SN_MAX_RANK. */
void sn_windows_type(const sn_type *x, int axis, int64_t out, int64_t size, sn_type *type);

/* Writes "(2, 3)" and returns buffer. Error messages use the format %*p instead (base/format.h). */
#define SN_SHAPE_TEXT 160
const char *sn_shape_text(const sn_type *type, char buffer[SN_SHAPE_TEXT]);

/* Sets dims and rank of *out to the shape to which a and b broadcast, by NumPy's rules. */
sn_status sn_broadcast_dims(sn_env *env, const char *what, const sn_type *a, const sn_type *b,
                            sn_type *out);

/* Most int64 of a node's attributes (attributes.h); pad has them. A VALUE is a double's bits. */
#define SN_MAX_ATTRS (2 * SN_MAX_RANK + 1)

double sn_attr_double(int64_t bits);
int64_t sn_double_attr(double value);

/* The grammar of the IR: checks the inputs and attributes of one node and sets its type. The types of
 * leaves, views, pad, conv, cast and control flow do not follow from the inputs alone: for these the
 * caller proposes *type, which is checked. */
sn_status sn_infer(sn_env *env, sn_op op, const sn_type *const *in, size_t n_in,
                   const int64_t *attrs, size_t n_attrs, sn_type *type);

#endif
