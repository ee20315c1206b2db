/* ops.h - the table ops.def as data, and questions about ops. No other file has a list of ops. */
#ifndef SN_GRAPH_OPS_H
#define SN_GRAPH_OPS_H

#include "graph/dtypes.h"

/* The class of an op says which shape rule and which lowering it has. */
typedef enum sn_op_class {
  SN_CLASS_LEAF,
  SN_CLASS_VIEW,
  SN_CLASS_PAD,
  SN_CLASS_CONCAT,
  SN_CLASS_MATMUL,
  SN_CLASS_SOFTMAX, /* the stage "expand" makes it reductions, e^x and a quotient */
  SN_CLASS_CONV,    /* the stage "expand" makes it windows and a matmul: graph/conv_shape.h */
  SN_CLASS_CAST,
  SN_CLASS_GATHER, /* this and the next three: along one axis, with a kernel of their own */
  SN_CLASS_SCATTER,
  SN_CLASS_SORT,
  SN_CLASS_SCAN,
  SN_CLASS_BLOCKS, /* on rows of quantised blocks, with a kernel of its own: graph/quant_blocks.h */
  SN_CLASS_RAGGED, /* reductions of bags of consecutive rows: (n, ...), (m) -> (m, ...) */
  SN_CLASS_REDUCE,
  SN_CLASS_MAP,     /* elementwise, result dtype = input dtype */
  SN_CLASS_COMPARE, /* elementwise, result bool */
  SN_CLASS_SELECT,  /* elementwise, (bool, x, y) -> x or y */
  SN_CLASS_MARKER,  /* elementwise, returns its input: only for autodiff, gone before fusion */
  /* between processes: with one process a view or sum, gone before fusion; else a step */
  SN_CLASS_COLLECTIVE,
  SN_CLASS_CONTROL, /* control flow: runs regions (graph/regions.h) */
  SN_CLASS_RESULT   /* one of the results of control flow */
} sn_op_class;

/* Sets of dtypes that ops take, as bits 1 << dtype. */
enum {
  SN_TYPES_F = 1 << SN_F32 | 1 << SN_F64,
  SN_TYPES_I = 1 << SN_I32,
  SN_TYPES_B = 1 << SN_BOOL,
  SN_TYPES_FI = SN_TYPES_F | SN_TYPES_I,
  SN_TYPES_FIB = SN_TYPES_FI | SN_TYPES_B,
  SN_TYPES_BITS = 1 << SN_F32 | 1 << SN_I32, /* the pair that bitcast converts: equal size */
  SN_TYPES_ANY = (1 << SN_DTYPES) - 1        /* storage dtypes, too */
};

/* The dtype of the result. */
typedef enum sn_result {
  SN_RESULT_SAME, /* the dtype of the values */
  SN_RESULT_BOOL,
  SN_RESULT_I32,
  SN_RESULT_GIVEN /* the caller says which */
} sn_result;

/* Which elements of the result can be -0. */
typedef enum sn_zero_rule {
  SN_ZERO_UNKNOWN,  /* any */
  SN_ZERO_NEVER,    /* none */
  SN_ZERO_OF_ANY,   /* only those computed from a -0 of some input */
  SN_ZERO_OF_FIRST, /* only those computed from a -0 of the first input */
  SN_ZERO_OF_ALL    /* only those computed from a -0 of every input */
} sn_zero_rule;

/* In which inputs an op is linear if its attribute of kind VALUE is 0. Elementwise ops have no such fact: their
 * derivatives tell. */
typedef enum sn_linearity {
  SN_LINEAR_UNKNOWN,
  SN_LINEAR_IN_FIRST,
  SN_LINEAR_IN_ALL, /* in all its floats together, like a sum */
  SN_LINEAR_IN_EACH /* in each input alone, like a product */
} sn_linearity;

#define SN_MAX_ARITY 3

/* In a fact that names another op: there is none. (No fact names SN_OP_input, which is 0.) */
#define SN_OP_NONE SN_OP_input

/* The kind of an attribute of a node: attributes.h. */
typedef enum sn_attr_kind {
  SN_ATTR_END,           /* ends a list of attributes */
  SN_ATTR_AXIS,          /* 0 .. rank - 1 */
  SN_ATTR_AXES,          /* a bit for each axis */
  SN_ATTR_PERMUTATION,   /* per axis of the result: the input's axis that moves there */
  SN_ATTR_PER_AXIS,      /* a number per axis, 0: the op leaves it alone; checked by shape rules */
  SN_ATTR_STEP_PER_AXIS, /* the same, but 1 if the op leaves the axis alone */
  SN_ATTR_PER_SPATIAL,   /* a number per axis except the first and the last */
  SN_ATTR_COUNT,         /* at least 1 */
  SN_ATTR_NUMBER,        /* at least 0 */
  SN_ATTR_FLAG,          /* 0 or 1 */
  SN_ATTR_VALUE,         /* the bits of a double */
  SN_ATTR_ARGUMENT,      /* the number of a program's argument */
  SN_ATTR_REGION         /* the number of a region; of a lazy tensor, the address of one */
} sn_attr_kind;

typedef struct sn_attr {
  const char *name;
  sn_attr_kind kind;
} sn_attr;

typedef struct sn_op_info {
  const char *name;
  const sn_attr *attrs; /* in their order, ended by SN_ATTR_END; NULL if there are none */
  uint16_t types;       /* SN_TYPES_*: dtypes of the values that it takes */
  uint8_t arity;        /* 0 for leaves and for concat, which takes any number */
  uint8_t cost;         /* flops per element */
  sn_op_class kind;
  sn_result result;
  sn_zero_rule minus_zero; /* for floats */
  sn_linearity linear;
  bool commutative;
  bool not_negative; /* for floats: each result is NaN or >= +0 */
  bool whole;        /* for floats: each result is NaN, infinite or a whole number */
  bool of_nan;       /* a comparison that is true if an input is NaN */
  bool widens;       /* its sums or products of bools and small integers are int32 */
  /* A reduction that selects one of the elements: it never rounds, the order does not matter, bools
   * stay bools, and it is an error over no elements. */
  bool picks;
  sn_op opposite; /* of a comparison: not (x op y) = (x opposite y) unless an input is NaN */
  sn_op on_bools; /* its replacement for bools, as in NumPy; none: they count as 0 and 1 */
  sn_op step;     /* of an op that combines elements: the elementwise op that combines two */
  /* Of an op on bools: the op that does the same to each bit of an int32; if it has one input, the
   * second input is all ones. */
  sn_op on_bits;
  /* Of a scatter: the reduction of bags of rows with the same result. Of such a reduction: the
   * reduction over axes. */
  sn_op gathered;
} sn_op_info;

extern const sn_op_info sn_op_table[SN_OP_COUNT];

/* Facts that only tests and measurements use. A table of its own, so that pages do not download it. */
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

/* Whether each element of the result is computed from the same element of each input. */
static inline bool sn_op_is_elementwise(sn_op op) {
  const sn_op_class kind = sn_op_table[op].kind;
  return kind == SN_CLASS_MAP || kind == SN_CLASS_COMPARE || kind == SN_CLASS_SELECT ||
         kind == SN_CLASS_MARKER || kind == SN_CLASS_CAST;
}

/* The identity of a reduction, with which it starts: 0 for sum, -infinity for max ... */
double sn_reduce_identity(sn_op op, sn_dtype dtype);

/* Whether a node of the op is a group of its own with a hand-written kernel: along one axis, attribute 0
 * (kernels/kernel_call.c), or over quantised blocks (kernels/kernel_blocks.c); or an exchange between processes
 * (run/exchange.h). A gather may instead become a load of its readers (fuse/lookup.c). */
static inline bool sn_op_is_call(sn_op op) {
  const sn_op_class kind = sn_op_table[op].kind;
  return kind == SN_CLASS_GATHER || kind == SN_CLASS_SCATTER || kind == SN_CLASS_SORT ||
         kind == SN_CLASS_SCAN || kind == SN_CLASS_BLOCKS || kind == SN_CLASS_COLLECTIVE;
}

#endif
