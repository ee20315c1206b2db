#include "wgsl/wgsl.h"

/* ---- facts of a program, and its text --------------------------------------------------------- */

static size_t first_of(const sn_device_steps *steps, size_t k) {
  return k ? steps->ends[k - 1] : 0;
}

double sn_wgsl_dispatches(const sn_device_steps *steps, size_t k) {
  double n = 0, times[2 * SN_MAX_NESTING + 1] = {1};
  int depth = 0;
  for (size_t i = first_of(steps, k); i < steps->ends[k]; i++) {
    const sn_device_step *s = &steps->list[i];
    switch ((sn_device_step_kind)s->kind) {
    case SN_DEVICE_DISPATCH: n += times[depth]; break;
    case SN_DEVICE_ROUNDS: times[depth + 1] = times[depth] * s->number, depth++; break;
    case SN_DEVICE_WHILE: times[depth + 1] = times[depth], depth++; break;
    case SN_DEVICE_END: depth--; break;
    case SN_DEVICE_VARIANT: break;
    }
  }
  return n;
}

static void print_dispatch(sn_text *t, const sn_dispatch *d) {
  sn_text_add(t, "// %u x %u x %u workgroups", d->groups[0], d->groups[1], d->groups[2]);
  sn_text_add(t, d->gate ? ", if their gate is open\n" : "\n");
  for (uint32_t i = 0; i < d->n_bindings; i++) {
    const sn_shader_binding *b = &d->bindings[i];
    if (b->buffer == SN_GATES)
      sn_text_add(t, "// b%u: the gates\n", i);
    else if (b->buffer == SN_PARTS)
      sn_text_add(t, "// b%u: partial totals\n", i);
    else if (b->odd_offset != b->offset)
      sn_text_add(t, "// b%u: %u bytes of buffer %u at %u, in odd rounds at %u\n", i, b->bytes,
                  b->buffer, b->offset, b->odd_offset);
    else
      sn_text_add(t, "// b%u: %u bytes of buffer %u at %u\n", i, b->bytes, b->buffer, b->offset);
  }
  sn_text_add(t, "%s", d->text);
}

void sn_wgsl_print(sn_text *t, const sn_device_steps *steps, size_t k) {
  for (size_t i = first_of(steps, k); i < steps->ends[k]; i++) {
    const sn_device_step *s = &steps->list[i];
    switch ((sn_device_step_kind)s->kind) {
    case SN_DEVICE_DISPATCH: print_dispatch(t, &s->dispatch); break;
    case SN_DEVICE_ROUNDS: sn_text_add(t, "// %u rounds of {\n", s->number); break;
    case SN_DEVICE_WHILE: sn_text_add(t, "// while gate %u is open {\n", s->number); break;
    case SN_DEVICE_END: sn_text_add(t, "// }\n"); break;
    case SN_DEVICE_VARIANT:
      sn_text_add(t, "\n// or, where that is faster:\n");
      print_dispatch(t, &s->dispatch);
      break;
    }
  }
  if (!t->data) sn_text_add(t, "// nothing to do\n");
}

/* ---- the target ------------------------------------------------------------------------------- */

/* If threads share memory, chains go through tiles. */
enum {
  TILE_ROWS = 64,
  TILE_BYTES = 16 * 1024, /* least workgroup memory for tiles (shader_chain.c) */
  CHAIN_BYTES = 1024 * 1024,
  REMADE_BYTES = 4 * 1024 * 1024 /* more than the cache of any small device */
};

sn_target sn_wgsl_target(uint32_t buffers, uint32_t shared_bytes) {
  const bool tiles = shared_bytes >= TILE_BYTES;
  return (sn_target){
      .name = "webgpu",
      .limits = {.dtypes = ~(1u << SN_F64),
                 .nodes = 96,
                 .scalar_nodes = 256,
                 .operands = 48,
                 .buffers = buffers,
                 .local_bytes = shared_bytes / 2, /* the other half is for trees and tiles */
                 .tile_rows = tiles ? TILE_ROWS : 0,
                 .store_bytes = 1,
                 .alignment = 256},
      .costs = {.tiny_product = 0,
                .row_points = 4096,
                .many_rows = 256,
                .long_row_points = 32 * 1024,
                .copies = 4,
                .pad_run = 1,
                .pad_row = 1,
                .gathered_row = 1,
                .lookup_row = 1,
                .prologue_points = 0,
                .added_terms = 8,
                .product_terms = 16e6,
                .scalar_elements = 1,
                .again_flops = 8,
                .kept_flops = 16,
                .load_flops = 8,
                .byte_flops = 16,
                .argument_flops = 4096,
                .kernel_flops = 1e5,
                .remade_bytes = tiles ? REMADE_BYTES : SIZE_MAX,
                .remade_terms = 128,
                .chain_bytes = tiles ? CHAIN_BYTES : SIZE_MAX,
                .chain_points = INT64_MAX,
                .block_bytes = 256 * 1024,
                .block_rows = 48,
                .least_rows = 16,
                .row_unit = 8,
                .tasks = 1,
                .least_tasks = 1,
                .segment_terms = INT64_MAX,
                .segment_results = 0,
                .most_segments = 1},
      .fused = true};
}
