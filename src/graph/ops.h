/* ops.h - what the table says of each op, as data. Questions about ops are asked here; nowhere else
 * stands a list of ops. */
#ifndef SN_GRAPH_OPS_H
#define SN_GRAPH_OPS_H

#include "graph/dtypes.h"

/* The shape rule and lowering an op follows. */
typedef enum sn_op_class {
  SN_CLASS_LEAF,
  SN_CLASS_VIEW,
  SN_CLASS_PAD,
  SN_CLASS_CONCAT,
  SN_CLASS_MATMUL,
  SN_CLASS_SOFTMAX, /* reductions, e^x and a quotient from the stage "expand" on */
  SN_CLASS_CONV,    /* windows and a matmul from the stage "expand" on: graph/conv.c */
  SN_CLASS_CAST,
  SN_CLASS_GATHER, /* along one axis, with a kernel of its own; and the next three */
  SN_CLASS_SCATTER,
  SN_CLASS_SORT,
  SN_CLASS_SCAN,
  SN_CLASS_BLOCKS, /* of rows of quantised blocks, with a kernel of its own: graph/quant_blocks.h */
  SN_CLASS_RAGGED, /* reductions of rows that follow each other: (n, ...), (m) -> (m, ...) */
  SN_CLASS_REDUCE,
  SN_CLASS_MAP,     /* elementwise, result dtype = input dtype */
  SN_CLASS_COMPARE, /* elementwise, result bool */
  SN_CLASS_SELECT,  /* elementwise, (bool, x, y) -> x or y */
  SN_CLASS_MARKER,  /* elementwise, its input: for autodiff, and gone when groups are made */
  SN_CLASS_COLLECTIVE, /* between processes: views and sums in one of them, gone when groups are made; else steps */
  SN_CLASS_CONTROL, /* control flow: runs graphs of its own (graph/regions.h) */
  SN_CLASS_RESULT   /* one of its results */
} sn_op_class;

/* Sets of dtypes an op takes, as bits 1 << dtype. */
enum {
  SN_TYPES_F = 1 << SN_F32 | 1 << SN_F64,
  SN_TYPES_I = 1 << SN_I32,
  SN_TYPES_B = 1 << SN_BOOL,
  SN_TYPES_FI = SN_TYPES_F | SN_TYPES_I,
  SN_TYPES_FIB = SN_TYPES_FI | SN_TYPES_B,
  SN_TYPES_BITS = 1 << SN_F32 | 1 << SN_I32, /* of one size */
  SN_TYPES_ANY = (1 << SN_DTYPES) - 1        /* those of storage, too */
};

/* The dtype of the result. */
typedef enum sn_result {
  SN_RESULT_SAME, /* that of the values */
  SN_RESULT_BOOL,
  SN_RESULT_I32,
  SN_RESULT_GIVEN /* the caller says which */
} sn_result;

/* Which elements of the result can be -0: only those made of a -0 of ... Where it is not known, any. */
typedef enum sn_zero_rule {
  SN_ZERO_UNKNOWN,
  SN_ZERO_NEVER,
  SN_ZERO_OF_ANY,   /* ... any input */
  SN_ZERO_OF_FIRST, /* ... the first input */
  SN_ZERO_OF_ALL    /* ... all inputs */
} sn_zero_rule;

/* In which inputs an op is linear, up to its attribute of kind VALUE. Of elementwise ops their derivative says it. */
typedef enum sn_linearity {
  SN_LINEAR_UNKNOWN,
  SN_LINEAR_IN_FIRST,
  SN_LINEAR_IN_ALL, /* its floats, taken together: a sum of them */
  SN_LINEAR_IN_EACH /* taken alone: a product of them */
} sn_linearity;

#define SN_MAX_ARITY 3

/* A fact that names another op names none by SN_OP_NONE. */
#define SN_OP_NONE SN_OP_input

/* An attribute of a node: attributes.h. */
typedef enum sn_attr_kind {
  SN_ATTR_END,         /* behind the last one */
  SN_ATTR_AXIS,        /* 0 .. rank - 1 */
  SN_ATTR_AXES,        /* a bit for each axis */
  SN_ATTR_PERMUTATION, /* one per axis: the input's axis that comes to this place */
  SN_ATTR_PER_AXIS, /* a number per axis, 0 where it is left alone; its range is the shape rule's */
  SN_ATTR_STEP_PER_AXIS, /* the same, 1 where it is left alone */
  SN_ATTR_PER_SPATIAL,   /* the same per axis but the first and the last */
  SN_ATTR_COUNT,         /* at least 1 */
  SN_ATTR_NUMBER,        /* at least 0 */
  SN_ATTR_FLAG,          /* 0 or 1 */
  SN_ATTR_VALUE,         /* the bits of a double */
  SN_ATTR_ARGUMENT,      /* the number of a program's argument */
  SN_ATTR_REGION /* of a graph's node: the number of a region; of a tensor: the address of one */
} sn_attr_kind;

typedef struct sn_attr {
  const char *name;
  sn_attr_kind kind;
} sn_attr;

typedef struct sn_op_info {
  const char *name;
  const sn_attr *attrs; /* in their order, up to one of kind SN_ATTR_END */
  uint16_t types;       /* SN_TYPES_*: dtypes of the values */
  uint8_t arity;        /* 0 for leaves and for concat, which takes any number */
  uint8_t cost;         /* flops per element */
  sn_op_class kind;
  sn_result result;
  sn_zero_rule minus_zero; /* of floats */
  sn_linearity linear;
  bool commutative;
  bool not_negative; /* of floats: NaN or >= +0 */
  bool whole;        /* of floats: NaN, infinite or a whole number */
  bool of_nan;       /* a comparison that is true of NaN */
  bool widens;       /* sums and products of bools and small integers are int32 */
  /* A reduction to one of the elements: it rounds nothing, in any order; bools stay bools; of no
   * elements there is none. */
  bool picks;
  sn_op opposite; /* of a comparison: not (x op y) is x opposite y where there is no NaN */
  sn_op on_bools; /* what it is of bools, as in NumPy; else they count as 0 and 1 */
  sn_op step;     /* of ops that put elements together: the elementwise op of two of them */
  /* Of bools: the op that does the same to each bit of an int32; of one input: with ones. */
  sn_op on_bits;
  /* Of a scatter: the reduction of bags of rows that does the same; of that one: the reduction of axes. */
  sn_op gathered;
} sn_op_info;

extern const sn_op_info sn_op_table[SN_OP_COUNT];

/* What only tests and measurements ask, so a page does not download it. */
typedef struct sn_op_bounds {
  double lo, hi; /* test domain */
  double ulp;    /* bound on the float32 error */
} sn_op_bounds;

extern const sn_op_bounds sn_op_bounds_table[SN_OP_COUNT];

static inline const sn_op_info *sn_op_describe(sn_op op) { return &sn_op_table[op]; }

/* Whether a node of the op takes values of this dtype. */
static inline bool sn_op_takes(sn_op op, sn_dtype dtype) {
  return sn_op_table[op].types >> dtype & 1;
}

/* One value per element of the output's index space, from the same element of each input. */
static inline bool sn_op_is_elementwise(sn_op op) {
  const sn_op_class kind = sn_op_table[op].kind;
  return kind == SN_CLASS_MAP || kind == SN_CLASS_COMPARE || kind == SN_CLASS_SELECT ||
         kind == SN_CLASS_MARKER || kind == SN_CLASS_CAST;
}

/* Value at a reduction's start: 0, -infinity ... */
double sn_reduce_identity(sn_op op, sn_dtype dtype);

/* Run by a kernel of its own: along one axis, attribute 0 (kernels/kernel_call.c), or over quantised blocks
 * (kernels/kernel_blocks.c); or handed to the processes (run/exchange.h). But a gather's rows may be looked up by those that read them (fuse/lookup.c). */
static inline bool sn_op_is_call(sn_op op) {
  const sn_op_class kind = sn_op_table[op].kind;
  return kind == SN_CLASS_GATHER || kind == SN_CLASS_SCATTER || kind == SN_CLASS_SORT ||
         kind == SN_CLASS_SCAN || kind == SN_CLASS_BLOCKS || kind == SN_CLASS_COLLECTIVE;
}

#endif
