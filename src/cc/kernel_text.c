#include "cc/kernel_text.h"

#include "base/format.h"
#include "cc/walk_text.h"

/* The state while the functions of a part of a kernel are written. */
typedef struct writer {
  sn_text *t;      /* the function */
  sn_text *before; /* definitions that must stand before it */
  const sn_kernel *k;
  uint8_t *blocks;
  const char *name;
} writer;

#define LINE(...) sn_text_add(w->t, __VA_ARGS__)

static bool has_bags(const sn_group *g) { return sn_group_phases(g) && g->row.ends; }

/* ---- reductions ------------------------------------------------------------------------------ */

/* Defines the functions of a reduction with DEFINE_BLOCK (kernel_words.h), unless the text has them already. */
static void need_block(const writer *w, sn_op op, sn_dtype dtype) {
  uint8_t *known = &w->blocks[(uint32_t)op * SN_DTYPE_COUNT + (uint32_t)dtype];
  if (*known) return;
  *known = 1;
  const char *s = sn_cc_short_name(dtype);
  const double identity = sn_reduce_identity(op, dtype);
  uint64_t bits = 0;
  if (dtype == SN_F64)
    memcpy(&bits, &identity, sizeof bits);
  else
    sn_strip_fill(dtype, &bits, identity, 1);
  const char *name = sn_op_describe(op)->name;
  const bool quick = (op == SN_OP_max || op == SN_OP_min) && sn_dtype_is_float(dtype);
  sn_text_add(w->before, "DEFINE_BLOCK(%s, %s, %s, SN_LANES_F%s, 0x%llxu, quick_%s%s%s)\n", name, s,
              dtype == SN_I32   ? "vu32"
              : dtype == SN_F64 ? "vf64"
                                : "vf32",
              dtype == SN_F64 ? "64" : "32", (unsigned long long)bits, quick ? name : "never",
              quick ? "_" : "", quick ? s : "");
}

/* Whether the reduced points of an output are at most one strip: then no block's counter is needed. */
static bool is_strip(const writer *w) { return sn_group_reduced_points(w->k->group) <= SN_STRIP; }

/* The slot in which the values of a reduction are also kept, in the format of strips; or SN_NONE. */
static uint32_t kept_slot(const sn_phase *phase, uint32_t reduction) {
  for (uint32_t i = 0; i < phase->n_keeps; i++)
    if (phase->keeps[i].insn == phase->reductions[reduction].insn) return phase->keeps[i].slot;
  return SN_NONE;
}

static void declare_blocks(const writer *w, const sn_phase *phase) {
  for (uint32_t i = 0; i < phase->n_reductions; i++) {
    const sn_reduction *r = &phase->reductions[i];
    need_block(w, r->op, r->dtype);
    if (!is_strip(w)) LINE("  block b%u;\n  b%u.count = 0;\n", i, i);
    if (kept_slot(phase, i) == SN_NONE) LINE("  %s x%u[STRIP] ALIGNED;\n", sn_cc_strip_type(r->dtype), i);
  }
}

/* Begins a call of a function that DEFINE_BLOCK makes for a reduction. */
static void begin_call(const writer *w, const char *function, const sn_reduction *r) {
  LINE("  %s_%s_%s(", function, sn_op_describe(r->op)->name, sn_cc_short_name(r->dtype));
}

static void fold_strips(const writer *w, const sn_phase *phase) {
  for (uint32_t i = 0; i < phase->n_reductions; i++) {
    if (kept_slot(phase, i) != SN_NONE) continue;
    begin_call(w, "block_strip", &phase->reductions[i]);
    LINE("&b%u, x%u, n, 1);\n", i, i);
  }
}

/* Ends each reduction: stores the total of all `length` points to its item. The points are at `place`, in a kept row or in
 * the one strip x<i>; else they have been folded strip by strip already. */
static void fold_whole(const writer *w, const sn_phase *phase, const char *place,
                       const char *const *kept, const char *const *items) {
  for (uint32_t i = 0; i < phase->n_reductions; i++) {
    const uint32_t slot = kept_slot(phase, i);
    const char *at = slot == SN_NONE ? place : kept[slot];
    char strip[16];
    sn_format(strip, sizeof strip, "x%u", i);
    if (is_strip(w)) {
      begin_call(w, "total", &phase->reductions[i]);
      LINE("%s, length, %d, %s);\n", at ? at : strip, !at, items[i]);
      continue;
    }
    if (at) {
      begin_call(w, "block_points", &phase->reductions[i]);
      LINE("&b%u, %s, length);\n", i, at);
    }
    begin_call(w, "block_end", &phase->reductions[i]);
    LINE("&b%u, %s);\n", i, items[i]);
  }
}

/* Folds points [from, from + length), both names of variables, of a phase's body into items. The points go through strips,
 * unless they lie in memory in the order of folding or are kept as a whole row. */
static sn_status fold_points(const writer *w, const sn_phase *phase, sn_cc_walk *walk,
                             const char *from, const char *const *kept, const char *const *items) {
  const char *place;
  SN_TRY(sn_cc_walk_place(walk, &place));
  bool strips = false;
  for (uint32_t i = 0; i < phase->n_reductions; i++)
    strips = strips || (!place && !is_strip(w) && kept_slot(phase, i) == SN_NONE);
  if (strips)
    LINE("  for (int64_t done = 0; done < length; done += STRIP) {\n"
         "  const int64_t flat = %s + done, n = length - done < STRIP ? length - done : STRIP;\n",
         from);
  else
    LINE("  const int64_t flat = %s, n = length;\n", from);
  if (!place) SN_TRY(sn_cc_walk_points(walk));
  if (strips) {
    fold_strips(w, phase);
    LINE("  }\n");
  }
  fold_whole(w, phase, place, kept, items);
  return SN_OK;
}

/* The sinks of a phase's values: kept slots, stores, and strips to be reduced. */
static sn_status phase_sinks(sn_arena *arena, const sn_phase *phase, sn_cc_sink **out,
                             uint32_t *n) {
  sn_cc_sink *sink;
  *n = 0;
  SN_TRY(sn_arena_alloc(arena, phase->n_keeps + phase->n_stores + phase->n_reductions, sizeof *sink,
                        (void **)&sink));
  *out = sink;
  for (uint32_t i = 0; i < phase->n_keeps; i++)
    sink[(*n)++] = (sn_cc_sink){
        .kind = SN_CC_KEEP, .insn = phase->keeps[i].insn, .number = phase->keeps[i].slot};
  for (uint32_t i = 0; i < phase->n_stores; i++)
    sink[(*n)++] = (sn_cc_sink){
        .kind = SN_CC_STORE, .insn = phase->stores[i].insn, .target = &phase->stores[i].target};
  for (uint32_t i = 0; i < phase->n_reductions; i++)
    if (kept_slot(phase, i) == SN_NONE)
      sink[(*n)++] =
          (sn_cc_sink){.kind = SN_CC_STRIP, .insn = phase->reductions[i].insn, .number = i};
  return SN_OK;
}

/* ---- post ------------------------------------------------------------------------------------ */

static sn_status add_post(const writer *w, const char *const *totals, bool *able) {
  const sn_group *g = w->k->group;
  sn_cc_walk walk = {.t = w->t,
                     .body = &g->post,
                     .totals = totals,
                     .n_sinks = g->n_stores,
                     .points = sn_group_points(g),
                     .streams = g->kind == SN_GROUP_MAP};
  sn_cc_sink *sinks;
  SN_TRY(sn_arena_alloc(w->t->arena, g->n_stores, sizeof *sinks, (void **)&sinks));
  walk.sinks = sinks;
  for (uint32_t i = 0; i < g->n_stores; i++)
    sinks[i] = (sn_cc_sink){
        .kind = SN_CC_STORE, .insn = g->stores[i].insn, .target = &g->stores[i].target};
  walk.nest.rank = g->space_rank;
  for (int i = 0; i < g->space_rank; i++) {
    walk.nest.pick[i] = i;
    walk.nest.dims[i] = g->space[i];
  }
  SN_TRY(sn_cc_walk_begin(&walk, able));
  return *able ? sn_cc_walk_points(&walk) : SN_OK;
}

static sn_status add_strip(const writer *w, bool *able) {
  LINE("EXPORT void %s(void *const *values, void *memory, const void *total, int32_t flat,\n"
       "                int32_t n) {\n",
       w->name);
  SN_TRY(add_post(w, (const char *[]){"total"}, able));
  LINE("}\n\n");
  return SN_OK;
}

/* ---- reduce ---------------------------------------------------------------------------------- */

static sn_status add_fold(const writer *w, bool *able) {
  const sn_group *g = w->k->group;
  const sn_phase *phase = &g->row.phases[0];
  sn_cc_walk walk = {.t = w->t, .body = &phase->body};
  sn_cc_sink *sinks;
  SN_TRY(phase_sinks(w->t->arena, phase, &sinks, &walk.n_sinks));
  walk.sinks = sinks;
  for (int i = 0; i < g->space_rank + g->reduced_rank; i++) {
    walk.nest.pick[walk.nest.rank] = i;
    walk.nest.dims[walk.nest.rank++] =
        i < g->space_rank ? g->space[i] : g->reduced[i - g->space_rank];
  }
  LINE("EXPORT void %s(void *const *values, void *memory, void *item, int32_t first,\n"
       "                int32_t length) {\n",
       w->name);
  declare_blocks(w, phase);
  SN_TRY(sn_cc_walk_begin(&walk, able));
  if (!*able) return SN_OK;
  SN_TRY(fold_points(w, phase, &walk, "first", NULL, (const char *[]){"item"}));
  LINE("}\n\n");
  return SN_OK;
}

/* If rows have bags, the outputs of a call are the points of one row: dim 0 of the space is not walked. */
static sn_status add_columns(const writer *w, bool *able) {
  const sn_group *g = w->k->group;
  const sn_reduction *r = &g->row.phases[0].reductions[0];
  const sn_cc_sink sink = {.kind = SN_CC_COMBINE, .insn = r->insn, .op = r->op};
  sn_cc_walk walk = {.t = w->t, .body = &g->row.phases[0].body, .sinks = &sink, .n_sinks = 1};
  const int skipped = has_bags(g);
  int64_t outputs = 1;
  for (int i = 0; i < g->reduced_rank; i++) {
    walk.nest.pick[walk.nest.rank] = g->space_rank + i;
    walk.nest.dims[walk.nest.rank++] = g->reduced[i];
  }
  for (int i = skipped; i < g->space_rank; i++) {
    walk.nest.pick[walk.nest.rank] = i;
    walk.nest.dims[walk.nest.rank++] = g->space[i];
    outputs *= g->space[i];
  }
  LINE("EXPORT void %s(void *const *values, void *memory, void *acc, int32_t first, int32_t n,\n"
       "                int32_t from, int32_t to) {\n",
       w->name);
  SN_TRY(sn_cc_walk_begin(&walk, able));
  if (!*able) return SN_OK;
  if (skipped) LINE("  memset(acc, 0, (size_t)n * sizeof(%s));\n", sn_cc_strip_type(r->dtype));
  LINE("  for (int64_t j = from; j < to; j++) {\n"
       "  const int64_t flat = j * %lld + first;\n  const int begins = %s;\n",
       (long long)outputs, skipped ? "0" : "j == from");
  SN_TRY(sn_cc_walk_points(&walk));
  LINE("  }\n}\n\n");
  return SN_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* C expressions for the totals' places in worker memory: those of the strip of rows under way, or (in_row) of row r. */
static sn_status total_places(const writer *w, bool in_row, const char *const **out) {
  const sn_row *row = &w->k->group->row;
  const char **places;
  SN_TRY(sn_arena_alloc(w->t->arena, row->n_totals, sizeof *places, (void **)&places));
  for (uint32_t i = 0; i < row->n_totals; i++) {
    char text[80];
    const size_t at = w->k->row.totals_offset + i * SN_STRIP * sizeof(double);
    sn_format(text, sizeof text, in_row ? "(char *)memory + %zu + r * %zu" : "(char *)memory + %zu",
              at, w->k->row.folds[i].item_bytes);
    SN_TRY(sn_arena_text(w->t->arena, text, &places[i]));
  }
  *out = places;
  return SN_OK;
}

static sn_status kept_places(const writer *w, const char *const **out) {
  const sn_row *row = &w->k->group->row;
  const char **places;
  SN_TRY(sn_arena_alloc(w->t->arena, row->n_kept, sizeof *places, (void **)&places));
  for (uint32_t i = 0; i < row->n_kept; i++) {
    char text[48];
    sn_format(text, sizeof text, "(char *)memory + %zu", w->k->row.kept_offset[i]);
    SN_TRY(sn_arena_text(w->t->arena, text, &places[i]));
  }
  *out = places;
  return SN_OK;
}

static sn_status add_phase(const writer *w, const sn_phase *phase, const char *const *totals,
                           const char *const *kept, bool *able) {
  const sn_group *g = w->k->group;
  sn_cc_walk walk = {.t = w->t,
                     .body = &phase->body,
                     .totals = totals,
                     .one_total = true,
                     .kept = kept,
                     .points = sn_group_points(g) * sn_group_reduced_points(g)};
  sn_cc_sink *sinks;
  SN_TRY(phase_sinks(w->t->arena, phase, &sinks, &walk.n_sinks));
  walk.sinks = sinks;
  walk.nest.outer_rank = g->space_rank;
  walk.nest.rank = g->reduced_rank;
  for (int i = 0; i < g->space_rank; i++) walk.nest.outer_pick[i] = i;
  for (int i = 0; i < g->reduced_rank; i++) {
    walk.nest.pick[i] = g->space_rank + i;
    walk.nest.dims[i] = g->reduced[i];
  }
  LINE("  {\n");
  declare_blocks(w, phase);
  SN_TRY(sn_cc_walk_begin(&walk, able));
  if (!*able) return SN_OK;
  SN_TRY(fold_points(w, phase, &walk, "0", kept, totals + phase->first_total));
  LINE("  }\n");
  return SN_OK;
}

static void declare_row_indices(const writer *w) {
  const sn_group *g = w->k->group;
  LINE("  int64_t o = first + done + r");
  for (int i = 0; i < g->space_rank; i++) LINE(", o%d", i);
  LINE(";\n");
  for (int i = g->space_rank - 1; i > 0; i--)
    LINE("  o%d = o %% %lld, o /= %lld;\n", i, (long long)g->space[i], (long long)g->space[i]);
  if (g->space_rank) LINE("  o0 = o;\n");
}

static sn_status add_rows(const writer *w, bool *able) {
  const sn_group *g = w->k->group;
  const char *const *in_row, *const *of_strip, *const *kept;
  SN_TRY(total_places(w, true, &in_row));
  SN_TRY(total_places(w, false, &of_strip));
  SN_TRY(kept_places(w, &kept));
  LINE("EXPORT void %s(void *const *values, void *memory, int32_t first, int32_t rows,\n"
       "                int32_t %s) {\n",
       w->name, g->limited ? "length" : "all");
  if (!g->limited)
    LINE("  enum { length = %lld };\n", (long long)sn_group_reduced_points(g));
  LINE("  for (int64_t done = 0; done < rows; done += STRIP) {\n"
       "  const int64_t n = rows - done < STRIP ? rows - done : STRIP, flat = first + done;\n"
       "  for (int64_t r = 0; r < n; r++) {\n");
  declare_row_indices(w);
  for (uint32_t i = 0; i < g->row.n_phases; i++) {
    SN_TRY(add_phase(w, &g->row.phases[i], in_row, kept, able));
    if (!*able) return SN_OK;
  }
  LINE("  }\n");
  if (g->n_stores) {
    SN_TRY(add_post(w, of_strip, able));
    if (!*able) return SN_OK;
  }
  LINE("  }\n}\n\n");
  return SN_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef sn_status role_fn(const writer *w, bool *able);

static const struct {
  const char *name;
  role_fn *add;
} roles[SN_CC_ROLES] = {
    {"strip", add_strip}, {"fold", add_fold}, {"columns", add_columns}, {"rows", add_rows}};

static bool has_role(const sn_kernel *k, sn_cc_role role) {
  const sn_group *g = k->group;
  const bool bags = has_bags(g), all = sn_group_phases(g) && !bags;
  const int64_t reduced = all ? sn_group_reduced_points(g) : 1;
  const int64_t points = sn_group_points(g) * reduced;
  if (points <= 0 || points > INT32_MAX) return false;
  const bool reduce = g->kind == SN_GROUP_REDUCE;
  switch (role) {
  case SN_CC_ROLE_STRIP:
    return (g->kind == SN_GROUP_MAP || reduce || g->kind == SN_GROUP_CONTRACTION) && g->n_stores;
  case SN_CC_ROLE_FOLD: return reduce && k->reduce.mode == SN_REDUCE_ROWS && !bags;
  case SN_CC_ROLE_COLUMNS:
    return reduce && (bags ? g->space_rank > 1 && !k->reduce.adds_memory
                           : k->reduce.mode == SN_REDUCE_COLUMNS);
  case SN_CC_ROLE_ROWS: return g->kind == SN_GROUP_ROW;
  case SN_CC_ROLES: break;
  }
  return false;
}

void sn_cc_function_name(char *out, size_t room, size_t kernel, uint32_t part, sn_cc_role role) {
  sn_format(out, room, "k%zu_%u_%s", kernel, part, roles[role].name);
}

static sn_status add_role(sn_text *text, const char *name, const sn_kernel *kernel, uint8_t *blocks,
                          sn_cc_role role, bool *able) {
  sn_text function = sn_text_in(text->arena), before = sn_text_in(text->arena);
  const writer w = {.t = &function, .before = &before, .k = kernel, .blocks = blocks, .name = name};
  *able = true;
  SN_TRY(roles[role].add(&w, able));
  SN_TRY(function.status);
  SN_TRY(before.status);
  if (before.used) sn_text_add(text, "%s", before.data);
  if (*able) sn_text_add(text, "%s", function.data);
  return text->status;
}

sn_status sn_cc_add_kernel(sn_text *text, size_t number, const sn_kernel *kernel, uint8_t *blocks,
                           sn_cc_functions *out) {
  const sn_kernel *part;
  for (uint32_t p = 0; (part = sn_kernel_part(kernel, p)); p++) {
    sn_text_add(text, "/* %s */\n", part->group->name);
    for (int role = 0; role < SN_CC_ROLES; role++) {
      char name[48];
      sn_cc_function_name(name, sizeof name, number, p, (sn_cc_role)role);
      out[p].has[role] = false;
      if (has_role(part, (sn_cc_role)role))
        SN_TRY(add_role(text, name, part, blocks, (sn_cc_role)role, &out[p].has[role]));
    }
  }
  return text->status;
}

uint32_t sn_cc_count_parts(const sn_kernel *kernel) {
  uint32_t n = 0;
  while (sn_kernel_part(kernel, n)) n++;
  return n;
}
