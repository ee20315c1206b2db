#include "csource/write_kernel.h"

#include <ctype.h>
#include <string.h>

#include "base/format.h"
#include "csource/spell.h"
#include "csource/writer.h"
#include "fuse/nest_text.h"

/* Adds the element's index: strides are those of i0, i1 ... for the space, then, up to rank, of j0, j1 ... */
static void add_index(const sn_c_writer *w, const sn_operand *o, int rank) {
  bool any = false;
  for (int i = 0; i < rank; i++) {
    const bool inner = i >= w->g->space_rank;
    char variable[16];
    sn_format(variable, sizeof variable, "%c%d", inner ? 'j' : 'i',
              inner ? i - w->g->space_rank : i);
    sn_text_add_term(w->t, &any, o->strides[i], variable);
  }
  sn_text_add_term(w->t, &any, o->offset, "");
  if (!any) sn_text_add(w->t, "0");
}

static void add_element(const sn_c_writer *w, const sn_operand *o, int rank) {
  sn_text_add(w->t, "b%u[", o->value);
  add_index(w, o, rank);
  sn_text_add(w->t, "]");
}

/* Adds an indexed load, such as b0[j0 + position_of(b1[i0], 6) * 9]. */
static void add_lookup(const sn_c_writer *w, const sn_operand *o, int rank) {
  sn_text_add(w->t, "b%u[", o->value);
  add_index(w, o, rank);
  sn_text_add(w->t, " + position_of(");
  add_element(w, &o->indexing->index, rank);
  sn_text_add(w->t, ", %lld) * %lld]", (long long)o->indexing->length,
              (long long)o->indexing->stride);
}

/* Adds the index of the current point in a kept row. */
static void add_row_index(const sn_c_writer *w) {
  const sn_group *g = w->g;
  for (int i = 1; i < g->reduced_rank; i++) sn_text_add(w->t, "(");
  sn_text_add(w->t, g->reduced_rank ? "j0" : "0");
  for (int i = 1; i < g->reduced_rank; i++)
    sn_text_add(w->t, " * %lld + j%d)", (long long)g->reduced[i], i);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

enum { NAME_SIZE = 64 };

/* The text by which others refer to an instruction: a constant's literal, a total's name, or v<number>. */
static sn_status name_of(const sn_c_writer *w, const sn_body *body, uint32_t i,
                         char name[NAME_SIZE]) {
  const sn_insn *insn = &body->insns[i];
  if (insn->kind == SN_INSN_CONST) {
    sn_text literal = sn_text_in(w->t->arena);
    sn_c_add_literal(&literal, insn->value, insn->dtype);
    SN_TRY(literal.status);
    sn_format(name, NAME_SIZE, "%s", literal.data);
  } else if (insn->kind == SN_INSN_TOTAL) {
    sn_format(name, NAME_SIZE, "total%u", insn->args[0]);
  } else {
    sn_format(name, NAME_SIZE, "v%u", i);
  }
  return SN_OK;
}

static void add_cast(sn_text *t, const sn_insn *insn, const char *x) {
  if (insn->op == SN_OP_bitcast)
    sn_text_add(t, insn->dtype == SN_I32 ? "bits_of_float(%s)" : "float_of_bits(%s)", x);
  else if (insn->dtype == SN_BOOL)
    sn_text_add(t, "%s != 0", x);
  else if (insn->dtype == SN_I32 && sn_dtype_is_float(insn->in_dtype))
    sn_text_add(t, "to_int32(%s)", x);
  else
    sn_text_add(t, "(%s)%s", sn_c_type(insn->dtype), x);
}

/* Whether it compares an integer or a bool with itself. C compilers warn about that; comparing 0 with 0 gives the same. */
static bool is_of_itself(const sn_insn *insn) {
  return insn->kind == SN_INSN_OP && sn_op_describe(insn->op)->kind == SN_CLASS_COMPARE &&
         !sn_dtype_is_float(insn->in_dtype) && insn->n_args == 2 && insn->args[0] == insn->args[1];
}

static sn_status add_op(sn_c_writer *w, const sn_body *body, const sn_insn *insn) {
  char names[SN_MAX_ARITY][NAME_SIZE];
  const char *arguments[SN_MAX_ARITY] = {names[0], names[0], names[0]};
  for (uint32_t k = 0; k < insn->n_args; k++) {
    SN_TRY(name_of(w, body, insn->args[k], names[k]));
    arguments[k] = is_of_itself(insn) ? "0" : names[k];
  }
  SN_TRY(sn_c_check_dtype(w->env, insn->dtype));
  if (sn_op_describe(insn->op)->kind == SN_CLASS_CAST) {
    add_cast(w->t, insn, names[0]);
    return SN_OK;
  }
  SN_FAIL_IF(w->env, !sn_c_expression(insn->op, insn->in_dtype), SN_ERR_UNSUPPORTED, NULL,
             "c source: %s of %s has no C", sn_op_describe(insn->op)->name,
             sn_dtype_name(insn->in_dtype));
  sn_c_add_expression(w->t, insn->op, insn->in_dtype, arguments);
  return SN_OK;
}

/* Marks the arguments of all needed instructions. The others are not printed: they would be unused variables. */
static void mark_args(const sn_body *body, uint8_t *needed) {
  for (uint32_t i = body->n_insns; i-- > 0;) {
    const sn_insn *insn = &body->insns[i];
    if (!needed[i] || insn->kind != SN_INSN_OP || is_of_itself(insn)) continue;
    for (uint32_t k = 0; k < insn->n_args; k++) needed[insn->args[k]] = 1;
  }
}

/* Adds the op's name as a comment if its C expression does not show it. */
static void add_comment(sn_c_writer *w, const sn_insn *insn) {
  enum { PLAIN = 9 }; /* characters of "(a + b)" and the like */
  if (insn->kind != SN_INSN_OP || sn_op_describe(insn->op)->kind != SN_CLASS_MAP) return;
  const char *e = sn_c_expression(insn->op, insn->in_dtype), *name = sn_op_describe(insn->op)->name;
  if (strlen(e) > PLAIN && !sn_text_find(e, name)) sn_text_add(w->t, " /* %s */", name);
}

static sn_status add_body(sn_c_writer *w, const sn_body *body, uint8_t *needed, int rank) {
  mark_args(body, needed);
  for (uint32_t i = 0; i < body->n_insns; i++) {
    const sn_insn *insn = &body->insns[i];
    if (!needed[i] || insn->kind == SN_INSN_CONST || insn->kind == SN_INSN_TOTAL) continue;
    sn_c_begin_line(w);
    sn_text_add(w->t, "%s v%u = ", sn_c_type(insn->dtype), i);
    if (insn->kind == SN_INSN_OP) SN_TRY(add_op(w, body, insn));
    if (insn->kind == SN_INSN_KEPT) {
      sn_text_add(w->t, "kept%u[", insn->args[0]);
      add_row_index(w);
      sn_text_add(w->t, "]");
    }
    if (insn->kind == SN_INSN_LOAD) {
      const sn_operand *o = &body->operands[insn->args[0]];
      if (sn_is_indexed(o)) {
        add_lookup(w, o, rank);
      } else if (o->value == SN_NONE) {
        sn_text_add(w->t, "(%s)(", sn_c_type(insn->dtype));
        add_index(w, o, rank);
        sn_text_add(w->t, ")");
      } else {
        add_element(w, o, rank);
      }
    }
    sn_text_add(w->t, ";");
    add_comment(w, insn);
    sn_text_add(w->t, "\n");
  }
  return SN_OK;
}

static sn_status add_stores(sn_c_writer *w, const sn_body *body, const sn_store *stores, uint32_t n,
                            int rank) {
  for (uint32_t k = 0; k < n; k++) {
    char name[NAME_SIZE];
    SN_TRY(name_of(w, body, stores[k].insn, name));
    sn_c_begin_line(w);
    add_element(w, &stores[k].target, rank);
    sn_text_add(w->t, " = %s;\n", name);
  }
  return SN_OK;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Whether float32 is summed in double: a plain float loop would lose precision that Sinter's sums in blocks keep. */
static bool is_widened(sn_op op, sn_dtype dtype) {
  return dtype == SN_F32 && !sn_op_describe(op)->picks;
}

static void declare_total(sn_c_writer *w, uint32_t number, sn_op op, sn_dtype dtype) {
  sn_c_begin_line(w);
  if (is_widened(op, dtype))
    sn_text_add(w->t, "double wide%u = %s;\n", number, sn_c_identity(op, dtype));
  else
    sn_text_add(w->t, "%s total%u = %s;\n", sn_c_type(dtype), number, sn_c_identity(op, dtype));
}

static void narrow_total(sn_c_writer *w, uint32_t number, sn_op op, sn_dtype dtype) {
  if (!is_widened(op, dtype)) return;
  sn_c_begin_line(w);
  sn_text_add(w->t, "float total%u = (float)wide%u;\n", number, number);
}

/* total = op(total, value) */
static void add_combine(sn_c_writer *w, uint32_t number, sn_op op, sn_dtype dtype,
                        const char *value) {
  char total[NAME_SIZE];
  sn_format(total, sizeof total, is_widened(op, dtype) ? "wide%u" : "total%u", number);
  sn_c_begin_line(w);
  sn_text_add(w->t, "%s = ", total);
  sn_c_add_expression(w->t, op, dtype, (const char *[]){total, value, value});
  sn_text_add(w->t, ";\n");
}

/* Opens the loop over a bag: for (long j0 = i0 ? end_of(b1[i0 - 1], 9) : 0; j0 < end_of(b1[i0], 9); j0++) { */
static void open_bag(sn_c_writer *w) {
  const sn_operand *ends = w->g->row.ends;
  sn_operand before = *ends;
  const long long n = w->g->reduced[0];
  before.offset -= before.strides[0];
  sn_c_begin_line(w);
  sn_text_add(w->t, "for (long j0 = i0 ? end_of(");
  add_element(w, &before, w->g->space_rank);
  sn_text_add(w->t, ", %lld) : 0; j0 < end_of(", n);
  add_element(w, ends, w->g->space_rank);
  sn_text_add(w->t, ", %lld); j0++) {\n", n);
  w->depth++;
}

static sn_status add_phase(sn_c_writer *w, const sn_phase *phase) {
  const sn_group *g = w->g;
  const int rank = g->space_rank + g->reduced_rank;
  uint8_t *needed;
  SN_TRY(sn_arena_alloc(w->t->arena, phase->body.n_insns, 1, (void **)&needed));
  for (uint32_t k = 0; k < phase->n_keeps; k++) needed[phase->keeps[k].insn] = 1;
  for (uint32_t k = 0; k < phase->n_stores; k++) needed[phase->stores[k].insn] = 1;
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    const sn_reduction *r = &phase->reductions[k];
    needed[r->insn] = 1;
    declare_total(w, phase->first_total + k, r->op, r->dtype);
  }
  if (g->row.ends)
    open_bag(w);
  else
    sn_c_open_loops(w, 'j', g->reduced, g->reduced_rank);
  SN_TRY(add_body(w, &phase->body, needed, rank));
  char name[NAME_SIZE];
  for (uint32_t k = 0; k < phase->n_keeps; k++) {
    SN_TRY(name_of(w, &phase->body, phase->keeps[k].insn, name));
    sn_c_begin_line(w);
    sn_text_add(w->t, "kept%u[", phase->keeps[k].slot);
    add_row_index(w);
    sn_text_add(w->t, "] = %s;\n", name);
  }
  SN_TRY(add_stores(w, &phase->body, phase->stores, phase->n_stores, rank));
  for (uint32_t k = 0; k < phase->n_reductions; k++) {
    const sn_reduction *r = &phase->reductions[k];
    SN_TRY(name_of(w, &phase->body, r->insn, name));
    add_combine(w, phase->first_total + k, r->op, r->dtype, name);
  }
  sn_c_close_loops(w, g->reduced_rank);
  for (uint32_t k = 0; k < phase->n_reductions; k++)
    narrow_total(w, phase->first_total + k, phase->reductions[k].op, phase->reductions[k].dtype);
  return SN_OK;
}

/* Adds the position in a factor, or (field >= 0) a bounded coordinate, of the element at row or column `across`. */
static void add_place(sn_c_writer *w, const sn_operand *f, const char *across, int field,
                      int64_t first) {
  const sn_nest *axes[] = {&f->nests->of[0], &f->nests->of[1], &f->nests->of[2]};
  const char *index[] = {w->g->space_rank == 3 ? "i0" : "batch", across, "k"};
  bool any = false;
  for (int i = w->g->space_rank > 2 ? 0 : 1; i < 3; i++) {
    int64_t strides[SN_MAX_RANK];
    if (field >= 0)
      sn_nest_field(axes[i], field, strides);
    else
      memcpy(strides, axes[i]->strides, sizeof strides);
    sn_nest_add_terms(w->t, &any, axes[i], strides, index[i]);
  }
  sn_text_add_term(w->t, &any, first, "");
  if (!any) sn_text_add(w->t, "0");
}

/* Adds a factor's element in the row or column `across`: 0 outside of its bounds. */
static void add_factor(sn_c_writer *w, const sn_operand *f, const char *across) {
  const sn_bounds *b = &f->nests->bounds;
  for (int field = 0; field < SN_MARKS && b->guards >> field * SN_MARK_BITS; field++) {
    int64_t low, high;
    sn_bounds_field(b, field, &low, &high);
    sn_text_add(w->t, field ? " && (unsigned long)(" : "(unsigned long)(");
    add_place(w, f, across, field, -low);
    sn_text_add(w->t, ") < %lld", (long long)(high - low + 1));
  }
  if (b->guards) sn_text_add(w->t, " ? ");
  sn_text_add(w->t, "b%u[", f->value);
  add_place(w, f, across, -1, f->offset);
  sn_text_add(w->t, b->guards ? "] : 0" : "]");
}

/* Declares the number of the matrix if several loops run over matrices: i0 * 3 + i1 */
static void declare_batch(sn_c_writer *w) {
  const sn_group *g = w->g;
  int64_t stride = 1;
  bool any = false;
  if (g->space_rank <= 3) return;
  sn_c_begin_line(w);
  sn_text_add(w->t, "const long batch = ");
  for (int i = g->space_rank - 3; i >= 0; stride *= g->space[i--]) {
    char variable[16];
    sn_format(variable, sizeof variable, "i%d", i);
    sn_text_add_term(w->t, &any, stride, variable);
  }
  sn_text_add(w->t, ";\n");
}

static void add_product(sn_c_writer *w) {
  const sn_group *g = w->g;
  const sn_dtype dtype = g->contraction.total_dtype;
  char row[16], column[16];
  sn_format(row, sizeof row, "i%d", g->space_rank - 2);
  sn_format(column, sizeof column, "i%d", g->space_rank - 1);
  declare_batch(w);
  declare_total(w, 0, SN_OP_sum, dtype);
  sn_c_begin_line(w);
  sn_text_add(w->t, "for (long k = 0; k < %lld; k++) {\n", (long long)g->contraction.k);
  w->depth++;
  const char *type = is_widened(SN_OP_sum, dtype) ? "double" : sn_c_type(dtype);
  sn_c_begin_line(w);
  sn_text_add(w->t, "%s x = ", type);
  add_factor(w, &g->contraction.factors[0], row);
  sn_text_add(w->t, ", y = ");
  add_factor(w, &g->contraction.factors[1], column);
  sn_text_add(w->t, ";\n");
  sn_text product = sn_text_in(w->t->arena);
  sn_text_add(&product, "(");
  sn_c_add_expression(&product, SN_OP_mul, dtype, (const char *[]){"x", "y", "y"});
  sn_text_add(&product, ")");
  if (product.status && !w->t->status) w->t->status = product.status;
  if (!product.status) add_combine(w, 0, SN_OP_sum, dtype, product.data);
  sn_c_close_loops(w, 1);
  narrow_total(w, 0, SN_OP_sum, dtype);
}

/* ---- the function ---------------------------------------------------------------------------- */

void sn_c_add_kernel_name(sn_text *t, size_t number, const sn_group *g) {
  sn_text_add(t, "k%zu", number);
  for (const char *at = g->name, *last = "+"; *at && *at != '('; last = at++) {
    if (!isalnum((unsigned char)*at)) continue;
    sn_text_add(t, isalnum((unsigned char)*last) ? "%c" : "_%c", *at);
  }
}

static void add_dims(sn_text *t, const int64_t *dims, int rank) {
  for (int i = 0; i < rank; i++) sn_text_add(t, i ? " x %lld" : " %lld", (long long)dims[i]);
}

static void add_signature(sn_text *t, const sn_value *values, size_t number, const sn_group *g,
                          sn_value_set *set) {
  const size_t n_writes = sn_group_buffers(g, 1, set);
  size_t named = 0; /* length of the name without the number of ops, which follows in parentheses */
  while (g->name[named] && g->name[named] != '(') named++;
  sn_text_add(t, "/* %s %.*s%s:", sn_group_kind_name(g), (int)named, g->name,
              g->name[named] ? " ..." : "");
  add_dims(t, g->space, g->space_rank);
  sn_text_add(t, "%s", g->space_rank ? " points" : " one point");
  if (sn_group_phases(g)) {
    sn_text_add(t, ", each over");
    add_dims(t, g->reduced, g->reduced_rank);
  }
  sn_text_add(t, " */\nstatic void ");
  sn_c_add_kernel_name(t, number, g);
  for (size_t i = 0; i < set->n; i++)
    sn_text_add(t, "%s%s%s *b%u", i ? ", " : "(", i < n_writes ? "" : "const ",
                sn_c_type(values[set->ids[i]].type.dtype), set->ids[i]);
  sn_text_add(t, ") {\n");
}

static sn_status add_post(sn_c_writer *w) {
  const sn_group *g = w->g;
  if (g->kind == SN_GROUP_CALL) return SN_OK;
  uint8_t *needed;
  SN_TRY(sn_arena_alloc(w->t->arena, g->post.n_insns, 1, (void **)&needed));
  for (uint32_t k = 0; k < g->n_stores; k++) needed[g->stores[k].insn] = 1;
  SN_TRY(add_body(w, &g->post, needed, g->space_rank));
  return add_stores(w, &g->post, g->stores, g->n_stores, g->space_rank);
}

sn_status sn_c_add_kernel(sn_text *t, const sn_value *values, size_t number, const sn_group *g,
                          sn_value_set *set) {
  sn_c_writer w = {.t = t, .g = g, .env = t->arena->env};
  add_signature(t, values, number, g, set);
  const bool row = sn_group_phases(g) > 0;
  for (uint32_t k = 0; row && k < g->row.n_kept; k++)
    sn_text_add(t, "  static %s kept%u[%lld];\n", sn_c_type(g->row.kept[k]), k,
                (long long)sn_group_reduced_points(g));
  sn_c_open_loops(&w, 'i', g->space, g->space_rank);
  for (uint32_t p = 0; p < sn_group_phases(g); p++) SN_TRY(add_phase(&w, &g->row.phases[p]));
  if (g->kind == SN_GROUP_CONTRACTION) add_product(&w);
  if (g->kind == SN_GROUP_CALL) SN_TRY(sn_c_add_call(&w));
  SN_TRY(add_post(&w));
  sn_c_close_loops(&w, g->space_rank);
  sn_text_add(t, "}\n\n");
  return t->status;
}
