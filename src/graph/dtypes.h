/* dtypes.h - the table dtypes.def as data, and questions about dtypes. */
#ifndef SN_GRAPH_DTYPES_H
#define SN_GRAPH_DTYPES_H

#include "base/env.h"

typedef enum sn_dtype_kind {
  SN_KIND_FLOAT,
  SN_KIND_INT,
  SN_KIND_FLAG,
  SN_KIND_HALF,
  SN_KIND_SMALL
} sn_dtype_kind;

typedef struct sn_dtype_info {
  const char *name;    /* "float32" */
  const char *c_type;  /* C type of an element in memory */
  uint8_t bytes;       /* of an element */
  uint8_t order;       /* see dtypes.def */
  int32_t least, most; /* the range of values, only for kind SMALL */
  sn_dtype_kind kind;
  sn_dtype wide;
} sn_dtype_info;

/* The rows' own numbers, and SN_DTYPES, how many there are. */
enum {
#define DTYPE(id, ...) SN_DTYPE_NUMBER_##id,
#include "graph/dtypes.def"
  SN_DTYPES
};

extern const sn_dtype_info sn_dtype_table[SN_DTYPES];

/* A readable name: "float32". */
static inline const char *sn_dtype_name(sn_dtype dtype) { return sn_dtype_table[dtype].name; }

static inline bool sn_dtype_is_known(sn_dtype dtype) { return (unsigned)dtype < SN_DTYPES; }

static inline bool sn_dtype_is_float(sn_dtype dtype) {
  const sn_dtype_kind kind = sn_dtype_table[dtype].kind;
  return kind == SN_KIND_FLOAT || kind == SN_KIND_HALF;
}

/* Whether the dtype is for storage only. In a graph, only inputs, views, gather, astype from and to
 * the wide dtype, and operands of products have such a dtype; all other ops work on the wide dtype,
 * between two casts. */
static inline bool sn_dtype_is_small(sn_dtype dtype) { return dtype > SN_BOOL; }

/* The dtype that computes with a storage dtype's values and holds them all; others are their own. */
static inline sn_dtype sn_dtype_wide(sn_dtype dtype) { return sn_dtype_table[dtype].wide; }

#endif
