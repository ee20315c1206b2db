/* dtypes.h - what the table dtypes.def says of each, as data. */
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
  const char *name;   /* "float32" */
  const char *c_type; /* of an element in memory */
  uint8_t bytes;
  uint8_t order;       /* see dtypes.def */
  int32_t least, most; /* of kind SMALL: its range */
  sn_dtype_kind kind;
  sn_dtype wide;
} sn_dtype_info;

/* How many there are. */
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

/* Whether it is for storage only. In a graph inputs, views, gather and astype from and to its wide
 * dtype have it, and what products read; all other ops are between two such casts. */
static inline bool sn_dtype_is_small(sn_dtype dtype) { return dtype > SN_BOOL; }

/* What holds all its values and computes with them; others are their own. */
static inline sn_dtype sn_dtype_wide(sn_dtype dtype) { return sn_dtype_table[dtype].wide; }

#endif
