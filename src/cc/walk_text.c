#include "cc/walk_text.h"

#include "base/format.h"

/* How an operand is accessed. The order matters: how <= LINEAR needs no runs. */
typedef enum how {
  ALL_ONE, /* one element for all points */
  LINEAR,  /* contiguous over the nest */
  COUNTED, /* an iota: numbers with a constant step along a run */
  RUN,     /* contiguous along a run */
  RUN_ONE, /* one element along a run */
  COPIED   /* copied to or from a contiguous array, strip by strip */
} how;

/* An operand, its strides and those of its index sorted by the dims of the walk. */
typedef struct sn_cc_place {
  const sn_operand *o;
  how how;
  int64_t outer[SN_MAX_RANK], along[SN_MAX_RANK];
  int64_t index_outer[SN_MAX_RANK], index_along[SN_MAX_RANK];
} place;

/* A shorter innermost dim makes no runs, since partial vectors are too much of it, unless it is a multiple of RUN_UNIT. */
enum { LEAST_RUN = 128, RUN_UNIT = 16, LEVEL_ALL = 0, LEVEL_RUN = 1, LEVEL_POINT = 2 };

/* Least cost (ops.def) of an op that is a long chain of operations, and gains from WIDE vectors (wide_words.h). */
enum { LEAST_COST = 10 };

/* The loop of a body with at most SHORT_INSNS instructions per point is unrolled UNROLLED times. */
enum { SHORT_INSNS = 12, UNROLLED = 4 };

/* Least cost of a point of a row whose stores are prefetched: computing it then takes as long as such a store. */
enum { BUSY_COST = 4 };

/* Bytes of one store: from ASKED_FOR_BYTES on, the memory has left the caches near a core before it is written again;
 * STREAMED_BYTES are more than all caches hold together. */
enum { ASKED_FOR_BYTES = 256 << 10, STREAMED_BYTES = 32 << 20 };

const char *sn_cc_short_name(sn_dtype dtype) {
  static const char *const names[SN_DTYPES] = {
#define DTYPE(id, name, s, ...) #s,
#include "graph/dtypes.def"
  };
  return names[dtype];
}

const char *sn_cc_strip_name(sn_dtype dtype) {
  if (dtype == SN_BOOL) return "mask";
  return sn_dtype_is_small(dtype) ? "i32" : sn_cc_short_name(dtype);
}

const char *sn_cc_strip_type(sn_dtype dtype) {
  return sn_strip_is_memory(dtype) ? sn_dtype_table[dtype].c_type : "int32_t";
}

/* The suffix of the words that access elements of a dtype in memory. */
static const char *memory_name(sn_dtype dtype) {
  return dtype == SN_BOOL ? "flag" : sn_cc_short_name(dtype);
}

/* ---- describing ------------------------------------------------------------------------------ */

static void split(const sn_cc_nest *nest, const sn_operand *o, int64_t *outer, int64_t *along) {
  for (int i = 0; i < nest->outer_rank; i++) outer[i] = o->strides[nest->outer_pick[i]];
  for (int i = 0; i < nest->rank; i++) along[i] = o->strides[nest->pick[i]];
}

static bool is_zero(const int64_t *dims, const int64_t *strides, int rank) {
  for (int i = 0; i < rank; i++)
    if (dims[i] != 1 && strides[i]) return false;
  return true;
}

static bool is_linear(const int64_t *dims, const int64_t *strides, int rank) {
  int64_t expected = 1;
  for (int i = rank - 1; i >= 0; expected *= dims[i--])
    if (dims[i] != 1 && strides[i] != expected) return false;
  return true;
}

static bool is_counted(const sn_cc_nest *nest, const place *p) {
  return p->o->dtype == SN_I32 && nest->rank && is_zero(nest->dims, p->along, nest->rank - 1);
}

/* How an operand is accessed if the walk has runs; settle corrects it if it has none. */
static how how_of(const sn_cc_nest *nest, const place *p) {
  const int rank = nest->rank, last = rank - 1;
  const bool indexed = sn_is_indexed(p->o);
  const bool one_place = !indexed || is_zero(nest->dims, p->index_along, rank);
  if (one_place && is_zero(nest->dims, p->along, rank)) return ALL_ONE;
  if (p->o->value == SN_NONE) return is_counted(nest, p) ? COUNTED : COPIED;
  if (one_place && is_linear(nest->dims, p->along, rank)) return LINEAR;
  if (indexed && p->index_along[last]) return COPIED;
  if (p->along[last] == 0) return RUN_ONE;
  return p->along[last] == 1 ? RUN : COPIED;
}

static place place_of(const sn_cc_nest *nest, const sn_operand *o) {
  place p = {.o = o};
  split(nest, o, p.outer, p.along);
  if (sn_is_indexed(o)) split(nest, &o->indexing->index, p.index_outer, p.index_along);
  p.how = how_of(nest, &p);
  return p;
}

static void settle(sn_cc_walk *w, place *p) {
  const bool one_run = p->how == COUNTED && w->nest.rank == 1;
  if (!w->runs && p->how > LINEAR && !one_run) p->how = COPIED;
  w->copies = w->copies || p->how == COPIED;
}

static void mark_needed(sn_cc_walk *w) {
  for (uint32_t i = 0; i < w->n_sinks; i++) w->needed[w->sinks[i].insn] = 1;
  for (uint32_t i = w->body->n_insns; i-- > 0;) {
    const sn_insn *insn = &w->body->insns[i];
    if (!w->needed[i] || insn->kind != SN_INSN_OP) continue;
    for (uint32_t k = 0; k < insn->n_args; k++) w->needed[insn->args[k]] = 1;
  }
}

static uint8_t level_of(const sn_cc_walk *w, uint32_t i) {
  const sn_insn *insn = &w->body->insns[i];
  uint8_t level = LEVEL_ALL;
  switch (insn->kind) {
  case SN_INSN_CONST: return LEVEL_ALL;
  case SN_INSN_TOTAL: return w->one_total ? LEVEL_ALL : LEVEL_POINT;
  case SN_INSN_KEPT: return LEVEL_POINT;
  case SN_INSN_LOAD:
    return w->loads[i].how == ALL_ONE   ? LEVEL_ALL
           : w->loads[i].how == RUN_ONE ? LEVEL_RUN
                                        : LEVEL_POINT;
  case SN_INSN_OP: break;
  }
  for (uint32_t k = 0; k < insn->n_args; k++)
    if (w->level[insn->args[k]] > level) level = w->level[insn->args[k]];
  return level;
}

static bool has_row(sn_op op, sn_dtype dtype);

static bool has_c(const sn_insn *insn) {
  if (insn->kind != SN_INSN_OP || insn->op == SN_OP_astype || insn->op == SN_OP_where) return true;
  if (insn->op == SN_OP_bitcast) return true;
  return insn->in_dtype < SN_DTYPE_COUNT && has_row(insn->op, insn->in_dtype);
}

static sn_status describe(sn_cc_walk *w, bool *able) {
  sn_arena *arena = w->t->arena;
  const uint32_t n = w->body->n_insns;
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&w->needed));
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&w->level));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *w->loads, (void **)&w->loads));
  SN_TRY(sn_arena_alloc(arena, w->n_sinks, sizeof *w->stores, (void **)&w->stores));
  mark_needed(w);
  *able = true;
  for (uint32_t i = 0; i < n; i++) {
    const sn_insn *insn = &w->body->insns[i];
    *able = *able && has_c(insn);
    if (w->needed[i] && insn->kind == SN_INSN_LOAD)
      w->loads[i] = place_of(&w->nest, &w->body->operands[insn->args[0]]);
  }
  for (uint32_t i = 0; i < w->n_sinks; i++)
    if (w->sinks[i].kind == SN_CC_STORE) w->stores[i] = place_of(&w->nest, w->sinks[i].target);
  const int64_t inner = w->nest.rank ? w->nest.dims[w->nest.rank - 1] : 0;
  w->runs = inner >= LEAST_RUN || (inner >= 2 * RUN_UNIT && inner % RUN_UNIT == 0);
  bool all_linear = true;
  const how in_one = w->nest.rank == 1 ? COUNTED : LINEAR;
  for (uint32_t i = 0; i < n; i++)
    all_linear = all_linear && (!w->loads[i].o || w->loads[i].how <= in_one);
  for (uint32_t i = 0; i < w->n_sinks; i++)
    all_linear = all_linear && (!w->stores[i].o || w->stores[i].how <= LINEAR);
  w->runs = w->runs && !all_linear;
  w->copies = false;
  for (uint32_t i = 0; i < n; i++)
    if (w->loads[i].o) settle(w, &w->loads[i]);
  for (uint32_t i = 0; i < w->n_sinks; i++)
    if (w->stores[i].o) settle(w, &w->stores[i]);
  for (uint32_t i = 0; i < n; i++) w->level[i] = level_of(w, i);
  return SN_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

#define LINE(...) sn_text_add(w->t, __VA_ARGS__)

/* Prefixes of the words and of the variables: those of wide_words.h in the loop over WIDE vectors. */
static const char *words(const sn_cc_walk *w) { return w->wide ? "wide_" : ""; }
static char value(const sn_cc_walk *w) { return w->wide ? 'w' : 'v'; }

/* Whether ops.def has a row for the op on this dtype, and so kernel_words.h a word apply_<op>_<dtype>. */
static bool has_row(sn_op op, sn_dtype dtype) {
  enum { F = 1 << SN_F32 | 1 << SN_F64, I = 1 << SN_I32, B = 1 << SN_BOOL };
  static const uint8_t rows[SN_OP_COUNT] = {
#define EW_F(id, ...) [SN_OP_##id] = F,
#define EW_FI(id, ...) [SN_OP_##id] = F | I,
#define EW_FIB(id, ...) [SN_OP_##id] = F | I | B,
#define EW_I(id, ...) [SN_OP_##id] = I,
#define EW_B(id, ...) [SN_OP_##id] = B,
#define CMP_F(id, ...) [SN_OP_##id] = F,
#define CMP_FIB(id, ...) [SN_OP_##id] = F | I | B,
#define REDUCE(id, ...) [SN_OP_##id] = F | I,
#define REDUCE_I(id, ...) [SN_OP_##id] = I,
#include "graph/ops.def"
  };
  return rows[op] >> dtype & 1;
}

static void add_const(const sn_cc_walk *w, const sn_insn *insn) {
  uint32_t bits = 0;
  const float single = (float)insn->value;
  if (insn->dtype == SN_F64) {
    uint64_t wide;
    memcpy(&wide, &insn->value, sizeof wide);
    LINE("const_f64(0x%llxu)", (unsigned long long)wide);
    return;
  }
  int32_t one[1]; /* in the format of strips */
  sn_strip_fill(insn->dtype, one, insn->value, 1);
  memcpy(&bits, insn->dtype == SN_F32 ? (const void *)&single : one, sizeof bits);
  LINE("const_%s(0x%xu)",
       insn->dtype == SN_BOOL  ? "bool"
       : insn->dtype == SN_F32 ? "f32"
                               : "i32",
       bits);
}

static void add_cast(const sn_cc_walk *w, const sn_insn *insn) {
  const sn_dtype from = insn->in_dtype, to = insn->dtype;
  const uint32_t x = insn->args[0];
  const char v = value(w);
  const char *s = sn_cc_short_name(sn_dtype_is_small(to) ? to : from);
  if (from == to && sn_dtype_is_small(to))
    LINE("%c%u", v, x);
  else if (sn_dtype_is_small(to))
    LINE("%sapply_narrow_%s(SN_FUSED, %c%u, %c%u)", words(w), s, v, x, v, x);
  else if (sn_dtype_is_small(from))
    LINE("%sapply_%s_%s(SN_FUSED, %c%u, %c%u)", words(w),
         sn_dtype_is_float(from) ? "widen" : "narrow", s, v, x, v, x);
  else
    LINE("%scast_%s_%s(%c%u)", words(w), s, sn_cc_short_name(to), v, x);
}

static void add_op(const sn_cc_walk *w, const sn_insn *insn) {
  const uint32_t a = insn->args[0], b = insn->n_args > 1 ? insn->args[1] : a;
  const char *name = sn_op_describe(insn->op)->name, *s = sn_cc_short_name(insn->in_dtype);
  const char v = value(w);
  if (insn->op == SN_OP_astype)
    add_cast(w, insn);
  else if (insn->op == SN_OP_bitcast)
    LINE("(value_%s)v%u", sn_cc_short_name(insn->dtype), a);
  else if (insn->op == SN_OP_where)
    LINE("%sselect_%s(%c%u, %c%u, %c%u)", words(w), sn_cc_short_name(insn->dtype), v, a, v, b, v,
         insn->args[2]);
  else if (insn->in_dtype == SN_F64)
    LINE("%s(apply_%s_f64, v%u, v%u)", insn->dtype == SN_BOOL ? "BOTH_MASKS" : "BOTH", name, a, b);
  else
    LINE("%sapply_%s_%s(SN_FUSED, %c%u, %c%u)", words(w), name, s, v, a, v, b);
}

static void begin_value(const sn_cc_walk *w, uint32_t i, const char *indent) {
  LINE("%sconst %svalue_%s %c%u = ", indent, words(w),
       sn_cc_short_name(w->body->insns[i].dtype), value(w), i);
}

/* offset + o0 s0 ... + d0 s0 ... */
static void add_terms(const sn_cc_walk *w, int64_t offset, const int64_t *outer,
                      const int64_t *along) {
  bool any = false;
  char variable[16];
  for (int i = 0; i < w->nest.outer_rank; i++) {
    sn_format(variable, sizeof variable, "o%d", i);
    sn_text_add_term(w->t, &any, outer[i], variable);
  }
  for (int i = 0; along && i < w->nest.rank; i++) {
    sn_format(variable, sizeof variable, "d%d", i);
    sn_text_add_term(w->t, &any, along[i], variable);
  }
  sn_text_add_term(w->t, &any, offset, "");
  if (!any) LINE("0");
}

/* The address of the element at the current indices; along: with the indices of the walk's dims, else of outer dims only. */
static void add_address(const sn_cc_walk *w, const place *p, bool along) {
  const sn_operand *o = p->o;
  LINE("(%s *)values[%u] + ", sn_dtype_table[o->dtype].c_type, o->value);
  add_terms(w, o->offset, p->outer, along ? p->along : NULL);
  if (!sn_is_indexed(o)) return;
  const sn_indexing *at = o->indexing;
  LINE(" + %lld * sn_position(((const int32_t *)values[%u])[", (long long)at->stride,
       at->index.value);
  add_terms(w, at->index.offset, p->index_outer, along ? p->index_along : NULL);
  LINE("], %lld)", (long long)at->length);
}

/* Loads the one element that all points (level 0), or all points of a run (`along`), have in common. */
static void add_one(const sn_cc_walk *w, uint32_t i, bool along) {
  const place *p = &w->loads[i];
  if (p->o->value == SN_NONE) {
    LINE("one_%s(&(%s){(%s)(", memory_name(p->o->dtype), sn_dtype_table[p->o->dtype].c_type,
         sn_dtype_table[p->o->dtype].c_type);
    add_terms(w, p->o->offset, p->outer, NULL);
    LINE(")})");
    return;
  }
  LINE("one_%s(", memory_name(p->o->dtype));
  add_address(w, p, along);
  LINE(")");
}

static int64_t step_of(const sn_cc_walk *w, uint32_t i) {
  return w->loads[i].along[w->nest.rank - 1];
}

static void add_values(const sn_cc_walk *w, uint8_t level, const char *indent) {
  for (uint32_t i = 0; i < w->body->n_insns; i++) {
    const sn_insn *insn = &w->body->insns[i];
    if (!w->needed[i] || w->level[i] != level) continue;
    begin_value(w, i, indent);
    switch (insn->kind) {
    case SN_INSN_CONST: add_const(w, insn); break;
    case SN_INSN_OP: add_op(w, insn); break;
    case SN_INSN_KEPT:
      LINE("%sget_%s(p%u + i)", words(w), sn_cc_strip_name(insn->dtype), i);
      break;
    case SN_INSN_TOTAL:
      if (w->one_total)
        LINE("one_%s(%s)", sn_cc_strip_name(insn->dtype), w->totals[insn->args[0]]);
      else
        LINE("%sget_%s(p%u + i)", words(w), sn_cc_strip_name(insn->dtype), i);
      break;
    case SN_INSN_LOAD:
      if (level < LEVEL_POINT)
        add_one(w, i, level == LEVEL_RUN);
      else if (w->loads[i].how == COUNTED)
        LINE("%scount_i32(p%u + i * %lld, %lld)", words(w), i, (long long)step_of(w, i),
             (long long)step_of(w, i));
      else
        LINE("%sget_%s(p%u + i)", words(w), memory_name(w->loads[i].o->dtype), i);
      break;
    }
    LINE(";\n");
  }
}

sn_status sn_cc_walk_begin(sn_cc_walk *w, bool *able) {
  SN_TRY(describe(w, able));
  if (*able) add_values(w, LEVEL_ALL, "  ");
  return w->t->status;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* Declares the indices d0, d1 ... and sets them to those of point `from`. */
static void declare_indices(const sn_cc_walk *w, const char *indent, const char *from) {
  const int last = w->nest.rank - 1;
  LINE("%sint64_t f = %s", indent, from);
  for (int i = last; i >= 0; i--) LINE(", d%d", i);
  LINE(";\n");
  for (int i = last; i > 0; i--)
    LINE("%sd%d = f %% %lld, f /= %lld;\n", indent, i, (long long)w->nest.dims[i],
         (long long)w->nest.dims[i]);
  if (last >= 0) LINE("%sd0 = f;\n", indent);
}

/* Moves the indices on by `by` points, which do not go beyond the end of the innermost dim. */
static void advance_indices(const sn_cc_walk *w, const char *indent, const char *by) {
  const int last = w->nest.rank - 1;
  LINE("%sd%d += %s;\n", indent, last, by);
  for (int i = last; i > 0; i--)
    LINE("%sif (d%d == %lld) d%d = 0, d%d++;\n", indent, i, (long long)w->nest.dims[i], i, i - 1);
}

/* ---- loads and sinks ------------------------------------------------------------------------- */

static const char *type_of(const place *p) { return sn_dtype_table[p->o->dtype].c_type; }

/* Copies the elements of an operand to the contiguous array c<name>, or back (stores), run by run. */
static void add_copy(const sn_cc_walk *w, const place *p, const char *name, bool stores) {
  const int last = w->nest.rank - 1;
  const int64_t step = p->along[last];
  LINE("      {\n");
  declare_indices(w, "        ", "flat + at");
  LINE("        for (int64_t done = 0, run; done < m; done += run) {\n");
  LINE("          run = %lld - d%d;\n", (long long)w->nest.dims[last], last);
  LINE("          if (run > m - done) run = m - done;\n");
  if (p->o->value == SN_NONE) {
    LINE("          const int64_t x = ");
    add_terms(w, p->o->offset, p->outer, p->along);
    LINE(";\n          for (int64_t i = 0; i < run; i++) c%s[done + i] = (%s)(x + i * %lld);\n",
         name, type_of(p), (long long)step);
  } else if (sn_is_indexed(p->o) && p->index_along[last]) {
    const sn_indexing *at = p->o->indexing;
    LINE("          const %s *x = (%s *)values[%u] + ", type_of(p), type_of(p), p->o->value);
    add_terms(w, p->o->offset, p->outer, p->along);
    LINE(";\n          const int32_t *index = (const int32_t *)values[%u] + ", at->index.value);
    add_terms(w, at->index.offset, p->index_outer, p->index_along);
    LINE(";\n          for (int64_t i = 0; i < run; i++) c%s[done + i] = x[i * %lld + %lld * "
         "sn_position(index[i * %lld], %lld)];\n",
         name, (long long)step, (long long)at->stride, (long long)p->index_along[last],
         (long long)at->length);
  } else {
    LINE("          %s *x = ", type_of(p));
    add_address(w, p, true);
    if (stores)
      LINE(";\n          for (int64_t i = 0; i < run; i++) x[i * %lld] = c%s[done + i];\n",
           (long long)step, name);
    else
      LINE(";\n          for (int64_t i = 0; i < run; i++) c%s[done + i] = x[i * %lld];\n", name,
           (long long)step);
  }
  advance_indices(w, "          ", "run");
  LINE("        }\n      }\n");
}

/* Declares the variable <letter><number>: the pointer (or number, if counted) of an operand at the first point of the run. */
static void add_pointer(const sn_cc_walk *w, const place *p, char letter, uint32_t number) {
  char name[24];
  sn_format(name, sizeof name, "%c%u", letter, number);
  if (p->how == COUNTED) {
    LINE("      int64_t %s = ", name);
    add_terms(w, p->o->offset, p->outer, w->runs ? p->along : NULL);
    if (!w->runs) LINE(" + (flat + at) * %lld", (long long)step_of(w, number));
    LINE(";\n");
    return;
  }
  if (p->how == COPIED) {
    LINE("      %s c%s[STRIP] ALIGNED, *%s = c%s;\n", type_of(p), name, name, name);
    if (letter == 'p') add_copy(w, p, name, false);
    return;
  }
  LINE("      %s *%s = ", type_of(p), name);
  add_address(w, p, p->how == RUN);
  LINE(p->how == LINEAR ? " + flat + at;\n" : ";\n");
}

static bool is_point(const sn_cc_walk *w, uint32_t i, sn_insn_kind kind) {
  return w->needed[i] && w->level[i] == LEVEL_POINT && w->body->insns[i].kind == kind;
}

static void add_pointers(const sn_cc_walk *w) {
  for (uint32_t i = 0; i < w->body->n_insns; i++) {
    const sn_insn *insn = &w->body->insns[i];
    const char *type = sn_cc_strip_type(insn->dtype);
    if (is_point(w, i, SN_INSN_LOAD)) add_pointer(w, &w->loads[i], 'p', i);
    if (is_point(w, i, SN_INSN_TOTAL))
      LINE("      %s *p%u = (%s *)(%s) + at;\n", type, i, type, w->totals[insn->args[0]]);
    if (is_point(w, i, SN_INSN_KEPT))
      LINE("      %s *p%u = (%s *)(%s) + flat + at;\n", type, i, type, w->kept[insn->args[0]]);
  }
  for (uint32_t k = 0; k < w->n_sinks; k++) {
    const sn_cc_sink *s = &w->sinks[k];
    const char *type = sn_cc_strip_type(w->body->insns[s->insn].dtype);
    if (s->kind == SN_CC_STORE) add_pointer(w, &w->stores[k], 'q', k);
    if (s->kind == SN_CC_KEEP)
      LINE("      %s *q%u = (%s *)(%s) + flat + at;\n", type, k, type, w->kept[s->number]);
    if (s->kind == SN_CC_STRIP) LINE("      %s *q%u = x%u + at;\n", type, k, s->number);
    if (s->kind == SN_CC_COMBINE) LINE("      %s *q%u = (%s *)acc + at;\n", type, k, type);
  }
}

/* The type of the spare memory that a load (below: a sink) needs for the last points of a run; NULL: it needs none. */
static const char *spare_load(const sn_cc_walk *w, uint32_t i) {
  if (is_point(w, i, SN_INSN_LOAD))
    return w->loads[i].how == COPIED || w->loads[i].how == COUNTED ? NULL : type_of(&w->loads[i]);
  if (is_point(w, i, SN_INSN_TOTAL) || is_point(w, i, SN_INSN_KEPT))
    return sn_cc_strip_type(w->body->insns[i].dtype);
  return NULL;
}

static const char *spare_sink(const sn_cc_walk *w, uint32_t k) {
  const sn_cc_sink *s = &w->sinks[k];
  if (s->kind == SN_CC_STRIP) return NULL;
  if (s->kind != SN_CC_STORE) return sn_cc_strip_type(w->body->insns[s->insn].dtype);
  return w->stores[k].how == COPIED ? NULL : type_of(&w->stores[k]);
}

static int64_t stored_bytes(const sn_cc_walk *w, uint32_t k) {
  const place *p = &w->stores[k];
  return p->o ? w->points * (int64_t)sn_dtype_table[p->o->dtype].bytes : 0;
}

/* Whether a store's whole vectors bypass the caches if they are aligned to vectors, which the variable past<k> says. */
static bool is_streamed(const sn_cc_walk *w, uint32_t k) {
  const place *p = &w->stores[k];
  return w->streams && stored_bytes(w, k) >= STREAMED_BYTES && p->how == LINEAR &&
         sn_strip_is_memory(p->o->dtype);
}

static int64_t point_cost(const sn_cc_walk *w) {
  int64_t cost = 0;
  for (uint32_t i = 0; i < w->body->n_insns; i++)
    if (is_point(w, i, SN_INSN_OP)) cost += sn_op_describe(w->body->insns[i].op)->cost;
  return cost;
}

/* Whether the memory of a store is prefetched: processors prefetch loads themselves, but stores wait for memory. In a row,
 * whose inputs are in a cache by then, stores follow each other so quickly that prefetches get in their way, unless there
 * is something to compute. */
static bool is_asked_for(const sn_cc_walk *w, uint32_t k) {
  const how met = w->stores[k].how;
  return stored_bytes(w, k) >= ASKED_FOR_BYTES && (met == LINEAR || met == RUN) &&
         !is_streamed(w, k) && (w->streams || point_cost(w) >= BUSY_COST);
}

static void add_sinks(const sn_cc_walk *w) {
  for (uint32_t k = 0; k < w->n_sinks; k++) {
    const sn_cc_sink *s = &w->sinks[k];
    const sn_dtype dtype = w->body->insns[s->insn].dtype;
    const char *name =
        s->kind == SN_CC_STORE ? memory_name(s->target->dtype) : sn_cc_strip_name(dtype);
    if (is_streamed(w, k))
      LINE("          if (past%u) %sstream_%s(q%u + i, %c%u);\n          else\n", k, words(w), name, k,
           value(w), s->insn);
    if (is_asked_for(w, k)) LINE("          %sask_for(q%u + i);\n", words(w), k);
    if (s->kind != SN_CC_COMBINE) {
      LINE("          %sput_%s(q%u + i, %c%u);\n", words(w), name, k, value(w), s->insn);
      continue;
    }
    const char *op = sn_op_describe(s->op)->name;
    LINE("          const value_%s sum%u = get_%s(q%u + i);\n", name, k, name, k);
    LINE("          put_%s(q%u + i, begins ? v%u : ", name, k, s->insn);
    LINE(dtype == SN_F64 ? "BOTH(apply_%s_%s, sum%u, v%u));\n"
                         : "apply_%s_%s(SN_FUSED, sum%u, v%u));\n",
         op, name, k, s->insn);
  }
}

/* Before the last points of a run, which are no whole vector: redirects loads and sinks to spare memory. */
static void add_spares(const sn_cc_walk *w) {
  for (uint32_t i = 0; i < w->body->n_insns; i++)
    if (spare_load(w, i))
      LINE("        COPY_SOME(s%u, p%u + end, rest), p%u = s%u;\n", i, i, i, i);
  for (uint32_t k = 0; k < w->n_sinks; k++) {
    if (spare_sink(w, k) && w->sinks[k].kind == SN_CC_COMBINE)
      LINE("        COPY_SOME(u%u, q%u + end, rest);\n", k, k);
    if (is_streamed(w, k)) LINE("        past%u = false;\n", k);
    if (spare_sink(w, k))
      LINE("        t%u = q%u + end, q%u = u%u;\n", k, k, k, k);
    else
      LINE("        q%u += end;\n", k);
  }
  for (uint32_t i = 0; i < w->body->n_insns; i++) {
    if (!is_point(w, i, SN_INSN_LOAD)) continue;
    if (w->loads[i].how == COPIED) LINE("        p%u += end;\n", i);
    if (w->loads[i].how == COUNTED)
      LINE("        p%u += end * %lld;\n", i, (long long)step_of(w, i));
  }
}

static void declare_spares(const sn_cc_walk *w) {
  for (uint32_t i = 0; i < w->body->n_insns; i++)
    if (spare_load(w, i)) LINE("      %s s%u[LANES];\n", spare_load(w, i), i);
  for (uint32_t k = 0; k < w->n_sinks; k++)
    if (spare_sink(w, k)) LINE("      %s u%u[LANES], *t%u;\n", spare_sink(w, k), k, k);
}

/* The suffix of wide_all_ for a dtype: that of the vector that holds its values. */
static const char *wide_name(sn_dtype dtype) {
  return sn_dtype_is_small(dtype) ? "i32" : sn_cc_short_name(dtype);
}

/* Whether the body has functions that gain from WIDE vectors at a time, and nothing for which there are no wide words. */
static bool gains_from_width(const sn_cc_walk *w) {
  bool gains = false;
  for (uint32_t k = 0; k < w->n_sinks; k++)
    if (w->sinks[k].kind == SN_CC_COMBINE) return false;
  for (uint32_t i = 0; i < w->body->n_insns; i++) {
    const sn_insn *insn = &w->body->insns[i];
    if (!w->needed[i]) continue;
    if (insn->dtype == SN_F64) return false;
    if (insn->kind != SN_INSN_OP || w->level[i] != LEVEL_POINT) continue;
    if (insn->in_dtype == SN_F64 || insn->op == SN_OP_bitcast) return false;
    gains = gains || (insn->in_dtype == SN_F32 && sn_op_describe(insn->op)->cost >= LEAST_COST);
  }
  return gains;
}

/* A loop over WIDE vectors at a time; what is left, less than WIDE vectors, is for the loop behind. */
static void add_wide_loop(const sn_cc_walk *narrow) {
  sn_cc_walk wide = *narrow, *w = &wide;
  wide.wide = true;
  for (uint32_t i = 0; i < w->body->n_insns; i++)
    if (w->needed[i] && w->level[i] < LEVEL_POINT) {
      begin_value(w, i, "      ");
      LINE("wide_all_%s(v%u);\n", wide_name(w->body->insns[i].dtype), i);
    }
  LINE("      for (; i + WIDE * LANES <= m; i += WIDE * LANES) {\n");
  add_values(w, LEVEL_POINT, "          ");
  add_sinks(w);
  LINE("      }\n");
}

/* Whether a point takes so little work that the loop around it costs as much. */
static bool is_short(const sn_cc_walk *w) {
  int insns = 0;
  for (uint32_t i = 0; i < w->body->n_insns; i++) insns += w->needed[i] && w->level[i] == LEVEL_POINT;
  return insns <= SHORT_INSNS;
}

/* One loop over whole vectors; an outer loop runs it once more for the last points, by way of spare memory. The inner loop
 * is a `do`: a `for` would be merged with the outer loop by compilers, which then do not unroll it. */
static void add_loop(const sn_cc_walk *w) {
  declare_spares(w);
  for (uint32_t k = 0; k < w->n_sinks; k++)
    if (is_streamed(w, k)) LINE("      bool past%u = lies_on_vectors(q%u);\n", k, k);
  LINE("      int64_t i = 0;\n");
  if (gains_from_width(w)) add_wide_loop(w);
  LINE("      for (int64_t end = m - m %% LANES, rest = 0;;) {\n");
  LINE("        if (i < end)\n");
  if (is_short(w)) LINE("#pragma GCC unroll %d\n", UNROLLED);
  LINE("        do {\n");
  add_values(w, LEVEL_POINT, "          ");
  add_sinks(w);
  LINE("        } while ((i += LANES) < end);\n");
  LINE("        if (rest) {\n");
  for (uint32_t k = 0; k < w->n_sinks; k++)
    if (spare_sink(w, k))
      LINE("          memcpy(t%u, u%u, (size_t)rest * sizeof *t%u);\n", k, k, k);
  LINE("          break;\n        }\n");
  LINE("        if (end == m) break;\n        rest = m - end;\n");
  add_spares(w);
  LINE("        i = 0, end = LANES;\n      }\n");
}

sn_status sn_cc_walk_place(const sn_cc_walk *w, const char **out) {
  const sn_cc_sink *s = w->sinks;
  *out = NULL;
  if (w->n_sinks != 1 || s->kind != SN_CC_STRIP) return SN_OK;
  const place *p = &w->loads[s->insn];
  if (!p->o || p->how != LINEAR || !sn_strip_is_memory(p->o->dtype)) return SN_OK;
  sn_text text = sn_text_in(w->t->arena);
  sn_cc_walk alone = *w;
  alone.t = &text;
  add_address(&alone, p, false);
  sn_text_add(&text, " + flat");
  *out = text.data;
  return text.status;
}

sn_status sn_cc_walk_points(sn_cc_walk *w) {
  const int last = w->nest.rank - 1;
  LINE("  {\n");
  if (w->runs) declare_indices(w, "    ", "flat");
  LINE("    for (int64_t at = 0, m; at < n; at += m) {\n      m = n - at;\n");
  if (w->runs)
    LINE("      if (m > %lld - d%d) m = %lld - d%d;\n", (long long)w->nest.dims[last], last,
         (long long)w->nest.dims[last], last);
  if (w->copies) LINE("      if (m > STRIP) m = STRIP;\n");
  add_pointers(w);
  add_values(w, LEVEL_RUN, "      ");
  add_loop(w);
  for (uint32_t k = 0; k < w->n_sinks; k++) {
    char name[24];
    sn_format(name, sizeof name, "q%u", k);
    if (w->stores[k].o && w->stores[k].how == COPIED) add_copy(w, &w->stores[k], name, true);
  }
  if (w->runs) advance_indices(w, "      ", "m");
  LINE("    }\n  }\n");
  for (uint32_t k = 0; k < w->n_sinks; k++)
    if (is_streamed(w, k)) {
      LINE("  stream_end();\n");
      break;
    }
  return w->t->status;
}
