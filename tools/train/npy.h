/* npy.h - arrays of numpy's files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), as
 * sn.io.npy.decode reads them with { convert: true }: row-major, lowest bytes first, integers of other sizes as int32. */
#ifndef TRAIN_NPY_H
#define TRAIN_NPY_H

#include <sinter.h>

#include "files.h"

typedef struct npy_array {
  const char *path;
  file_view file;
  sn_dtype dtype;
  int rank;
  int64_t dims[SN_MAX_RANK];
  const void *elements; /* in file, or memory of its own */
  uint32_t hash;        /* of the file */
} npy_array;

/* Stops the program where the file is none, or lies. */
npy_array npy_open(const char *path);
void npy_close(npy_array *a);

#endif
