/* cache.c - the cache of compiled graphs, by their traced graph and options: an eager loop that builds
 * the same graph again, with other values, finds its program. Bounded; evicts the least recently used. */
#include <math.h>
#include <string.h>

#include "base/host.h"
#include "graph/regions.h"
#include "tensor/tensor.h"

static bool same_donation(const sn_compiled *c, const bool *donate) {
  if (!c->donate || !donate) return !c->donate && !donate;
  return sn_same_bytes(c->donate, donate, c->key.n_arguments * sizeof *donate);
}

/* Bits of switches_of above those of the passes; the level of SINTER_DEBUG has the last three. */
enum {
  WINOGRAD = 1 << 23,
  FUSION = 1 << 24,
  JIT = 1 << 25,
  ON_RECORD = 1 << 26,
  EXCESS = 1 << 27,
  SAVED = 1 << 28,
  DEBUG_SHIFT = 29
};

/* The options that make another program of the same graph, as bits. */
static uint32_t switches_of(const sn_context *ctx, const sn_compile_options *options) {
  _Static_assert(SN_PASS_COUNT <= 23 && SN_LOG_REWRITES < 8, "each switch has bits of its own");
  uint32_t mask = 0;
  for (int i = 0; i < SN_PASS_COUNT; i++)
    if (options->pass_on[i]) mask |= 1u << i;
  if (options->winograd) mask |= WINOGRAD;
  if (options->fusion) mask |= FUSION;
  if (options->jit) mask |= JIT;
  if (options->record) mask |= ON_RECORD;
  if (options->excess) mask |= EXCESS;
  if (options->saved) mask |= SAVED;
  /* Texts for SINTER_DEBUG are recorded at compile time, so programs of another level are other programs. */
  return mask | (uint32_t)ctx->env.debug << DEBUG_SHIFT;
}

uint32_t sn_compiled_switches(const sn_compiled *c) { return c->switches & ~(uint32_t)ON_RECORD; }

static sn_status copy_key(sn_compiled *c, const sn_graph *g, const bool *donate) {
  SN_TRY(sn_graph_copy(g, &c->key_arena, &c->key));
  if (!donate) return SN_OK;
  SN_TRY(sn_arena_alloc(&c->key_arena, g->n_arguments, sizeof *donate, (void **)&c->donate));
  if (g->n_arguments) memcpy(c->donate, donate, g->n_arguments * sizeof *donate);
  return SN_OK;
}

void sn_compiled_release(sn_context *ctx, sn_compiled *c) {
  if (!c || --c->refs) return;
  sn_compiling_free(c->compiling);
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

/* The cached program of this graph, with a new reference; or NULL. */
static sn_compiled *find(sn_context *ctx, const sn_graph *traced, const sn_compile_options *options,
                         uint32_t hash, uint32_t switches) {
  for (size_t i = 0; i < ctx->n_cached; i++) {
    sn_compiled *c = ctx->cache[i];
    if (c->hash != hash || c->switches != switches || c->memory_budget != options->memory_budget ||
        !same_donation(c, options->donate) || !sn_graph_equal(&c->key, traced))
      continue;
    c->last_use = ++ctx->clock;
    c->refs++;
    ctx->hits++;
    return c;
  }
  return NULL;
}

/* *options changed as its tuning says; the target is then c->target. */
static sn_compile_options tuned(const sn_compile_options *options, sn_compiled *c) {
  sn_compile_options own = *options;
  if (sn_tuning_is_plain(&options->tuning)) return own;
  sn_tunable t = {.costs = options->target->costs, .fusion = 1, .code = 1};
  sn_tuning_apply(&options->tuning, sn_keeps_excess(options), &t);
  c->target = *options->target;
  c->target.costs = t.costs;
  own.target = &c->target;
  own.fusion = own.fusion && t.fusion > 0;
  own.jit = own.jit && t.code > 0;
  return own;
}

sn_status sn_compile_begin(sn_context *ctx, const sn_graph *traced,
                           const sn_compile_options *options, sn_compiled **out) {
  const uint32_t hash = sn_graph_hash(traced), switches = switches_of(ctx, options);
  /* A program on record tells of these very tensors, not of equal ones; a form that is being tried belongs to its tuner. */
  const bool shared = !options->record && sn_tuning_is_plain(&options->tuning);
  sn_compiled *c = shared ? find(ctx, traced, options, hash, switches) : NULL;
  if (!c) {
    SN_TRY(sn_alloc_zeroed(&ctx->env, 1, sizeof *c, (void **)&c));
    *c = (sn_compiled){.refs = 1,
                       .hash = hash,
                       .switches = switches,
                       .memory_budget = options->memory_budget,
                       .tuning = options->tuning,
                       .last_use = ++ctx->clock};
    sn_arena_init(&c->key_arena, &ctx->env);
    const sn_compile_options own = tuned(options, c);
    sn_status status = copy_key(c, traced, options->donate);
    if (!status) status = sn_compiling_new(traced, &own, &c->compiling);
    if (status) {
      sn_compiled_release(ctx, c);
      return status;
    }
  }
  *out = c;
  return SN_OK;
}

/* After compiling: from here on it can run, and the cache has it if it can be shared. */
static sn_status complete(sn_context *ctx, sn_compiled *c) {
  sn_compiling_free(c->compiling);
  c->compiling = NULL;
  ctx->misses++;
  if (!(c->switches & ON_RECORD) && sn_tuning_is_plain(&c->tuning)) insert(ctx, c);
  return SN_OK;
}

sn_status sn_compile_continue(sn_context *ctx, sn_compiled *c, double until) {
  if (c->exe) return SN_OK;
  const double begin = sn_host_now_ms();
  sn_status status = SN_OK;
  do status = sn_compiling_continue(c->compiling, &c->exe);
  while (!status && !c->exe && sn_host_now_ms() < until);
  if (ctx->profiler.on)
    sn_profiler_interval(&ctx->profiler, SN_SPAN_COMPILE, begin, sn_host_now_ms());
  return status || !c->exe ? status : complete(ctx, c);
}

sn_status sn_compile_cached(sn_context *ctx, const sn_graph *traced,
                            const sn_compile_options *options, sn_compiled **out) {
  sn_compiled *c;
  SN_TRY(sn_compile_begin(ctx, traced, options, &c));
  const sn_status status = sn_compile_continue(ctx, c, INFINITY);
  if (status) {
    sn_compiled_release(ctx, c);
    return status;
  }
  *out = c;
  return SN_OK;
}
