/* shader_row.c - reductions and row groups. Each point of the space has a workgroup, whose threads take the reduced points in
 * turns and join their totals in a tree; or it has one thread, if many points have few reduced points each, if there are bags,
 * or if neighbours in memory belong to different points. If few points have many reduced points each, these are cut into
 * parts, whose totals another shader joins. The order of every sum follows from sizes alone.
 *
 *   for each phase:  for r = lane, lane + threads ...     body, stores, kept values, partial totals
 *                    tree over the threads                 totals, known to all
 *   post                                                   thread 0
 *
 * A thread adds up blocks of terms, and then the blocks' sums, so that a long sum does not lose precision. */
#include "base/format.h"
#include "wgsl/shader.h"

enum {
  GROUP_THREADS = 128,
  FEW_TERMS = 32,
  MANY_POINTS = 8192,
  BLOCK = 32,
  PART_TERMS = 64,       /* least terms of a part per thread, if threads share memory, */
  LONE_PART_TERMS = 256, /* and if they do not */
  LEAST_PARTS = 4,       /* fewer are not worth another shader */
  MOST_PARTS = 1024,
  MOST_LONE_PARTS = 256,
  LEAST_ACROSS =
      32, /* if points are neighbours in memory (lies_across): least points of the innermost dim, */
  LEAST_TERMS_ACROSS = 1 << 20, /* least terms of all points, */
  WANTED_THREADS = 64 * 1024,   /* and threads that keep a device busy */
  UNROLLED = 4,                 /* terms that a round of the loop takes, */
  MOST_UNROLLED = 24            /* for bodies of at most so many instructions */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static bool threads_share(const sn_shader *s) { return sn_shader_shared_bytes(s) > 0; }

static bool adds(const sn_reduction *r) {
  return r->dtype == SN_F32 && !sn_op_describe(r->op)->picks;
}

void sn_shader_combine(sn_shader *s, const sn_reduction *r, const char *left, const char *right) {
  sn_text e = sn_text_in(s->arena);
  const sn_status status = sn_scalar_text_add_step(&s->scalars, &e, r->op, r->dtype, left, right);
  if (status) s->status = status;
  sn_shader_line(s, "%s = %s;", left, sn_shader_text(s, &e));
}

static void declare(sn_shader *s, const sn_reduction *r, const char *prefix, uint32_t number) {
  sn_text e = sn_text_in(s->arena);
  sn_scalar_text_add_identity(&s->scalars, &e, r->op, r->dtype);
  sn_shader_line(s, "var %s%u: %s = %s;", prefix, number, sn_scalar_text_type(r->dtype),
                 sn_shader_text(s, &e));
}

static void name_of(char name[SN_SHADER_NAME], const char *prefix, uint32_t number) {
  sn_format(name, SN_SHADER_NAME, "%s%u", prefix, number);
}

/* Joins the threads' totals into one, which all of them then know. */
static void gather_totals(sn_shader *s, const sn_reduction *r, uint32_t number) {
  char total[SN_SHADER_NAME], left[64], right[64];
  const char *shared = sn_scalar_text_type(r->dtype);
  name_of(total, "sum", number);
  sn_shader_line(s, "shared_%s[lane] = %s;", shared, total);
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "for (var half = %u; half > 0; half >>= 1u) {", s->threads[0] / 2);
  sn_shader_line(s, "if (lane < half) {");
  sn_format(left, sizeof left, "shared_%s[lane]", shared);
  sn_format(right, sizeof right, "shared_%s[lane + half]", shared);
  sn_shader_combine(s, r, left, right);
  sn_shader_line(s, "}");
  sn_shader_line(s, "workgroupBarrier();");
  sn_shader_line(s, "}");
  sn_shader_line(s, "let total%u = shared_%s[0];", number, shared);
  sn_shader_line(s, "workgroupBarrier();");
}

/* Declares workgroup memory for totals, once for each of their types. */
static void declare_shared(sn_shader *s) {
  const sn_row *row = &s->group->row;
  for (uint32_t p = 0; p < row->n_phases; p++)
    for (uint32_t k = 0; k < row->phases[p].n_reductions; k++) {
      char line[96];
      const char *type = sn_scalar_text_type(row->phases[p].reductions[k].dtype);
      sn_format(line, sizeof line, "var<workgroup> shared_%s: array<%s, %u>;\n", type, type,
                s->threads[0]);
      if (!s->declared.data || !sn_text_find(s->declared.data, line))
        sn_text_add(&s->declared, "%s", line);
    }
}

/* Declares memory for values that are kept for later phases: the thread's own (alone), or the workgroup's. */
static void declare_kept(sn_shader *s, bool alone) {
  const sn_row *row = &s->group->row;
  const long long n = (long long)sn_group_reduced_points(s->group);
  for (uint32_t k = 0; k < row->n_kept; k++) {
    if (alone)
      sn_shader_line(s, "var kept%u: array<%s, %lld>;", k, sn_scalar_text_type(row->kept[k]), n);
    else
      sn_text_add(&s->declared, "var<workgroup> kept%u: array<%s, %lld>;\n", k,
                  sn_scalar_text_type(row->kept[k]), n);
  }
}

/* Declares begin and end of the point's bag. */
static void declare_bag(sn_shader *s) {
  const sn_operand *ends = s->group->row.ends;
  const long long n = (long long)s->group->reduced[0];
  sn_operand before = *ends;
  before.offset -= before.strides[0];
  sn_text end = sn_text_in(s->arena), begin = end, at = end;
  sn_shader_add_place(s, &at, ends, s->group->space_rank);
  sn_shader_add_element(s, &end, ends->value, ends->dtype, sn_shader_text(s, &at));
  at = sn_text_in(s->arena);
  sn_text_add(&at, "max(0, ");
  sn_shader_add_place(s, &at, &before, s->group->space_rank);
  sn_text_add(&at, ")");
  sn_shader_add_element(s, &begin, ends->value, ends->dtype, sn_shader_text(s, &at));
  sn_shader_line(s, "let begin = select(clamp(%s, 0, %lld), 0, %s == 0);",
                 sn_shader_text(s, &begin), n, s->index[0]);
  sn_shader_line(s, "let end = clamp(%s, 0, %lld);", sn_shader_text(s, &end), n);
}

/* Whether the phase has sums, whose terms are added up in blocks. */
static bool has_blocks(const sn_phase *phase) {
  for (uint32_t k = 0; k < phase->n_reductions; k++)
    if (adds(&phase->reductions[k])) return true;
  return false;
}

static sn_status keep(sn_shader *s, const sn_phase *phase) {
  for (uint32_t k = 0; k < phase->n_keeps; k++) {
    sn_text name = sn_text_in(s->arena);
    sn_shader_add_name(s, &name, &phase->body, phase->keeps[k].insn, 'w');
    sn_shader_line(s, "kept%u[r] = %s;", phase->keeps[k].slot, sn_shader_text(s, &name));
  }
  return s->status;
}

static void add_blocks(sn_shader *s, const sn_phase *phase) {
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    char part[SN_SHADER_NAME], sum[SN_SHADER_NAME];
    if (!adds(&phase->reductions[k])) continue;
    name_of(part, "part", phase->first_total + k);
    name_of(sum, "sum", phase->first_total + k);
    sn_shader_combine(s, &phase->reductions[k], sum, part);
  }
}

/* Adds the body's values to the totals; for sums, to the total of the block. */
static void accumulate(sn_shader *s, const sn_phase *phase) {
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    const sn_reduction *r = &phase->reductions[k];
    char into[SN_SHADER_NAME];
    sn_text name = sn_text_in(s->arena);
    sn_shader_add_name(s, &name, &phase->body, r->insn, 'w');
    name_of(into, adds(r) ? "part" : "sum", phase->first_total + k);
    sn_shader_combine(s, r, into, sn_shader_text(s, &name));
  }
}

static void declare_totals(sn_shader *s, const sn_phase *phase) {
  for (uint32_t k = 0; k < phase->n_reductions; k++)
    declare(s, &phase->reductions[k], "sum", phase->first_total + k);
}

static void declare_block(sn_shader *s, const sn_phase *phase) {
  for (uint32_t k = 0; k < phase->n_reductions; k++)
    if (adds(&phase->reductions[k]))
      declare(s, &phase->reductions[k], "part", phase->first_total + k);
}

/* The terms of a phase that a thread takes. */
typedef struct row_terms {
  const sn_phase *phase;
  const uint8_t *wanted; /* instructions of the body that are needed */
  uint32_t apart;        /* distance from one term of a thread to its next */
} row_terms;

/* Adds term r. */
static sn_status add_term(sn_shader *s, const row_terms *t) {
  const sn_group *g = s->group;
  const int rank = g->space_rank + g->reduced_rank;
  sn_shader_split(s, "r", g->reduced, g->reduced_rank, 'j');
  SN_TRY(sn_shader_body(s, &t->phase->body, t->wanted, rank, 'w'));
  SN_TRY(keep(s, t->phase));
  SN_TRY(sn_shader_stores(s, &t->phase->body, t->phase->stores, t->phase->n_stores, rank, 'w'));
  accumulate(s, t->phase);
  return s->status;
}

static bool is_unrolled(const sn_shader *s, const sn_phase *phase) {
  return threads_share(s) && !phase->n_keeps && !phase->n_stores &&
         phase->body.n_insns <= MOST_UNROLLED;
}

/* Adds terms at, at + apart .. that are before `last`, UNROLLED at a time: so a thread waits for their loads together. */
static sn_status add_several(sn_shader *s, const row_terms *t) {
  sn_shader_line(s, "for (; at + %u < last; at += %u) {", (UNROLLED - 1) * t->apart,
                 UNROLLED * t->apart);
  for (uint32_t u = 0; u < UNROLLED; u++) {
    sn_shader_line(s, "{");
    sn_shader_line(s, "let r = at + %u;", u * t->apart);
    SN_TRY(add_term(s, t));
    sn_shader_line(s, "}");
  }
  sn_shader_line(s, "}");
  return s->status;
}

/* Adds all terms of a thread from `first` on, in blocks. */
static sn_status add_in_blocks(sn_shader *s, const row_terms *t, const char *first,
                               const char *end) {
  sn_shader_line(s, "for (var first = %s; first < %s; first += %u) {", first, end,
                 t->apart * BLOCK);
  declare_block(s, t->phase);
  sn_shader_line(s, "let last = min(first + %u, %s);", t->apart * BLOCK, end);
  sn_shader_line(s, "var at = first;");
  if (is_unrolled(s, t->phase)) SN_TRY(add_several(s, t));
  sn_shader_line(s, "for (; at < last; at += %u) {", t->apart);
  sn_shader_line(s, "let r = at;");
  SN_TRY(add_term(s, t));
  sn_shader_line(s, "}");
  add_blocks(s, t->phase);
  sn_shader_line(s, "}");
  return s->status;
}

static sn_status add_all(sn_shader *s, const row_terms *t, const char *first, const char *end) {
  declare_block(s, t->phase);
  sn_shader_line(s, "for (var r = %s; r < %s; r += %u) {", first, end, t->apart);
  SN_TRY(add_term(s, t));
  sn_shader_line(s, "}");
  add_blocks(s, t->phase);
  return s->status;
}

/* Adds a phase over reduced points [from, to), both expressions; NULL: over all. alone: a point has one thread. */
static sn_status add_phase(sn_shader *s, uint32_t number, bool alone, const char *from,
                           const char *to) {
  const sn_group *g = s->group;
  const sn_phase *phase = &g->row.phases[number];
  const bool blocks = has_blocks(phase) && sn_group_reduced_points(g) > BLOCK;
  uint8_t *wanted;
  char begin[SN_SHADER_NAME], end[SN_SHADER_NAME];
  if (!from) from = g->row.ends ? "begin" : "0";
  sn_format(begin, sizeof begin, alone ? "%s" : "%s + lane", from);
  if (g->row.ends)
    sn_format(end, sizeof end, "end");
  else if (to)
    sn_format(end, sizeof end, "%s", to);
  else
    sn_format(end, sizeof end, "%lld", (long long)sn_group_reduced_points(g));
  SN_TRY(sn_arena_alloc(s->arena, phase->body.n_insns, 1, (void **)&wanted));
  for (uint32_t k = 0; k < phase->n_keeps; k++) wanted[phase->keeps[k].insn] = 1;
  for (uint32_t k = 0; k < phase->n_stores; k++) wanted[phase->stores[k].insn] = 1;
  for (uint32_t k = 0; k < phase->n_reductions; k++) wanted[phase->reductions[k].insn] = 1;
  declare_totals(s, phase);
  if (g->row.ends) declare_bag(s);
  const row_terms t = {.phase = phase, .wanted = wanted, .apart = alone ? 1 : s->threads[0]};
  SN_TRY((blocks ? add_in_blocks : add_all)(s, &t, begin, end));
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    if (alone)
      sn_shader_line(s, "let total%u = sum%u;", phase->first_total + k, phase->first_total + k);
    else
      gather_totals(s, &phase->reductions[k], phase->first_total + k);
  }
  if (!alone && phase->n_keeps && !phase->n_reductions) sn_shader_line(s, "workgroupBarrier();");
  return s->status;
}

static void make_bytes_atomic(sn_shader *s) {
  const sn_group *g = s->group;
  for (uint32_t p = 0; p < g->row.n_phases; p++)
    sn_shader_stores_small(s, g->row.phases[p].stores, g->row.phases[p].n_stores);
  sn_shader_stores_small(s, g->stores, g->n_stores);
}

/* Threads of a workgroup: a power of two, not many more than there are terms. */
static uint32_t threads_for(int64_t terms) {
  uint32_t threads = 32;
  while (threads < GROUP_THREADS && threads < terms) threads *= 2;
  return threads;
}

/* Whether neighbours in memory are neighbouring points, and not terms of one point. */
static bool lies_across(const sn_shader *s) {
  const sn_group *g = s->group;
  const sn_body *body = &g->row.phases[0].body;
  const int last = g->space_rank - 1;
  bool any = false;
  if (g->kind != SN_GROUP_REDUCE || last < 0 || g->space[last] < LEAST_ACROSS ||
      sn_group_points(g) * sn_group_reduced_points(g) < LEAST_TERMS_ACROSS)
    return false;
  for (uint32_t i = 0; i < body->n_operands; i++) {
    const sn_operand *o = &body->operands[i];
    const int64_t along = o->strides[last + g->reduced_rank];
    if (o->value == SN_NONE || (!along && !o->strides[last])) continue;
    if (o->strides[last] != 1 || along == 1) return false;
    any = true;
  }
  return any;
}

/* Whether a point has one thread, not a workgroup. */
static bool is_alone(const sn_shader *s) {
  const sn_group *g = s->group;
  return g->row.ends || sn_group_reduced_points(g) <= FEW_TERMS || !threads_share(s) ||
         (sn_group_points(g) >= MANY_POINTS && !g->row.n_kept) || lies_across(s);
}

sn_status sn_shader_row(sn_shader *s) {
  const sn_group *g = s->group;
  const int64_t points = sn_group_points(g), terms = sn_group_reduced_points(g);
  const bool alone = is_alone(s);
  make_bytes_atomic(s);
  if (alone)
    sn_shader_thread_per_point(s, points, 1);
  else
    sn_shader_group_per_point(s, points, threads_for(terms));
  sn_shader_split(s, "p", g->space, g->space_rank, 'i');
  if (!alone) declare_shared(s);
  declare_kept(s, alone);
  for (uint32_t p = 0; p < g->row.n_phases; p++) SN_TRY(add_phase(s, p, alone, NULL, NULL));
  if (!alone) sn_shader_line(s, "if (lane == 0) {");
  SN_TRY(sn_shader_post(s));
  if (!alone) sn_shader_line(s, "}");
  return s->status;
}

/* ---- reductions in two levels ------------------------------------------------------------------ */

int64_t sn_shader_parts(const sn_shader *s) {
  const sn_group *g = s->group;
  if (g->kind != SN_GROUP_REDUCE || g->row.ends) return 1;
  const sn_phase *phase = &g->row.phases[0];
  const sn_dtype dtype = phase->reductions[0].dtype;
  const int64_t points = sn_group_points(g), terms = sn_group_reduced_points(g);
  if ((dtype != SN_F32 && dtype != SN_I32) || phase->n_stores || phase->n_keeps) return 1;
  if (!sn_shader_can_bind_parts(s)) return 1;
  int64_t parts = least(MOST_PARTS, terms / (PART_TERMS * GROUP_THREADS)), most = 2 * MOST_PARTS;
  if (!threads_share(s)) {
    parts = least(MOST_LONE_PARTS, terms / LONE_PART_TERMS);
    most = 2 * MOST_LONE_PARTS;
  } else if (lies_across(s)) {
    parts = least(MOST_PARTS, terms / PART_TERMS);
    most = WANTED_THREADS;
  }
  if (points * parts > most) parts = most / points;
  return parts < LEAST_PARTS ? 1 : parts;
}

static uint32_t bind_parts(sn_shader *s, const sn_reduction *r, int64_t parts) {
  return sn_shader_bind_parts(s, sn_group_points(s->group) * parts, r->dtype);
}

sn_status sn_shader_partial_totals(sn_shader *s, int64_t parts) {
  const sn_group *g = s->group;
  const sn_reduction *r = &g->row.phases[0].reductions[0];
  const int64_t n = sn_group_points(g) * parts, terms = sn_group_reduced_points(g);
  const int64_t each = (terms + parts - 1) / parts;
  const bool alone = !threads_share(s) || lies_across(s);
  const uint32_t b = bind_parts(s, r, parts);
  if (alone)
    sn_shader_thread_per_point(s, n, 1);
  else
    sn_shader_group_per_point(s, n, threads_for(each));
  sn_shader_line(s, "let q = p %% %lld;", (long long)sn_group_points(g));
  sn_shader_line(s, "let begin = p / %lld * %lld;", (long long)sn_group_points(g), (long long)each);
  sn_shader_line(s, "let end = min(begin + %lld, %lld);", (long long)each, (long long)terms);
  sn_shader_split(s, "q", g->space, g->space_rank, 'i');
  if (!alone) declare_shared(s);
  SN_TRY(add_phase(s, 0, alone, "begin", "end"));
  if (!alone) sn_shader_line(s, "if (lane == 0) {");
  sn_shader_line(s, "b%u[p] = total0;", b);
  if (!alone) sn_shader_line(s, "}");
  return s->status;
}

sn_status sn_shader_join_totals(sn_shader *s, int64_t parts) {
  const sn_group *g = s->group;
  const sn_reduction *r = &g->row.phases[0].reductions[0];
  const uint32_t b = bind_parts(s, r, parts);
  const bool alone = !threads_share(s) || parts < GROUP_THREADS;
  char element[64];
  make_bytes_atomic(s);
  if (alone)
    sn_shader_thread_per_point(s, sn_group_points(g), 1);
  else
    sn_shader_group_per_point(s, sn_group_points(g), GROUP_THREADS);
  sn_shader_split(s, "p", g->space, g->space_rank, 'i');
  if (!alone) declare_shared(s);
  declare(s, r, "sum", 0);
  sn_shader_line(s, "for (var part = %s; part < %lld; part += %d) {", alone ? "0" : "lane",
                 (long long)parts, alone ? 1 : GROUP_THREADS);
  sn_format(element, sizeof element, "b%u[part * %lld + p]", b, (long long)sn_group_points(g));
  sn_shader_combine(s, r, "sum0", element);
  sn_shader_line(s, "}");
  if (alone)
    sn_shader_line(s, "let total0 = sum0;");
  else
    gather_totals(s, r, 0);
  if (!alone) sn_shader_line(s, "if (lane == 0) {");
  SN_TRY(sn_shader_post(s));
  if (!alone) sn_shader_line(s, "}");
  return s->status;
}
