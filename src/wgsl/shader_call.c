/* shader_call.c - ops along one axis. Every point of the space has a line of elements along the axis.
 *
 *   gather, concat   a thread for each element of the result
 *   scatter, scans   a thread for each line, one step after the other, in the order of the CPU
 *   sort             a thread for each element, which counts the elements that go before it: stable
 */
#include "base/format.h"
#include "wgsl/shader.h"

enum { NAME = 128 };

/* Adds the position in memory of the element at `position` of a line. */
static void add_position(const sn_shader *s, sn_text *out, const sn_operand *o,
                         const char *position) {
  const int rank = s->group->space_rank;
  bool any = false;
  for (int i = 0; i < rank; i++) sn_text_add_term(out, &any, o->strides[i], s->index[i]);
  sn_text_add_term(out, &any, o->strides[rank], position);
  sn_text_add_term(out, &any, o->offset, "");
  if (!any) sn_text_add(out, "0");
}

const char *sn_shader_call_element(sn_shader *s, uint32_t input, const char *position) {
  const sn_operand *o = &s->group->call.operands[input];
  sn_text place = sn_text_in(s->arena), out = place;
  add_position(s, &place, o, position);
  sn_shader_add_element(s, &out, o->value, o->dtype, sn_shader_text(s, &place));
  return sn_shader_text(s, &out);
}

static const char *own_element(sn_shader *s, const char *position) {
  const sn_operand *o = &s->group->stores[0].target;
  sn_text place = sn_text_in(s->arena), out = place;
  add_position(s, &place, o, position);
  sn_shader_add_element(s, &out, o->value, o->dtype, sn_shader_text(s, &place));
  return sn_shader_text(s, &out);
}

void sn_shader_call_store(sn_shader *s, const char *position, const char *what) {
  const sn_operand *o = &s->group->stores[0].target;
  sn_text place = sn_text_in(s->arena);
  add_position(s, &place, o, position);
  sn_shader_store(s, o->value, o->dtype, sn_shader_text(s, &place), what);
}

void sn_shader_call_open_elements(sn_shader *s, int64_t per_line) {
  const sn_group *g = s->group;
  sn_shader_thread_per_point(s, sn_group_points(g) * per_line, 1);
  sn_shader_line(s, "let j = p %% %lld;", (long long)per_line);
  sn_shader_line(s, "let q = p / %lld;", (long long)per_line);
  sn_shader_split(s, "q", g->space, g->space_rank, 'i');
}

static void open_lines(sn_shader *s) {
  sn_shader_thread_per_point(s, sn_group_points(s->group), 1);
  sn_shader_split(s, "p", s->group->space, s->group->space_rank, 'i');
}

static sn_status gather(sn_shader *s) {
  const sn_call *r = &s->group->call;
  sn_shader_call_open_elements(s, r->length);
  sn_shader_line(s, "let at = position_of(%s, %lld);", sn_shader_call_element(s, 1, "j"),
                 (long long)r->lengths[0]);
  sn_shader_call_store(s, "j", sn_shader_call_element(s, 0, "at"));
  return s->status;
}

static sn_status concat(sn_shader *s) {
  const sn_call *r = &s->group->call;
  sn_shader_call_open_elements(s, r->length);
  int64_t begin = 0;
  for (uint32_t k = 0; k < r->n_operands; begin += r->lengths[k++]) {
    char position[NAME];
    if (!r->lengths[k]) continue;
    sn_shader_line(s, "if (j >= %lld && j < %lld) {", (long long)begin,
                   (long long)(begin + r->lengths[k]));
    sn_format(position, sizeof position, "(j - %lld)", (long long)begin);
    sn_shader_call_store(s, "j", sn_shader_call_element(s, k, position));
    sn_shader_line(s, "}");
  }
  return s->status;
}

/* The updates of a line, one after the other, as on the CPU. */
static sn_status update(sn_shader *s) {
  const sn_call *r = &s->group->call;
  const sn_operand *y = &s->group->stores[0].target;
  const sn_op step = sn_op_describe(r->op)->step;
  sn_shader_line(s, "for (var j = 0; j < %lld; j++) {", (long long)r->lengths[1]);
  sn_shader_line(s, "let at = position_of(%s, %lld);", sn_shader_call_element(s, 1, "j"),
                 (long long)r->length);
  sn_shader_line(s, "let update = %s;", sn_shader_call_element(s, 2, "j"));
  if (step == SN_OP_NONE) {
    sn_shader_call_store(s, "at", "update");
  } else {
    const char *args[] = {"state", "update"};
    sn_text e = sn_text_in(s->arena);
    sn_shader_line(s, "let state = %s;", own_element(s, "at"));
    SN_TRY(sn_scalar_text_add_op(&s->scalars, &e, step, y->dtype, y->dtype, args, 2));
    sn_shader_call_store(s, "at", sn_shader_text(s, &e));
  }
  sn_shader_line(s, "}");
  return s->status;
}

static sn_status scatter(sn_shader *s) {
  open_lines(s);
  sn_shader_line(s, "for (var j = 0; j < %lld; j++) {", (long long)s->group->call.length);
  sn_shader_call_store(s, "j", sn_shader_call_element(s, 0, "j"));
  sn_shader_line(s, "}");
  return update(s);
}

sn_status sn_shader_scatter_updates(sn_shader *s) {
  open_lines(s);
  return update(s);
}

/* Adds state = state op x. */
static sn_status advance(sn_shader *s, sn_op op, const char *x) {
  const sn_dtype dtype = s->group->stores[0].target.dtype;
  const char *args[] = {"state", x};
  sn_text e = sn_text_in(s->arena);
  SN_TRY(sn_scalar_text_add_op(&s->scalars, &e, op, dtype, dtype, args, 2));
  sn_shader_line(s, "state = %s;", sn_shader_text(s, &e));
  return SN_OK;
}

static sn_status scan(sn_shader *s) {
  const sn_call *r = &s->group->call;
  const sn_operand *y = &s->group->stores[0].target;
  const bool reverse = r->options[0] != 0, exclusive = r->options[1] != 0;
  open_lines(s);
  sn_shader_line(s, "var state = %s(%d);", sn_scalar_text_type(y->dtype), r->op == SN_OP_cumprod);
  sn_shader_line(s, "for (var step = 0; step < %lld; step++) {", (long long)r->length);
  if (reverse)
    sn_shader_line(s, "let j = %lld - step;", (long long)r->length - 1);
  else
    sn_shader_line(s, "let j = step;");
  sn_shader_line(s, "let before = state;");
  sn_shader_line(s, "let x = %s;", sn_shader_call_element(s, 0, "j"));
  SN_TRY(advance(s, r->op == SN_OP_cumsum ? SN_OP_add : SN_OP_mul, "x"));
  if (r->op == SN_OP_recurrence) {
    sn_shader_line(s, "let z = %s;", sn_shader_call_element(s, 1, "j"));
    SN_TRY(advance(s, SN_OP_add, "z"));
  }
  sn_shader_call_store(s, "j", exclusive ? "before" : "state");
  sn_shader_line(s, "}");
  return s->status;
}

void sn_shader_add_precedes(sn_shader *s) {
  const bool descending = s->group->call.options[0] != 0;
  const sn_dtype dtype = s->group->call.operands[0].dtype;
  const char *type = sn_scalar_text_type(dtype);
  sn_text_add(&s->scalars.functions, "fn precedes(a: %s, b: %s) -> bool {\n  return ", type, type);
  if (dtype == SN_F32)
    sn_text_add(&s->scalars.functions,
                descending ? "(a > b && !is_nan(a) && !is_nan(b)) || (!is_nan(a) && is_nan(b))"
                           : "(a < b && !is_nan(a) && !is_nan(b)) || (!is_nan(a) && is_nan(b))");
  else if (dtype == SN_BOOL)
    sn_text_add(&s->scalars.functions, descending ? "a && !b" : "!a && b");
  else
    sn_text_add(&s->scalars.functions, descending ? "a > b" : "a < b");
  sn_text_add(&s->scalars.functions, ";\n}\n\n");
}

static sn_status sort(sn_shader *s) {
  const sn_call *r = &s->group->call;
  sn_shader_add_precedes(s);
  sn_shader_call_open_elements(s, r->length);
  sn_shader_line(s, "let x = %s;", sn_shader_call_element(s, 0, "j"));
  sn_shader_line(s, "var place = 0;");
  sn_shader_line(s, "for (var other = 0; other < %lld; other++) {", (long long)r->length);
  sn_shader_line(s, "let z = %s;", sn_shader_call_element(s, 0, "other"));
  sn_shader_line(s, "if (precedes(z, x) || (other < j && !precedes(x, z))) { place++; }");
  sn_shader_line(s, "}");
  sn_shader_call_store(s, "place", r->op == SN_OP_argsort ? "j" : "x");
  return s->status;
}

sn_status sn_shader_call(sn_shader *s) {
  const sn_operand *y = &s->group->stores[0].target;
  const sn_op op = s->group->call.op;
  if (sn_dtype_bytes(y->dtype) < 4) sn_shader_stores_bytes(s, y->value);
  switch (sn_op_describe(op)->kind) {
  case SN_CLASS_GATHER: return gather(s);
  case SN_CLASS_SCATTER: return scatter(s);
  case SN_CLASS_SORT: return sort(s);
  case SN_CLASS_SCAN: return scan(s);
  case SN_CLASS_CONCAT: return concat(s);
  default:
    return SN_FAIL(s->arena->env, SN_ERR_UNSUPPORTED, NULL, "the device has no %s",
                   sn_op_describe(op)->name);
  }
}
