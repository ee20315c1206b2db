/* write_call.c - ops along one axis as plain loops, for one line of elements after the other. The C
 * source's loops are literal text here, with a $ before what depends on the kernel:
 *
 *   $a[j] $b[j] $c[j] $y[j]   element j of the line of an input, or of the result
 *   $n $0 $1                  the length of the line of the result, of input 0, of input 1 (the indices)
 *   $t $w                     the result's type, and that of sums in scans: float32 is summed in double
 *   $+ $* $> $< $|            state + x, state * x, the larger, the smaller one, state | x */
#include <string.h>

#include "base/format.h"
#include "csource/spell.h"
#include "csource/writer.h"

enum { POSITION_SIZE = 24 };

/* Adds element `position` of an operand's line at the current point. */
static void add_element(sn_c_writer *w, const sn_operand *o, const char *position) {
  bool any = false;
  sn_text_add(w->t, "b%u[", o->value);
  for (int i = 0; i < w->g->space_rank; i++) {
    char variable[16];
    sn_format(variable, sizeof variable, "i%d", i);
    sn_text_add_term(w->t, &any, o->strides[i], variable);
  }
  sn_text_add_term(w->t, &any, o->strides[w->g->space_rank], position);
  sn_text_add_term(w->t, &any, o->offset, "");
  sn_text_add(w->t, any ? "]" : "0]");
}

/* Copies what is between the bracket at `open` and its partner, and returns the partner. */
static const char *read_position(const char *open, char position[POSITION_SIZE]) {
  const char *at = open;
  for (int depth = 0; (depth += (*at == '[') - (*at == ']')) > 0;) at++;
  sn_format(position, POSITION_SIZE, "%.*s", (int)(at - open) - 1, open + 1);
  return at;
}

static void add_step(sn_c_writer *w, sn_op op, sn_dtype dtype) {
  sn_c_add_expression(w->t, op, dtype, (const char *[]){"state", "x", "x"});
}

/* Adds what the $ before `at` asks for and returns its last character. */
static const char *add_part(sn_c_writer *w, const char *at) {
  const sn_call *r = &w->g->call;
  const sn_operand *y = &w->g->stores[0].target;
  const bool scans = sn_op_describe(r->op)->kind == SN_CLASS_SCAN;
  const sn_dtype wide = y->dtype == SN_F32 && scans ? SN_F64 : y->dtype;
  char position[POSITION_SIZE];
  switch (*at) {
  case 't': sn_text_add(w->t, "%s", sn_c_type(y->dtype)); return at;
  case 'w': sn_text_add(w->t, "%s", sn_c_type(wide)); return at;
  case '+': add_step(w, SN_OP_add, wide); return at;
  case '>': add_step(w, SN_OP_maximum, wide); return at;
  case '<': add_step(w, SN_OP_minimum, wide); return at;
  case '|': add_step(w, SN_OP_bitwise_or, wide); return at;
  case '*': add_step(w, SN_OP_mul, wide); return at;
  case 'n': sn_text_add(w->t, "%lld", (long long)r->length); return at;
  case '0':
  case '1': sn_text_add(w->t, "%lld", (long long)r->lengths[*at - '0']); return at;
  default: {
    const char *end = read_position(at + 1, position);
    add_element(w, *at == 'y' ? y : &r->operands[*at - 'a'], position);
    return end;
  }
  }
}

static void add_lines(sn_c_writer *w, const char *lines) {
  for (const char *at = lines; *at; at++) {
    if (at == lines || at[-1] == '\n') sn_c_begin_line(w);
    if (*at == '$')
      at = add_part(w, at + 1);
    else
      sn_text_add(w->t, "%c", *at);
  }
}

/* Adds the line that declares `at`, a position in an operand's line. If that line has one element, `at` would be unused. */
static void add_position(sn_c_writer *w, const sn_operand *o, const char *line) {
  if (o->strides[w->g->space_rank]) add_lines(w, line);
}

static void add_gather(sn_c_writer *w) {
  add_lines(w, "for (long j = 0; j < $n; j++) {\n");
  add_position(w, &w->g->call.operands[0], "  long at = position_of($b[j], $0);\n");
  add_lines(w, "  $y[j] = $a[at];\n"
               "}\n");
}

static void add_scatter(sn_c_writer *w) {
  add_lines(w, "for (long j = 0; j < $n; j++) {\n"
               "  $y[j] = $a[j];\n"
               "}\n"
               "for (long j = 0; j < $1; j++) {\n");
  add_position(w, &w->g->stores[0].target, "  long at = position_of($b[j], $n);\n");
  const sn_op op = w->g->call.op;
  if (op == SN_OP_scatter_set) {
    add_lines(w, "  $y[at] = $c[j];\n"
                 "}\n");
    return;
  }
  add_lines(w, "  $t state = $y[at], x = $c[j];\n");
  add_lines(w, op == SN_OP_scatter_add   ? "  $y[at] = $+;\n"
               : op == SN_OP_scatter_mul ? "  $y[at] = $*;\n"
               : op == SN_OP_scatter_max ? "  $y[at] = $>;\n"
               : op == SN_OP_scatter_or  ? "  $y[at] = $|;\n"
                                         : "  $y[at] = $<;\n");
  add_lines(w, "}\n");
}

static void add_scan(sn_c_writer *w) {
  const sn_call *r = &w->g->call;
  const bool reverse = r->options[0] != 0, exclusive = r->options[1] != 0;
  add_lines(w, r->op == SN_OP_cumprod ? "$w state = 1;\n" : "$w state = 0;\n");
  add_lines(w, "for (long step = 0; step < $n; step++) {\n");
  add_lines(w, reverse ? "  long j = $n - 1 - step;\n" : "  long j = step;\n");
  add_lines(w, exclusive ? "  $w before = state, x = $a[j];\n" : "  $w x = $a[j];\n");
  add_lines(w, r->op == SN_OP_cumsum ? "  state = $+;\n" : "  state = $*;\n");
  if (r->op == SN_OP_recurrence)
    add_lines(w, "  x = $b[j];\n"
                 "  state = $+;\n");
  add_lines(w, exclusive ? "  $y[j] = ($t)before;\n"
                           "}\n"
                         : "  $y[j] = ($t)state;\n"
                           "}\n");
}

/* Stable insertion sort: short to read, but slow for long lines. `from` holds the positions that elements
 * come from; an element moves in front of those that it precedes. */
static void add_sort(sn_c_writer *w) {
  const sn_call *r = &w->g->call;
  add_lines(w, "static int32_t from[$n + 1];\n"
               "for (long j = 0; j < $n; j++) {\n"
               "  double value = $a[j];\n"
               "  long at = j;\n");
  add_lines(w, r->options[0] ? "  while (at > 0 && precedes(-value, -(double)$a[from[at - 1]])) {\n"
                             : "  while (at > 0 && precedes(value, $a[from[at - 1]])) {\n");
  add_lines(w, "    from[at] = from[at - 1];\n"
               "    at--;\n"
               "  }\n"
               "  from[at] = (int32_t)j;\n"
               "}\n"
               "for (long j = 0; j < $n; j++) {\n");
  add_lines(w, r->op == SN_OP_argsort ? "  $y[j] = from[j];\n"
                                        "}\n"
                                      : "  $y[j] = $a[from[j]];\n"
                                        "}\n");
}

/* A loop for each input. */
static void add_concat(sn_c_writer *w) {
  const sn_call *r = &w->g->call;
  sn_operand y = w->g->stores[0].target;
  for (uint32_t k = 0; k < r->n_operands; k++) {
    sn_c_begin_line(w);
    sn_text_add(w->t, "for (long j = 0; j < %lld; j++) ", (long long)r->lengths[k]);
    add_element(w, &y, "j");
    sn_text_add(w->t, " = ");
    add_element(w, &r->operands[k], "j");
    sn_text_add(w->t, ";\n");
    y.offset += r->lengths[k] * y.strides[w->g->space_rank];
  }
}

sn_status sn_c_add_call(sn_c_writer *w) {
  const sn_op op = w->g->call.op;
  switch (sn_op_describe(op)->kind) {
  case SN_CLASS_GATHER: add_gather(w); break;
  case SN_CLASS_SCATTER: add_scatter(w); break;
  case SN_CLASS_SORT: add_sort(w); break;
  case SN_CLASS_SCAN: add_scan(w); break;
  case SN_CLASS_CONCAT: add_concat(w); break;
  default:
    return SN_FAIL(w->env, SN_ERR_UNSUPPORTED, NULL, "c source: %s has no C",
                   sn_op_describe(op)->name);
  }
  return SN_OK;
}
