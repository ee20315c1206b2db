/* shape.h - dtypes and shapes, and the shape rule of every class of op.
 *
 * Canonical graph: elementwise inputs have identical shapes and dtypes. Broadcasting and promotion
 * are made explicit (broadcast and astype nodes) by the builders in front (tensor/apply.c), so that
 * derivative rules, passes and fusion never think of them. */
#ifndef SN_GRAPH_SHAPE_H
#define SN_GRAPH_SHAPE_H

#include "graph/ops.h"

typedef struct sn_type {
  sn_dtype dtype;
  int32_t rank;
  int64_t dims[SN_MAX_RANK]; /* unused ones are 0, so that types compare with memcmp */
} sn_type;

sn_type sn_type_scalar(sn_dtype dtype);
bool sn_type_equal(const sn_type *a, const sn_type *b);
bool sn_same_dims(const sn_type *a, const sn_type *b);

/* Number of elements of a checked type. */
int64_t sn_type_size(const sn_type *type);
size_t sn_type_bytes(const sn_type *type);

/* Rank in range, no negative size, byte count representable; names what for the error text. */
sn_status sn_type_check(sn_env *env, const sn_type *type, const char *what);

/* With one more axis in front, and without the first one. */
sn_type sn_type_stacked(const sn_type *slice, int64_t size);
sn_type sn_type_slice(const sn_type *stack);

/* Row-major strides in elements. */
void sn_row_major(const sn_type *type, int64_t strides[SN_MAX_RANK]);

/* Row-major number of an element -> its index, and back. */
void sn_unravel(const sn_type *type, int64_t flat, int64_t *index);
int64_t sn_ravel(const sn_type *type, const int64_t *index);

/* The permutation that moves axis `from` to place `to`, the others in their order. */
void sn_move_axis(int rank, int from, int to, int64_t *perm);

/* The type of windows along an axis, which must have room for one more dimension. */
void sn_windows_type(const sn_type *x, int axis, int64_t out, int64_t size, sn_type *type);

/* Writes "(2, 3)"; returns buffer. Errors write shapes by %*p. */
#define SN_SHAPE_TEXT 160
const char *sn_shape_text(const sn_type *type, char buffer[SN_SHAPE_TEXT]);

/* NumPy broadcasting of two shapes into *out (dims and rank only). */
sn_status sn_broadcast_dims(sn_env *env, const char *what, const sn_type *a, const sn_type *b,
                            sn_type *out);

/* Attributes are int64, as the op's row lists them: attributes.h. */
#define SN_MAX_ATTRS (2 * SN_MAX_RANK + 1)

double sn_attr_double(int64_t bits);
int64_t sn_double_attr(double value);

/* The grammar of the IR: checks the inputs of one op and gives its type. Leaves, views, pad,
 * conv and cast have a type that does not follow from the inputs: the caller proposes it in *type
 * and it is checked. */
sn_status sn_infer(sn_env *env, sn_op op, const sn_type *const *in, size_t n_in,
                   const int64_t *attrs, size_t n_attrs, sn_type *type);

#endif
