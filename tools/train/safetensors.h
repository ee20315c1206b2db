/* safetensors.h - files of the format safetensors (https://huggingface.co/docs/safetensors), byte for byte as
 * sn.io.safetensors.encode writes them: larger elements first, then by name. */
#ifndef TRAIN_SAFETENSORS_H
#define TRAIN_SAFETENSORS_H

#include <sinter.h>
#include <stdio.h>

#include "files.h"

typedef struct stored {
  const char *name;
  sn_dtype dtype;
  int rank;
  const int64_t *dims;
  file_view data;
  size_t number; /* the caller's */
} stored;

/* A text as JSON.stringify has it, quotes included. */
void write_json(FILE *out, const char *text);

/* Puts tensors into the order of their elements in a file. */
void safetensors_sort(stored *tensors, size_t count);

/* All that comes before the elements, padded; metadata: JSON of __metadata__, or NULL. To be freed. */
file_view safetensors_head(const stored *tensors, size_t count, const char *metadata);

/* Writes the head and the elements of sorted tensors. */
void safetensors_write(const char *path, file_view head, const stored *tensors, size_t count);

#endif
