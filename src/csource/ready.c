/* ready.c - ops along one axis as plain loops, one line after the other. Sorting is by insertion:
 * short to read, slow for long lines. */

#include "base/format.h"
#include "csource/spell.h"
#include "csource/writer.h"

/* The element of an operand at the present point, in place `position` of its line. */
static void add_element(sn_c_writer *w, const sn_operand *o, const char *position) {
  bool any = false;
  sn_text_add(w->t, "b%u[", o->value);
  for (int i = 0; i < w->g->space_rank; i++) {
    char variable[16];
    sn_format(variable, sizeof variable, "i%d", i);
    sn_c_add_term(w->t, &any, o->strides[i], variable);
  }
  sn_c_add_term(w->t, &any, o->strides[w->g->space_rank], position);
  sn_c_add_term(w->t, &any, o->offset, "");
  sn_text_add(w->t, any ? "]" : "0]");
}

static void begin_loop(sn_c_writer *w, const char *variable, int64_t n) {
  sn_c_begin_line(w);
  sn_text_add(w->t, "for (long %s = 0; %s < %lld; %s++) {\n", variable, variable, (long long)n,
              variable);
  w->depth++;
}

/* to[at] = from[position]; */
static void add_copy(sn_c_writer *w, const sn_operand *to, const char *at, const sn_operand *from,
                     const char *position) {
  sn_c_begin_line(w);
  add_element(w, to, at);
  sn_text_add(w->t, " = ");
  add_element(w, from, position);
  sn_text_add(w->t, ";\n");
}

static void add_position(sn_c_writer *w, const sn_operand *indices, int64_t n) {
  sn_c_begin_line(w);
  sn_text_add(w->t, "long at = position_of(");
  add_element(w, indices, "j");
  sn_text_add(w->t, ", %lld);\n", (long long)n);
}

static void add_gather(sn_c_writer *w, const sn_operand *y) {
  const sn_ready *r = w->g->ready;
  begin_loop(w, "j", r->length);
  add_position(w, &r->operands[1], r->lengths[0]);
  add_copy(w, y, "j", &r->operands[0], "at");
  sn_c_close_loops(w, 1);
}

static void add_scatter(sn_c_writer *w, const sn_operand *y) {
  const sn_ready *r = w->g->ready;
  begin_loop(w, "j", r->length);
  add_copy(w, y, "j", &r->operands[0], "j");
  sn_c_close_loops(w, 1);
  begin_loop(w, "j", r->lengths[1]);
  add_position(w, &r->operands[1], r->length);
  if (r->op == SN_OP_scatter_set) {
    add_copy(w, y, "at", &r->operands[2], "j");
  } else {
    const char *type = sn_c_type(y->dtype);
    sn_c_begin_line(w);
    sn_text_add(w->t, "%s old = ", type);
    add_element(w, y, "at");
    sn_text_add(w->t, ", more = ");
    add_element(w, &r->operands[2], "j");
    sn_text_add(w->t, ";\n");
    sn_c_begin_line(w);
    add_element(w, y, "at");
    sn_text_add(w->t, " = ");
    sn_c_add_expression(w->t, sn_c_expression(SN_OP_add, y->dtype),
                        (const char *[]){"old", "more", "more"});
    sn_text_add(w->t, ";\n");
  }
  sn_c_close_loops(w, 1);
}

/* state = op(state, x) */
static void add_step(sn_c_writer *w, sn_op op, sn_dtype dtype, const char *state, const char *x) {
  sn_c_begin_line(w);
  sn_text_add(w->t, "%s = ", state);
  sn_c_add_expression(w->t, sn_c_expression(op, dtype), (const char *[]){state, x, x});
  sn_text_add(w->t, ";\n");
}

static void add_scan(sn_c_writer *w, const sn_operand *y) {
  const sn_ready *r = w->g->ready;
  const sn_dtype dtype = y->dtype, wide = sn_dtype_is_float(dtype) ? SN_F64 : dtype;
  const char *type = sn_c_type(wide);
  sn_c_begin_line(w);
  sn_text_add(w->t, "%s state = %d;\n", type, r->op == SN_OP_cumprod);
  begin_loop(w, "step", r->length);
  sn_c_begin_line(w);
  if (r->options[0])
    sn_text_add(w->t, "long j = %lld - step;\n", (long long)r->length - 1);
  else
    sn_text_add(w->t, "long j = step;\n");
  sn_c_begin_line(w);
  sn_text_add(w->t, r->options[1] ? "%s before = state, x = " : "%s x = ", type);
  add_element(w, &r->operands[0], "j");
  if (r->op == SN_OP_recurrence) {
    sn_text_add(w->t, ", b = ");
    add_element(w, &r->operands[1], "j");
  }
  sn_text_add(w->t, ";\n");
  add_step(w, r->op == SN_OP_cumsum ? SN_OP_add : SN_OP_mul, wide, "state", "x");
  if (r->op == SN_OP_recurrence) add_step(w, SN_OP_add, wide, "state", "b");
  sn_c_begin_line(w);
  add_element(w, y, "j");
  sn_text_add(w->t, " = (%s)(%s);\n", sn_c_type(dtype), r->options[1] ? "before" : "state");
  sn_c_close_loops(w, 1);
}

/* Stable insertion: places hold where elements come from; an element moves before those it must
 * precede. */
static void add_sort(sn_c_writer *w, const sn_operand *y) {
  const sn_ready *r = w->g->ready;
  const sn_operand *x = &r->operands[0];
  const bool descending = r->options[0] != 0;
  sn_c_begin_line(w);
  sn_text_add(w->t, "static int32_t from[%lld];\n", (long long)(r->length ? r->length : 1));
  begin_loop(w, "j", r->length);
  sn_c_begin_line(w);
  sn_text_add(w->t, "double value = ");
  add_element(w, x, "j");
  sn_text_add(w->t, ";\n");
  sn_c_begin_line(w);
  sn_text_add(w->t, "long at = j;\n");
  sn_c_begin_line(w);
  sn_text_add(w->t, descending ? "while (at > 0 && precedes(-value, -(double)"
                               : "while (at > 0 && precedes(value, ");
  add_element(w, x, "from[at - 1]");
  sn_text_add(w->t, ")) {\n");
  w->depth++;
  sn_c_begin_line(w);
  sn_text_add(w->t, "from[at] = from[at - 1];\n");
  sn_c_begin_line(w);
  sn_text_add(w->t, "at--;\n");
  sn_c_close_loops(w, 1);
  sn_c_begin_line(w);
  sn_text_add(w->t, "from[at] = (int32_t)j;\n");
  sn_c_close_loops(w, 1);
  begin_loop(w, "j", r->length);
  if (r->op == SN_OP_argsort) {
    sn_c_begin_line(w);
    add_element(w, y, "j");
    sn_text_add(w->t, " = from[j];\n");
  } else {
    add_copy(w, y, "j", x, "from[j]");
  }
  sn_c_close_loops(w, 1);
}

sn_status sn_c_add_ready(sn_c_writer *w) {
  const sn_ready *r = w->g->ready;
  const sn_operand *y = &w->g->stores[0].target;
  switch (sn_op_describe(r->op)->kind) {
  case SN_CLASS_GATHER: add_gather(w, y); break;
  case SN_CLASS_SCATTER: add_scatter(w, y); break;
  case SN_CLASS_SORT: add_sort(w, y); break;
  case SN_CLASS_SCAN: add_scan(w, y); break;
  default:
    return sn_fail(w->env, SN_ERR_UNSUPPORTED, "c source: %s has no C",
                   sn_op_describe(r->op)->name);
  }
  return SN_OK;
}
