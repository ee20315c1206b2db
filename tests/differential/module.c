/* module.c - the random recipes of tests/native/recipes.c inside WebAssembly: each one on a context
 * without and with code made at run time, against the reference interpreter, bit for bit; and the
 * written programs of tests/native/written.c and the nested ones of nested.c against their judge.
 *
 *   differential_open(engine)            0: strip VM, 1: emitted SIMD128, 2: emitted relaxed SIMD
 *   differential_run(engine, seed)       whether the recipe agrees; differential_text: where not
 *   differential_written(engine, seed)   the same for a written program
 *   differential_nested(engine, seed)    the same for one with control flow in control flow
 *   differential_shown(engine, seed)     its graph, arguments and float64 results as JSON, or ""
 *   differential_bits(engine, number)    "NAME HASH" of a case of tests/bits; "" past the last one
 *   differential_kernels(engine)         whether its micro-kernels keep their contract
 *   differential_planted(engine)         whether a fault put into programs is found and shrunk */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "bits/bits.h"
#include "cmocka.h"
#include "graph/reference.h"
#include "jit/emit_gemm.h"
#include "jit/modules.h"
#include "native/kernel_cases.h"
#include "native/nested.h"
#include "native/recipes.h"
#include "native/written.h"
#include "tensor/tensor.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

__attribute__((import_module("host"), import_name("log"))) void host_log(const char *text);

enum { ENGINES = 3, TEXT = 32768 };

static sn_context *contexts[ENGINES];
static char text[TEXT], shown[TEXT / 2];

void differential_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  host_log(text);
  __builtin_trap();
}

bool EXPORT(differential_open)(int engine);
bool differential_open(int engine) {
  sn_context *ctx = contexts[engine] = case_context(1, sn_isa_detect());
  ctx->options.jit = engine > 0;
  ctx->target.fused = engine > 1;
  sn_gemm_run_time *gemm = &ctx->device.gemm;
  if (sn_jit_gemm_make(&ctx->env, engine > 1, gemm) || !gemm->module) return false;
  ctx->device.machine.gemm = gemm;
  return true;
}

bool EXPORT(differential_kernels)(int engine);
bool differential_kernels(int engine) {
  const sn_gemm_run_time *made = &contexts[engine]->device.gemm;
  return made->ready(made->module) && kernel_cases(&made->ukr[SN_F32], text, sizeof text) &&
         kernel_cases(&made->ukr[SN_F64], text, sizeof text) &&
         kernel_cases(&made->ukr[SN_I32], text, sizeof text);
}

uint32_t EXPORT(differential_modules)(void);
uint32_t differential_modules(void) { return sn_code_count().live; }

const char *EXPORT(differential_text)(void);
const char *differential_text(void) { return text; }

bool EXPORT(differential_run)(int engine, double seed);
bool differential_run(int engine, double seed) {
  recipe tried = recipe_of((uint64_t)seed);
  char why[TWIN_TEXT];
  if (recipe_cook(&tried, contexts[engine], why, NULL, 0)) return true;
  const size_t left = recipe_shrink(&tried, contexts[engine]);
  recipe_cook(&tried, contexts[engine], why, shown, sizeof shown);
  snprintf(text, sizeof text, "seed %.0f, shrunk to %zu steps: %s\n%s", seed, left, why, shown);
  return false;
}

bool EXPORT(differential_written)(int engine, double seed);
bool differential_written(int engine, double seed) {
  static written_trial trial;
  written program = written_of((uint64_t)seed);
  trial = (written_trial){.ctx = contexts[engine]};
  sn_set_poison(trial.ctx, true);
  const bool right = written_try(&program, &trial);
  const size_t left = right ? 0 : written_shrink(&program, &trial);
  sn_set_poison(trial.ctx, false);
  if (!right)
    snprintf(text, sizeof text, "written %.0f, shrunk to %zu steps: %s", seed, left, trial.text);
  return right;
}

/* Their steps at once, and compiled. */
bool EXPORT(differential_nested)(int engine, double seed);
bool differential_nested(int engine, double seed) {
  nested program = nested_of((uint64_t)seed);
  static char why[NESTED_TEXT];
  sn_set_poison(contexts[engine], true);
  const bool right = nested_try(&program, contexts[engine], why);
  const size_t left = right ? 0 : nested_shrink(&program, nested_try, contexts[engine], why);
  sn_set_poison(contexts[engine], false);
  if (!right)
    snprintf(text, sizeof text, "nested %.0f, shrunk to %zu steps: %s", seed, left, why);
  return right;
}

const char *EXPORT(differential_bits)(int engine, uint32_t number);
const char *differential_bits(int engine, uint32_t number) {
  if (number >= bits_count()) return "";
  char name[BITS_NAME];
  const uint64_t hash = bits_hash(contexts[engine], number, name);
  snprintf(text, sizeof text, "%s %08x%08x", name, (unsigned)(hash >> 32), (unsigned)hash);
  return text;
}

/* ---- what the judge reads, for another one --------------------------------------------------- */

enum { JSON = 1 << 20 };
static char json[JSON];

static void put(size_t *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(size_t *at, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (*at < JSON) *at += (size_t)vsnprintf(json + *at, JSON - *at, format, arguments);
  va_end(arguments);
}

/* What is not a number is null. */
static void put_elements(size_t *at, sn_dtype dtype, const void *data, int64_t n) {
  put(at, "[");
  for (int64_t i = 0; i < n; i++) {
    const double value = sn_ref_load(dtype, data, i);
    if (isfinite(value))
      put(at, "%s%.17g", i ? "," : "", value);
    else
      put(at, "%snull", i ? "," : "");
  }
  put(at, "]");
}

static void put_node(size_t *at, const sn_graph *g, sn_id id) {
  const sn_node *node = &g->nodes[id];
  put(at, "%s[\"%s\",\"%s\",[", id ? "," : "", sn_op_describe(node->op)->name,
      sn_dtype_name(node->type.dtype));
  for (int i = 0; i < node->type.rank; i++)
    put(at, "%s%lld", i ? "," : "", (long long)node->type.dims[i]);
  put(at, "],[");
  for (uint32_t i = 0; i < node->n_attrs; i++) /* as text: a number may be the bits of a double */
    put(at, "%s\"%lld\"", i ? "," : "", (long long)sn_graph_attrs(g, id)[i]);
  put(at, "],[");
  for (uint32_t i = 0; i < node->n_inputs; i++)
    put(at, "%s%u", i ? "," : "", sn_graph_inputs(g, id)[i]);
  put(at, "]]");
}

static void show(const judge *j, void *user) {
  const sn_graph *g = j->traced;
  size_t *at = user;
  put(at, "{\"nodes\":[");
  for (sn_id id = 0; id < g->n_nodes; id++) put_node(at, g, id);
  put(at, "],\"arguments\":{");
  bool first = true;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    if (g->nodes[id].op != SN_OP_input) continue;
    const int64_t number = *sn_graph_attrs(g, id);
    put(at, "%s\"%lld\":", first ? "" : ",", (long long)number);
    put_elements(at, g->nodes[id].type.dtype, j->arguments[number],
                 sn_type_size(&g->nodes[id].type));
    first = false;
  }
  put(at, "},\"results\":[");
  for (size_t i = 0; i < g->n_outputs; i++) {
    const sn_id id = g->outputs[i];
    put(at, "%s[%u,", i ? "," : "", id);
    put_elements(at, j->wide.nodes[id].type.dtype, j->wide_values[id],
                 sn_type_size(&g->nodes[id].type));
    put(at, "]");
  }
  put(at, "]}");
}

const char *EXPORT(differential_shown)(int engine, double seed);
const char *differential_shown(int engine, double seed) {
  static written_trial trial;
  const written program = written_of((uint64_t)seed);
  size_t at = 0;
  trial = (written_trial){.ctx = contexts[engine], .listener = show, .listener_user = &at};
  return written_try(&program, &trial) && at < JSON ? json : "";
}

/* ---- the recipes' planted fault -------------------------------------------------------------- */

/* The compiler gets sub for add: the first recipe with an add must fail. */
bool EXPORT(differential_planted)(int engine);
bool differential_planted(int engine) {
  for (uint64_t seed = 1000; seed < 2000; seed++) {
    recipe tried = recipe_of(seed);
    tried.planted = SN_OP_add;
    tried.planted_as = SN_OP_sub;
    char why[TWIN_TEXT];
    if (!recipe_cook(&tried, contexts[engine], why, NULL, 0))
      return recipe_shrink(&tried, contexts[engine]) <= 3;
  }
  return false;
}
