#include "batches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stop.h"

/* ---- what fits ------------------------------------------------------------------------------- */

/* (60000, 784) as text. */
static const char *shape_text(char *text, size_t size, int rank, const int64_t *dims) {
  size_t at = (size_t)snprintf(text, size, "(");
  for (int i = 0; i < rank && at < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i ? ", " : "", dims[i]);
  if (at < size) snprintf(text + at, size - at, ")");
  return text;
}

static const char *const dtype_names[] = {
    [SN_F32] = "float32", [SN_F64] = "float64",   [SN_I32] = "int32", [SN_BOOL] = "bool",
    [SN_F16] = "float16", [SN_BF16] = "bfloat16", [SN_I8] = "int8",   [SN_U8] = "uint8"};

static void check_array(const npy_array *a, const sn_step_input *input) {
  char is[200], wanted[200];
  bool fits = a->rank == input->rank && input->rank > 0 && a->dtype == input->dtype;
  for (int i = 1; fits && i < a->rank; i++) fits = a->dims[i] == input->dims[i];
  if (!fits)
    stop(EXIT_INPUT, "%s: %s %s does not fit %s of the step, %s %s", a->path, dtype_names[a->dtype],
         shape_text(is, sizeof is, a->rank, a->dims), input->path, dtype_names[input->dtype],
         shape_text(wanted, sizeof wanted, input->rank, input->dims));
}

static const sn_step_input *batch_inputs(const step *s) {
  return s->info->inputs + s->info->n_state + s->info->n_rates;
}

/* The rows that the batches of a step have, whose arrays fit; 0: it takes none. */
static uint64_t rows_of_step(const npy_array *arrays, size_t n, const step *s) {
  const sn_step_input *inputs = batch_inputs(s);
  if (n != s->info->n_batch)
    stop(EXIT_INPUT, "the step takes %zu arrays, %zu are given (--data, --labels)",
         s->info->n_batch, n);
  for (size_t i = 0; i < n; i++) {
    check_array(&arrays[i], &inputs[i]);
    if (inputs[i].dims[0] != inputs[0].dims[0])
      stop(EXIT_INPUT, "the step takes batches whose arrays have different numbers of rows");
  }
  return n ? (uint64_t)inputs[0].dims[0] : 0;
}

static uint64_t rows_of_arrays(const npy_array *arrays, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (arrays[i].dims[0] != arrays[0].dims[0])
      stop(EXIT_INPUT, "%s has %" PRId64 " rows, %s has %" PRId64, arrays[i].path,
           arrays[i].dims[0], arrays[0].path, arrays[0].dims[0]);
  if (n && arrays[0].dims[0] > INT32_MAX)
    stop(EXIT_INPUT, "%s has more than 2^31 rows", arrays[0].path);
  return n ? (uint64_t)arrays[0].dims[0] : 0;
}

/* Rows that fill no batch are a smaller one, for which there is a program, or nobody wants them. */
static void check_last(const batches *b, const options *o, const steps *s) {
  const uint64_t last = s->last.program ? rows_of_step(b->arrays, b->n_arrays, &s->last) : 0;
  if (s->last.program && last != b->over)
    stop(EXIT_INPUT,
         "%s was exported for batches of %" PRIu64 " rows, a pass ends with %" PRIu64
         " rows behind its batches of %" PRIu64,
         s->last.path, last, b->over, b->size);
  if (b->over && !s->last.program && !o->drop_last)
    stop(EXIT_INPUT,
         "a pass over %s ends with %" PRIu64 " rows behind its batches of %" PRIu64
         ": --last FILE takes the step exported for a batch of %" PRIu64
         ", --drop-last leaves them out",
         b->arrays[0].path, b->over, b->size, b->over);
}

batches batches_of(const npy_array *arrays, const options *o, const steps *s) {
  const size_t n = o->n_arrays;
  batches b = {.arrays = arrays, .n_arrays = n, .seed = o->seed, .pass = UINT64_MAX};
  b.size = rows_of_step(arrays, n, &s->whole);
  b.rows = rows_of_arrays(arrays, n);
  if (o->batch && o->batch != b.size)
    stop(EXIT_INPUT, "--batch is %" PRIu64 ", %s was exported for batches of %" PRIu64, o->batch,
         o->step, b.size);
  b.per_pass = !n ? UINT64_MAX : b.size ? b.rows / b.size : 0;
  if (!b.per_pass)
    stop(EXIT_INPUT, "%s has %" PRIu64 " rows, a batch of the step has %" PRIu64, arrays[0].path,
         b.rows, b.size);
  b.over = n ? b.rows % b.size : 0;
  check_last(&b, o, s);
  b.has_last = b.over && s->last.program;
  b.per_pass += b.has_last;
  b.order = allocate(b.rows, sizeof *b.order);
  return b;
}

/* ---- order ----------------------------------------------------------------------------------- */

static uint32_t rotated(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

/* Threefry-2x32 (Salmon et al., SC 2011), as js/src/random.ts. */
static void threefry(const uint32_t key[2], uint32_t words[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  words[0] += key[0];
  words[1] += key[1];
  for (uint32_t group = 1; group <= 5; group++) {
    for (int i = 0; i < 4; i++) {
      words[0] += words[1];
      words[1] = rotated(words[1], rotations[(group - 1) % 2][i]) ^ words[0];
    }
    words[0] += schedule[group % 3];
    words[1] += schedule[(group + 1) % 3] + group;
  }
}

static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* argsort(bits(foldIn(key, pass), [rows])): the bits, as int32, above the row in one number. */
static void order_pass(batches *b, uint64_t pass) {
  const uint32_t seed[2] = {0, b->seed};
  uint32_t key[2] = {0, (uint32_t)pass};
  threefry(seed, key);
  for (uint64_t i = 0; i < b->rows; i++) {
    uint32_t words[2] = {0, (uint32_t)i};
    threefry(key, words);
    b->order[i] = (int64_t)(int32_t)(words[0] ^ words[1]) * INT64_C(0x100000000) + (int64_t)i;
  }
  qsort(b->order, b->rows, sizeof *b->order, compare);
  for (uint64_t i = 0; i < b->rows; i++) b->order[i] &= 0xffffffff;
  b->pass = pass;
}

/* ---- batches --------------------------------------------------------------------------------- */

static sn_tensor *gather(const npy_array *a, sn_context *ctx, const int64_t *rows, uint64_t count) {
  int64_t dims[SN_MAX_RANK];
  memcpy(dims, a->dims, sizeof dims);
  dims[0] = (int64_t)count;
  void *data;
  sn_tensor *t = sn_empty(ctx, a->dtype, a->rank, dims, &data);
  if (!t) stop_for(EXIT_TRAINING, "a batch", ctx);
  const size_t bytes = sn_size_bytes(t) / count;
  for (uint64_t i = 0; i < count; i++)
    memcpy((char *)data + i * bytes, (const char *)a->elements + (size_t)rows[i] * bytes, bytes);
  return t;
}

bool batches_next(batches *b, sn_context *ctx, place *at, sn_tensor **out) {
  if (at->index >= b->per_pass) *at = (place){.pass = at->pass + 1, .steps = at->steps};
  if (b->pass != at->pass) order_pass(b, at->pass);
  const bool is_last = b->has_last && at->index + 1 == b->per_pass;
  for (size_t i = 0; i < b->n_arrays; i++)
    out[i] =
        gather(&b->arrays[i], ctx, b->order + at->index * b->size, is_last ? b->over : b->size);
  at->index++;
  return is_last;
}
