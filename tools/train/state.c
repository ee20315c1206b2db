#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "group.h"
#include "stop.h"

static sn_tensor *empty(sn_context *ctx, const sn_step_input *input, void **elements) {
  sn_tensor *t = sn_empty(ctx, input->dtype, input->rank, input->dims, elements);
  if (!t) stop_for(EXIT_TRAINING, "the state", ctx);
  return t;
}

/* This process's part of a value, which is released. */
static sn_tensor *part_of(sn_context *ctx, const sn_step_input *input, int rank, sn_tensor *whole) {
  if (input->parts == 1) return whole;
  const size_t bytes = sn_size_bytes(whole) / (size_t)input->parts;
  const int64_t n = (int64_t)(bytes / sn_dtype_bytes(input->dtype));
  const char *from = sn_data(whole);
  sn_tensor *own = sn_from_data(ctx, input->dtype, 1, &n, from + (size_t)rank * bytes);
  if (!own) stop_for(EXIT_TRAINING, "the state", ctx);
  sn_release(whole);
  return own;
}

void state_give(sn_context *ctx, const sn_step_info *info, int rank, sn_tensor *const *whole,
                sn_tensor **own) {
  for (size_t i = 0; i < info->n_state; i++) {
    const sn_step_input *input = &info->inputs[i];
    void *elements;
    sn_tensor *shared = empty(ctx, input, &elements);
    if (!rank) memcpy(elements, sn_data(whole[i]), sn_size_bytes(shared));
    group_share(elements, sn_size_bytes(shared));
    own[i] = part_of(ctx, input, rank, shared);
  }
}

sn_tensor **state_collect(sn_context *ctx, const sn_step_info *info, int rank,
                          sn_tensor *const *own) {
  sn_tensor **whole = rank ? NULL : allocate(info->n_state, sizeof *whole);
  for (size_t i = 0; i < info->n_state; i++) {
    const sn_step_input *input = &info->inputs[i];
    void *elements = NULL;
    if (input->parts == 1) {
      if (whole) whole[i] = sn_retain(own[i]);
      continue;
    }
    if (whole) whole[i] = empty(ctx, input, &elements);
    group_collect(sn_data(own[i]), sn_size_bytes(own[i]), elements);
  }
  return whole;
}

void state_release(const sn_step_info *info, sn_tensor **state) {
  for (size_t i = 0; state && i < info->n_state; i++) sn_release(state[i]);
  free(state);
}

uint32_t state_checksum(const sn_step_info *info, sn_tensor *const *own) {
  uint32_t hash = 0;
  for (size_t i = 0; i < info->n_state; i++)
    if (info->inputs[i].parts == 1) hash = checksum(sn_data(own[i]), sn_size_bytes(own[i]), hash);
  return hash;
}
