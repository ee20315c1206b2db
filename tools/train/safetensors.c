#include "safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stop.h"

static const char *const names[] = {
    [SN_F32] = "F32", [SN_F64] = "F64",   [SN_I32] = "I32", [SN_BOOL] = "BOOL",
    [SN_F16] = "F16", [SN_BF16] = "BF16", [SN_I8] = "I8",   [SN_U8] = "U8"};

void write_json(FILE *out, const char *text) {
  static const char plain[] = "\b\f\n\r\t\"\\", escaped[] = "bfnrt\"\\";
  fputc('"', out);
  for (; *text; text++) {
    const char *found = strchr(plain, *text);
    if (found)
      fprintf(out, "\\%c", escaped[found - plain]);
    else if ((unsigned char)*text < 0x20)
      fprintf(out, "\\u%04x", (unsigned)*text);
    else
      fputc(*text, out);
  }
  fputc('"', out);
}

static int compare(const void *left, const void *right) {
  const stored *a = left, *b = right;
  const size_t x = sn_dtype_bytes(a->dtype), y = sn_dtype_bytes(b->dtype);
  return x != y ? (x < y ? 1 : -1) : strcmp(a->name, b->name);
}

void safetensors_sort(stored *tensors, size_t count) {
  qsort(tensors, count, sizeof *tensors, compare);
}

static void write_entry(FILE *out, const stored *t, size_t begin) {
  write_json(out, t->name);
  fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", names[t->dtype]);
  for (int i = 0; i < t->rank; i++) fprintf(out, "%s%" PRId64, i ? "," : "", t->dims[i]);
  fprintf(out, "],\"data_offsets\":[%zu,%zu]}", begin, begin + t->data.size);
}

file_view safetensors_head(const stored *tensors, size_t count, const char *metadata) {
  char *text = NULL;
  size_t size = 0, at = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) stop(EXIT_TRAINING, "out of memory");
  fwrite("\0\0\0\0\0\0\0", 8, 1, out); /* for the length */
  fprintf(out, "{%s%s", metadata ? "\"__metadata__\":" : "", metadata ? metadata : "");
  for (size_t i = 0; i < count; at += tensors[i++].data.size) {
    if (i || metadata) fputc(',', out);
    write_entry(out, &tensors[i], at);
  }
  fputc('}', out);
  fflush(out);
  while (size % 8) {
    fputc(' ', out);
    fflush(out);
  }
  if (fclose(out)) stop(EXIT_TRAINING, "out of memory");
  for (int i = 0; i < 8; i++) text[i] = (char)((size - 8) >> 8 * i);
  return (file_view){(const uint8_t *)text, size};
}

void safetensors_write(const char *path, file_view head, const stored *tensors, size_t count) {
  file_view *pieces = allocate(count + 1, sizeof *pieces);
  pieces[0] = head;
  for (size_t i = 0; i < count; i++) pieces[i + 1] = tensors[i].data;
  file_replace(path, pieces, count + 1);
  free(pieces);
}
