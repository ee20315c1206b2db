/* cache.c - compiled graphs by their normal form: an eager loop that builds the same graph again,
 * with other values, finds its program. Bounded; the least recently used one goes first. */
#include <string.h>

#include "base/host.h"
#include "tensor/tensor.h"

static uint32_t hash_graph(const sn_graph *g) {
  uint32_t hash = (uint32_t)g->n_nodes;
  for (size_t i = 0; i < g->n_nodes; i++) hash = (hash ^ g->nodes[i].hash) * 0x9e3779b1u;
  for (size_t i = 0; i < g->n_outputs; i++) hash = (hash ^ g->outputs[i]) * 0x9e3779b1u;
  return hash;
}

static bool same_graph(const sn_graph *a, const sn_graph *b) {
  if (a->n_nodes != b->n_nodes || a->n_edges != b->n_edges || a->n_attrs != b->n_attrs ||
      a->n_outputs != b->n_outputs || a->n_arguments != b->n_arguments)
    return false;
  for (size_t i = 0; i < a->n_nodes; i++) {
    const sn_node *x = &a->nodes[i], *y = &b->nodes[i];
    if (x->hash != y->hash || x->op != y->op || x->n_inputs != y->n_inputs ||
        x->n_attrs != y->n_attrs || !sn_type_equal(&x->type, &y->type))
      return false;
  }
  return sn_same_bytes(a->edges, b->edges, a->n_edges * sizeof *a->edges) &&
         sn_same_bytes(a->attrs, b->attrs, a->n_attrs * sizeof *a->attrs) &&
         sn_same_bytes(a->outputs, b->outputs, a->n_outputs * sizeof *a->outputs);
}

static bool same_donation(const sn_compiled *c, const bool *donate) {
  if (!c->donate || !donate) return !c->donate && !donate;
  return sn_same_bytes(c->donate, donate, c->key.n_arguments * sizeof *donate);
}

/* What of the options makes another program of the same graph. */
static uint32_t switches_of(const sn_context *ctx, const sn_compile_options *options) {
  _Static_assert(SN_PASS_COUNT <= 24, "one bit each");
  uint32_t mask = 0;
  for (int i = 0; i < SN_PASS_COUNT; i++)
    if (options->pass_on[i]) mask |= 1u << i;
  mask |= (uint32_t)options->fusion << 24 | (uint32_t)options->jit << 25;
  /* dumps are recorded at compile time: programs made with and without them are told apart */
  mask |= (uint32_t)options->record << 26 | (uint32_t)ctx->env.debug << 27;
  return mask | (uint32_t)options->saved << 30;
}

static sn_status copy_block(sn_arena *arena, const void *from, size_t bytes, void **out) {
  SN_TRY(sn_arena_alloc(arena, bytes, 1, out));
  if (bytes) memcpy(*out, from, bytes);
  return SN_OK;
}

static sn_status copy_key(sn_compiled *c, const sn_graph *g, const bool *donate) {
  sn_arena *a = &c->key_arena;
  c->key = (sn_graph){.arena = a,
                      .env = g->env,
                      .n_nodes = g->n_nodes,
                      .n_edges = g->n_edges,
                      .n_attrs = g->n_attrs,
                      .n_outputs = g->n_outputs,
                      .n_arguments = g->n_arguments};
  SN_TRY(copy_block(a, g->nodes, g->n_nodes * sizeof *g->nodes, (void **)&c->key.nodes));
  SN_TRY(copy_block(a, g->edges, g->n_edges * sizeof *g->edges, (void **)&c->key.edges));
  SN_TRY(copy_block(a, g->attrs, g->n_attrs * sizeof *g->attrs, (void **)&c->key.attrs));
  SN_TRY(copy_block(a, g->outputs, g->n_outputs * sizeof *g->outputs, (void **)&c->key.outputs));
  if (donate) SN_TRY(copy_block(a, donate, g->n_arguments * sizeof *donate, (void **)&c->donate));
  return SN_OK;
}

void sn_compiled_release(sn_context *ctx, sn_compiled *c) {
  if (!c || --c->refs) return;
  sn_executable_free(c->exe);
  sn_arena_free(&c->key_arena);
  sn_free(&ctx->env, c, sizeof *c);
}

void sn_cache_clear(sn_context *ctx) {
  while (ctx->n_cached) sn_compiled_release(ctx, ctx->cache[--ctx->n_cached]);
}

bool sn_cache_trim(sn_context *ctx) {
  size_t kept = 0;
  bool forgot = false;
  for (size_t i = 0; i < ctx->n_cached; i++) {
    sn_compiled *c = ctx->cache[i];
    if (c->refs > 1) {
      ctx->cache[kept++] = c;
      forgot = (!ctx->jobs && sn_executable_forget(c->exe)) || forgot;
    } else {
      sn_compiled_release(ctx, c);
    }
  }
  const bool any = forgot || kept < ctx->n_cached;
  ctx->evictions += ctx->n_cached - kept;
  ctx->n_cached = kept;
  return any;
}

static void insert(sn_context *ctx, sn_compiled *c) {
  size_t at = ctx->n_cached;
  if (at == SN_CACHE_ENTRIES) {
    at = 0;
    for (size_t i = 1; i < SN_CACHE_ENTRIES; i++)
      if (ctx->cache[i]->last_use < ctx->cache[at]->last_use) at = i;
    sn_compiled_release(ctx, ctx->cache[at]);
    ctx->evictions++;
  } else {
    ctx->n_cached++;
  }
  ctx->cache[at] = c;
  c->refs++;
}

/* The workspace is shared by all programs, so it only ever grows, when no run is under way. */
static sn_status ensure_workspace(sn_context *ctx, const sn_executable *exe) {
  const size_t bytes = sn_executable_workspace_bytes(exe, sn_pool_max_workers(ctx->device.pool));
  if (bytes <= ctx->workspace_bytes) return SN_OK;
  sn_jobs_collect(ctx, true);
  void *block;
  sn_device *device = &ctx->device;
  SN_TRY(device->backend->allocate(device, bytes, &block));
  device->backend->deallocate(device, ctx->workspace, ctx->workspace_bytes);
  ctx->workspace = block;
  ctx->workspace_bytes = bytes;
  return SN_OK;
}

static sn_status compile_new(sn_context *ctx, const sn_graph *traced,
                             const sn_compile_options *options, sn_compiled *c) {
  SN_TRY(copy_key(c, traced, options->donate));
  const double begin = ctx->profiler.on ? sn_host_now_ms() : 0;
  SN_TRY(sn_compile_graph(traced, options, &c->exe));
  if (ctx->profiler.on)
    sn_profiler_interval(&ctx->profiler, SN_SPAN_COMPILE, begin, sn_host_now_ms());
  return ensure_workspace(ctx, c->exe);
}

sn_status sn_compile_cached(sn_context *ctx, const sn_graph *traced,
                            const sn_compile_options *options, sn_compiled **out) {
  const uint32_t hash = hash_graph(traced), switches = switches_of(ctx, options);
  for (size_t i = 0; i < ctx->n_cached; i++) {
    sn_compiled *c = ctx->cache[i];
    if (c->hash != hash || c->switches != switches || !same_donation(c, options->donate) ||
        !same_graph(&c->key, traced))
      continue;
    c->last_use = ++ctx->clock;
    c->refs++;
    ctx->hits++;
    *out = c;
    return SN_OK;
  }
  sn_compiled *c;
  SN_TRY(sn_alloc_zeroed(&ctx->env, 1, sizeof *c, (void **)&c));
  *c = (sn_compiled){.refs = 1, .hash = hash, .switches = switches, .last_use = ++ctx->clock};
  sn_arena_init(&c->key_arena, &ctx->env);
  const sn_status status = compile_new(ctx, traced, options, c);
  if (status) {
    sn_compiled_release(ctx, c);
    return status;
  }
  ctx->misses++;
  insert(ctx, c);
  *out = c;
  return SN_OK;
}
