/* bench_workloads.c - the native side of `npm run bench`. Reads commands, one a line, and answers
 * each with one line of JSON, so that bench/run.mjs can take turns between this and the WebAssembly
 * builds.
 *
 *   bench_workloads THREADS [deterministic]          THREADS 0: one per core
 *
 *   info                           {"isa": "avx2", "threads": 2}
 *   ops                            {"ops": [{...}]}           rows of the table for the kind "op"
 *   peak THREADS                   {"fma": GFLOP/s, "muladd128": GFLOP/s, "copy": GB/s}
 *   check KIND SIZES...            {"checksum": "9c3f0a12"}   of the results of CHECKED_CALLS calls
 *   time MS KIND SIZES...          {"ms": [...]}              a number per sample
 *   profile CALLS KIND SIZES...    {"kernels": [{...}]}       as of sn.profile
 *   code KIND SIZES...             {"kernels": 14, "ms": 900, "state": "..."}   until its kernels' code is there
 *   anything that fails            {"error": "..."} */
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "workloads.h"

/* As in bench/wasm/kinds.mjs. */
#define WARM_UP_MS 200.0
#define SAMPLE_MS 1.0
enum { CHECKED_CALLS = 3, SETTLING_CALLS = 3, MIN_SAMPLES = 3 };
enum { MAX_SAMPLES = 4096, MAX_KNOWN = 1024, MAX_LINE = 256 };

typedef struct pace { /* of a workload that was measured before */
  char text[MAX_LINE];
  int calls_per_sample;
} pace;

typedef struct bench {
  sn_context *ctx;
  pace known[MAX_KNOWN];
  size_t n_known;
} bench;

static bool fail(const char *message) {
  printf("{\"error\": \"%s\"}\n", message);
  return false;
}

static bool fail_core(const bench *b) { return fail(sn_error_message(b->ctx)); }

/* "KIND SIZES..." -> w */
static bool make_from_text(bench *b, const char *text, workload *w) {
  char name[32];
  int used = 0;
  if (sscanf(text, "%31s%n", name, &used) != 1) return fail("a kind is missing");
  int64_t sizes[MAX_SIZES + 1] = {0};
  const char *at = text + used;
  for (int i = 0; i < MAX_SIZES; i++) {
    char *end;
    sizes[i] = strtoll(at, &end, 10);
    if (end == at) break;
    at = end;
  }
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    if (!strcmp(kinds[k].name, name))
      return workload_make(w, b->ctx, &kinds[k], sizes) ? fail_core(b) : true;
  return fail("no such kind");
}

static bool call(bench *b, workload *w, int times) {
  for (int i = 0; i < times; i++)
    if (workload_call(w)) return fail_core(b);
  return true;
}

/* Calls for WARM_UP_MS, once per text. NULL on failure. */
static const pace *warm_up(bench *b, const char *text) {
  for (size_t i = 0; i < b->n_known; i++)
    if (!strcmp(b->known[i].text, text)) return &b->known[i];
  if (b->n_known == MAX_KNOWN) return fail("too many workloads"), NULL;
  workload w;
  if (!make_from_text(b, text, &w)) return NULL;
  const double begin = sn_host_now_ms();
  double spent = 0;
  int calls = 0;
  for (; spent < WARM_UP_MS; spent = sn_host_now_ms() - begin, calls++)
    if (!call(b, &w, 1)) return NULL;
  workload_release(&w);
  pace *p = &b->known[b->n_known++];
  snprintf(p->text, sizeof p->text, "%s", text);
  p->calls_per_sample = (int)(SAMPLE_MS * calls / spent) + 1;
  return p;
}

/* A new workload that has run a little; see fresh() in bench/wasm/commands.mjs. */
static const pace *fresh(bench *b, const char *text, workload *w) {
  const pace *p = warm_up(b, text);
  return p && make_from_text(b, text, w) && call(b, w, SETTLING_CALLS) ? p : NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* FNV-1a over 32-bit words. */
static uint32_t add_words(uint32_t hash, const uint32_t *words, size_t n) {
  for (size_t i = 0; i < n; i++) hash = (hash ^ words[i]) * 16777619u;
  return hash;
}

static bool check(bench *b, const char *text) {
  workload w;
  if (!make_from_text(b, text, &w)) return false;
  if (!call(b, &w, CHECKED_CALLS)) return false;
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < w.n_outputs; i++) {
    const void *data = sn_data(w.outputs[i]);
    if (!data) return fail_core(b);
    hash = add_words(hash, data, sn_size_bytes(w.outputs[i]) / 4);
  }
  workload_release(&w);
  printf("{\"checksum\": \"%08x\"}\n", hash);
  return true;
}

static bool time_it(bench *b, double ms, const char *text) {
  static double samples[MAX_SAMPLES];
  workload w;
  const pace *p = fresh(b, text, &w);
  if (!p) return false;
  const double begin = sn_host_now_ms();
  int n = 0;
  for (double from = begin; n < MAX_SAMPLES && (n < MIN_SAMPLES || from - begin < ms); n++) {
    if (!call(b, &w, p->calls_per_sample)) return false;
    const double to = sn_host_now_ms();
    samples[n] = (to - from) / p->calls_per_sample;
    from = to;
  }
  workload_release(&w);
  printf("{\"ms\": [");
  for (int i = 0; i < n; i++) printf("%s%.7g", i ? ", " : "", samples[i]);
  printf("]}\n");
  return true;
}

static bool profile(bench *b, int calls, const char *text) {
  workload w;
  if (!fresh(b, text, &w)) return false;
  if (sn_profile_start(b->ctx, 1)) return fail_core(b);
  if (!call(b, &w, calls)) return false;
  sn_profile_stop(b->ctx);
  workload_release(&w);
  const sn_kernel_profile *kernels;
  const size_t n = sn_profile_kernels(b->ctx, &kernels);
  printf("{\"kernels\": [");
  for (size_t i = 0; i < n; i++) {
    const sn_kernel_profile *k = &kernels[i];
    printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"calls\": %u, \"ms\": %.7g, \"flops\": %.17g, "
           "\"bytes\": %.17g, \"threads\": %u}",
           i ? ", " : "", k->name, k->kind, k->calls, k->ms, k->flops, k->bytes, k->threads);
  }
  printf("]}\n");
  return true;
}

static bool code(bench *b, const char *text) {
  workload w;
  if (!make_from_text(b, text, &w)) return false;
  if (!w.program) return fail("an eager call has no program");
  sn_program_info info;
  sn_program_describe(w.program, &info);
  const double begin = sn_host_now_ms();
  sn_code_wait(b->ctx);
  printf("{\"kernels\": %zu, \"ms\": %.4g, \"state\": \"%s\"}\n", info.kernels,
         sn_host_now_ms() - begin, sn_code_state(b->ctx));
  workload_release(&w);
  return true;
}

static bool peak(int threads) {
  const double fma = machine_peak(fma_widest, threads);
  const double muladd = machine_peak(muladd128, threads);
  printf("{\"fma\": %.4g, \"muladd128\": %.4g, \"copy\": %.4g}\n", fma, muladd,
         machine_peak(copy_bandwidth, threads));
  return true;
}

/* The rows that the kind "op" takes. */
static bool list_ops(void) {
  static const char *const dtypes[] = {"float32", "float64", "int32", "bool"};
  const char *between = "";
  printf("{\"ops\": [");
  for (int op = 0; op < SN_OP_COUNT; op++) {
    const sn_op_info *info = sn_op_describe((sn_op)op);
    const bool listed = info->kind == SN_CLASS_REDUCE ||
                        (sn_op_is_elementwise((sn_op)op) && info->kind != SN_CLASS_CAST);
    if (!listed) continue;
    printf("%s{\"number\": %d, \"name\": \"%s\", \"arity\": %d, \"dtype\": \"%s\", \"lo\": %g, "
           "\"hi\": %g}",
           between, op, info->name, info->arity, dtypes[op_dtype(info)], sn_op_bounds_table[op].lo,
           sn_op_bounds_table[op].hi);
    between = ", ";
  }
  printf("]}\n");
  return true;
}

static bool answer(bench *b, const char *line) {
  char command[16];
  int used = 0;
  if (sscanf(line, "%15s %n", command, &used) != 1) return fail("a command is missing");
  const char *text = line + used;
  if (!strcmp(command, "info")) {
    printf("{\"isa\": \"%s\", \"threads\": %d}\n", sn_isa(b->ctx), sn_threads(b->ctx));
    return true;
  }
  if (!strcmp(command, "ops")) return list_ops();
  if (!strcmp(command, "check")) return check(b, text);
  if (!strcmp(command, "code")) return code(b, text);
  char *rest;
  const double number = strtod(text, &rest);
  rest += *rest == ' ';
  if (!strcmp(command, "peak")) return peak((int)number);
  if (!strcmp(command, "time")) return time_it(b, number, rest);
  if (!strcmp(command, "profile")) return profile(b, (int)number, rest);
  return fail("no such command");
}

int main(int argc, char **argv) {
  static bench b;
  const sn_options options = {.threads = argc > 1 ? atoi(argv[1]) : 0,
                              .deterministic = argc > 2 && !strcmp(argv[2], "deterministic")};
  if (sn_context_create(&options, &b.ctx)) return !fail("no context");
  setvbuf(stdout, NULL, _IOLBF, 0);
  char line[MAX_LINE];
  bool ok = true;
  while (ok && fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    ok = answer(&b, line);
  }
  sn_context_destroy(b.ctx);
  return !ok;
}
