#include "tensor/tuned.h"

#include <string.h>

#include "base/format.h"
#include "base/text.h"

static const char HEAD[] = "sinter tuned 1\n";
enum { MOST_ENTRIES = 4096, NAME_BYTES = 40 };

static bool same_program(const sn_kept_tuning *a, const sn_kept_tuning *b) {
  return a->isa == b->isa && a->workers == b->workers && a->hash == b->hash &&
         a->nodes == b->nodes && a->switches == b->switches && a->memory_budget == b->memory_budget;
}

static sn_kept_tuning entry_of(const sn_context *ctx, const sn_compiled *c) {
  return (sn_kept_tuning){.isa = ctx->device.machine.isa,
                          .workers = sn_device_workers(&ctx->device),
                          .hash = c->hash,
                          .nodes = (uint32_t)c->key.n_nodes,
                          .switches = sn_compiled_switches(c),
                          .memory_budget = c->memory_budget};
}

static sn_kept_tuning *find(const sn_context *ctx, const sn_kept_tuning *wanted) {
  for (size_t i = 0; i < ctx->n_tuned; i++)
    if (same_program(&ctx->tuned[i], wanted)) return &ctx->tuned[i];
  return NULL;
}

static void drop(sn_context *ctx, sn_kept_tuning *entry) {
  ctx->n_tuned--;
  memmove(entry, entry + 1, (size_t)(ctx->tuned + ctx->n_tuned - entry) * sizeof *entry);
}

/* Adds an entry or replaces that of the same program. If there are too many, the oldest one is dropped. */
static sn_status put(sn_context *ctx, const sn_kept_tuning *entry) {
  sn_kept_tuning *there = find(ctx, entry);
  if (!there && ctx->n_tuned == MOST_ENTRIES) drop(ctx, ctx->tuned);
  if (!there) {
    SN_TRY(sn_grow(&ctx->env, (void **)&ctx->tuned, &ctx->cap_tuned, ctx->n_tuned,
                   sizeof *ctx->tuned));
    there = &ctx->tuned[ctx->n_tuned++];
  }
  *there = *entry;
  return SN_OK;
}

void sn_tuned_keep(sn_context *ctx, const sn_compiled *compiled, const sn_tuning *tuning,
                   const sn_tuning_report *report) {
  sn_kept_tuning entry = entry_of(ctx, compiled);
  entry.tuning = *tuning;
  entry.report = *report;
  put(ctx, &entry);
}

void sn_tuned_drop(sn_context *ctx, const sn_compiled *compiled) {
  const sn_kept_tuning entry = entry_of(ctx, compiled);
  sn_kept_tuning *there = find(ctx, &entry);
  if (there) drop(ctx, there);
}

const sn_kept_tuning *sn_tuned_find(const sn_context *ctx, const sn_compiled *compiled) {
  const sn_kept_tuning entry = entry_of(ctx, compiled);
  return find(ctx, &entry);
}

void sn_tuned_free(sn_context *ctx) {
  sn_arena_free(&ctx->tuned_text);
  sn_free(&ctx->env, ctx->tuned, ctx->cap_tuned * sizeof *ctx->tuned);
}

/* ---- as text --------------------------------------------------------------------------------- */

static void factor_name(char *out, int knob, int factor) {
  sn_format(out, NAME_BYTES, "%s*%g", sn_knobs[knob].name, sn_knobs[knob].factors[factor]);
}

sn_status sn_tuned(sn_context *ctx, const char **out) {
  sn_arena_free(&ctx->tuned_text);
  sn_arena_init(&ctx->tuned_text, &ctx->env);
  sn_text text = sn_text_in(&ctx->tuned_text);
  sn_text_add(&text, "%s", HEAD);
  for (size_t i = 0; i < ctx->n_tuned; i++) {
    const sn_kept_tuning *e = &ctx->tuned[i];
    sn_text_add(&text, "%s %d %u %u %u %zu", sn_isa_name(e->isa), e->workers, e->hash, e->nodes,
                e->switches, e->memory_budget);
    for (int k = 0; k < SN_KNOBS; k++) {
      char name[NAME_BYTES];
      if (!e->tuning.factor[k]) continue;
      factor_name(name, k, e->tuning.factor[k] - 1);
      sn_text_add(&text, " %s", name);
    }
    sn_text_add(&text, "\n");
  }
  *out = text.data;
  return sn_context_report(ctx, text.status);
}

/* Takes the word at *at, up to a space or the end of the line, and one space behind it. */
static bool take_word(const char **at, char word[NAME_BYTES]) {
  size_t n = 0;
  while (**at && **at != ' ' && **at != '\n' && n + 1 < NAME_BYTES) word[n++] = *(*at)++;
  word[n] = 0;
  if (**at == ' ') ++*at;
  return n > 0;
}

static bool take_number(const char **at, uint64_t most, uint64_t *out) {
  char word[NAME_BYTES];
  uint64_t number = 0;
  if (!take_word(at, word)) return false;
  for (const char *c = word; *c; c++) {
    const uint64_t digit = (uint64_t)(*c - '0');
    if (*c < '0' || *c > '9' || number > (most - digit) / 10) return false;
    number = number * 10 + digit;
  }
  *out = number;
  return true;
}

/* Sets the factor that the word names. Knobs and factors that this version does not have are ignored. */
static void take_factor(const char *word, sn_kept_tuning *out) {
  for (int k = 0; k < SN_KNOBS; k++)
    for (int f = 0; f < sn_knobs[k].n_factors; f++) {
      char name[NAME_BYTES];
      factor_name(name, k, f);
      if (strcmp(name, word)) continue;
      out->tuning.factor[k] = (uint8_t)(f + 1);
      out->report.trials[k][f].outcome = SN_TRIAL_TAKEN;
    }
}

/* Reads a line. Returns false if it is damaged. *known: whether this version has the instruction set. */
static bool take_line(const char **at, sn_kept_tuning *out, bool *known) {
  char word[NAME_BYTES];
  uint64_t n[5];
  *out = (sn_kept_tuning){.workers = 0};
  *known = false;
  if (!take_word(at, word)) return false;
  for (int isa = 0; isa <= SN_ISA_NEON && !*known; isa++) {
    out->isa = (sn_isa_id)isa;
    *known = !strcmp(sn_isa_name(out->isa), word);
  }
  for (int i = 0; i < 5; i++)
    if (!take_number(at, i == 4 ? SIZE_MAX : UINT32_MAX, &n[i])) return false;
  out->workers = (int)(n[0] & INT32_MAX);
  out->hash = (uint32_t)n[1];
  out->nodes = (uint32_t)n[2];
  out->switches = (uint32_t)n[3];
  out->memory_budget = (size_t)n[4];
  while (take_word(at, word)) take_factor(word, out);
  return *(*at)++ == '\n';
}

/* Whether this tuning is kept already: that entry stays, since it may have been measured here and have times. */
static bool is_known(const sn_context *ctx, const sn_kept_tuning *entry) {
  const sn_kept_tuning *there = find(ctx, entry);
  return there && sn_tuning_equal(&there->tuning, &entry->tuning);
}

static sn_status read_text(sn_context *ctx, const char *text) {
  const char *at = sn_text_after(text, HEAD);
  SN_FAIL_IF(&ctx->env, !at, SN_ERR_ARGUMENT, "tuned", "this is no text of tuned");
  for (int line = 2; *at; line++) {
    sn_kept_tuning entry;
    bool known;
    SN_FAIL_IF(&ctx->env, !take_line(&at, &entry, &known), SN_ERR_ARGUMENT, "tuned",
               "line %d of the text is damaged", line);
    if (known && !is_known(ctx, &entry)) SN_TRY(put(ctx, &entry));
  }
  return SN_OK;
}

sn_status sn_use_tuned(sn_context *ctx, const char *text) {
  return sn_context_report(ctx, read_text(ctx, text));
}
