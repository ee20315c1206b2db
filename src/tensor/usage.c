/* usage.c - tells what holds the memory: live tensors with values, by dtype and shape (their kind). It is
 * asked when memory has run out, so its table has a fixed size: if that is full, the kind with the fewest
 * bytes is replaced. The out-of-memory error has the result as its hint. */
#include "base/format.h"
#include "tensor/tensor.h"

enum { MOST_KINDS = 64 };

static bool is_of_kind(const sn_tensor_kind *kind, const sn_type *type) {
  return kind->dtype == type->dtype && kind->rank == type->rank &&
         sn_same_bytes(kind->dims, type->dims, (size_t)type->rank * sizeof *kind->dims);
}

static sn_tensor_kind new_kind(const sn_type *type) {
  sn_tensor_kind kind = {.dtype = type->dtype, .rank = type->rank};
  for (int i = 0; i < type->rank; i++) kind.dims[i] = type->dims[i];
  return kind;
}

/* The entry for tensors of the type, which may be new. */
static sn_tensor_kind *place_of(sn_tensor_kind *kinds, size_t *n, const sn_type *type) {
  sn_tensor_kind *least = kinds;
  for (size_t i = 0; i < *n; i++) {
    if (is_of_kind(&kinds[i], type)) return &kinds[i];
    if (kinds[i].bytes < least->bytes) least = &kinds[i];
  }
  if (*n < MOST_KINDS) least = &kinds[(*n)++];
  *least = new_kind(type);
  return least;
}

/* Moves the largest of n kinds to the front. */
static void bring_forward(sn_tensor_kind *kinds, size_t n) {
  size_t largest = 0;
  for (size_t i = 1; i < n; i++)
    if (kinds[i].bytes > kinds[largest].bytes) largest = i;
  const sn_tensor_kind first = kinds[0];
  kinds[0] = kinds[largest];
  kinds[largest] = first;
}

size_t sn_largest_kinds(const sn_context *ctx, sn_tensor_kind *out, size_t n) {
  sn_tensor_kind kinds[MOST_KINDS];
  size_t found = 0;
  for (const sn_tensor *t = ctx->newest; t; t = t->older) {
    if (t->state != SN_TENSOR_VALUE) continue;
    sn_tensor_kind *kind = place_of(kinds, &found, &t->type);
    kind->count++;
    kind->bytes += t->storage->bytes;
  }
  if (n > found) n = found;
  for (size_t i = 0; i < n; i++) {
    bring_forward(kinds + i, found - i);
    out[i] = kinds[i];
  }
  return n;
}

/* ---- the hint -------------------------------------------------------------------------------- */

typedef struct bytes_text {
  char text[16];
} bytes_text;

/* A number of bytes for people, such as "401 MB". */
static bytes_text text_of_bytes(size_t bytes) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB"};
  bytes_text out;
  double n = (double)bytes;
  int unit = 0;
  for (; n >= 1000 && unit < 3; unit++) n /= 1000;
  sn_format(out.text, sizeof out.text, "%.*f %s", unit && n < 100, n, units[unit]);
  return out;
}

void sn_hint_at_usage(sn_context *ctx) {
  enum { KINDS = 4 };
  const sn_heap *heap = &ctx->env.heap;
  sn_tensor_kind kinds[KINDS];
  const size_t n = sn_largest_kinds(ctx, kinds, KINDS);
  char *hint = ctx->first_error.hint;
  const size_t room = sizeof ctx->first_error.hint;
  size_t used =
      sn_format(hint, room, "in use %s, at most so far %s", text_of_bytes(heap->live_bytes).text,
                text_of_bytes(heap->peak_bytes).text);
  if (heap->limit_bytes != SIZE_MAX)
    used +=
        sn_format(hint + used, room - used, ", limit %s", text_of_bytes(heap->limit_bytes).text);
  for (size_t i = 0; i < n && used < room; i++)
    used +=
        sn_format(hint + used, room - used, "%s %zu x %s %*p = %s", i ? "," : "; most is held by",
                  kinds[i].count, sn_dtype_name(kinds[i].dtype), kinds[i].rank,
                  (const void *)kinds[i].dims, text_of_bytes(kinds[i].bytes).text);
}
