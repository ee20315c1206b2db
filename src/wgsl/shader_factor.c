/* shader_factor.c - how products access their factors. Factors keep their nests and bounds (im2col without a copy): functions
 * of the shader compute an element's position from its batch, its index across and its k.
 *
 * Invariant: elements outside of a factor's bounds are 0; what the device reads in their place does not count. */
#include "base/format.h"
#include "fuse/nest_text.h"
#include "wgsl/shader.h"

static bool is_bounded(const sn_operand *f) { return f->nests->bounds.guards != 0; }

/* A place is a position; if there are bounds, it also has the bounded coordinates, counted from the lowest. This is their
 * number. */
static int bounded_fields(const sn_operand *f) {
  int n = 0;
  while (n < SN_MARKS && f->nests->bounds.guards >> n * SN_MARK_BITS) n++;
  return n;
}

const char *sn_shader_place_type(const sn_operand *f) {
  static const char *const types[] = {"i32", "vec2<i32>", "vec3<i32>", "vec4<i32>"};
  _Static_assert(sizeof types / sizeof *types == SN_MARKS + 1, "one more than marks");
  return types[bounded_fields(f)];
}

static const char *const axis_names[] = {"batch", "across", "k"};

/* Adds the terms of axes [from, to) for an element's position, or (field >= 0) for a bounded coordinate. */
static void add_terms(const sn_group *product, sn_text *out, const sn_operand *f, int field,
                      int from, int to, int64_t first) {
  bool any = false;
  for (int i = from; i < to; i++) {
    const sn_nest *axis = &f->nests->of[i];
    int64_t strides[SN_MAX_RANK];
    if (i == SN_AXIS_BATCH && product->space_rank <= 2) continue;
    if (field >= 0)
      sn_nest_field(axis, field, strides);
    else
      memcpy(strides, axis->strides, sizeof strides);
    sn_nest_add_terms(out, &any, axis, strides, axis_names[i]);
  }
  sn_text_add_term(out, &any, first, "");
  if (!any) sn_text_add(out, "0");
}

/* Adds the part of a place that axes [from, to) contribute; begins: including the offset, and minus the lower bounds. */
static void add_place(const sn_group *product, sn_text *out, const sn_operand *f, int from, int to,
                      bool begins) {
  if (is_bounded(f)) sn_text_add(out, "%s(", sn_shader_place_type(f));
  add_terms(product, out, f, -1, from, to, begins ? f->offset : 0);
  for (int field = 0; field < bounded_fields(f); field++) {
    int64_t low, high;
    sn_bounds_field(&f->nests->bounds, field, &low, &high);
    sn_text_add(out, ", ");
    add_terms(product, out, f, field, from, to, begins ? -low : 0);
  }
  if (is_bounded(f)) sn_text_add(out, ")");
}

/* Adds the test that place q is inside of the bounds. */
static void add_test(sn_text *out, const sn_operand *f) {
  const char *and = "";
  for (int field = 0; field < bounded_fields(f); field++, and = " && ") {
    int64_t low, high;
    sn_bounds_field(&f->nests->bounds, field, &low, &high);
    sn_text_add(out, "%sbitcast<u32>(q.%c) < %lldu", and, "yzw"[field],
                (long long)(high - low + 1));
  }
}

/* Defines at_a(q): the element at a place, 0 outside of the bounds. */
static sn_status add_access(sn_shader *s, const sn_group *product, const sn_operand *f,
                            char letter) {
  const sn_dtype total = product->contraction.total_dtype;
  const char *type = sn_scalar_text_type(total);
  sn_text element = sn_text_in(s->arena), value = element, test = element;
  sn_shader_add_element(s, &element, f->value, f->dtype, is_bounded(f) ? "q.x" : "q");
  const char *args[] = {sn_shader_text(s, &element)};
  SN_TRY(sn_scalar_text_add_op(&s->scalars, &value, SN_OP_astype, total, f->dtype, args, 1));
  sn_text *out = &s->scalars.functions;
  sn_text_add(out, "fn at_%c(q: %s) -> %s {\n  return ", letter, sn_shader_place_type(f), type);
  if (is_bounded(f)) {
    add_test(&test, f);
    sn_text_add(out, "select(%s(0), %s, %s)", type, sn_shader_text(s, &value),
                sn_shader_text(s, &test));
  } else {
    sn_text_add(out, "%s", sn_shader_text(s, &value));
  }
  sn_text_add(out, ";\n}\n\n");
  return out->status;
}

sn_status sn_shader_factor_fours(sn_shader *s, const sn_operand *f, char letter) {
  sn_text *out = &s->scalars.functions;
  sn_text test = sn_text_in(s->arena);
  const uint32_t binding = sn_shader_binding_of(s, f->value);
  sn_text_add(out, "fn four_%c(q: %s) -> vec4<f32> {\n  return ", letter, sn_shader_place_type(f));
  if (is_bounded(f)) {
    add_test(&test, f);
    sn_text_add(out, "select(vec4<f32>(), b%u[q.x >> 2u], %s)", binding, sn_shader_text(s, &test));
  } else {
    sn_text_add(out, "b%u[q >> 2u]", binding);
  }
  sn_text_add(out, ";\n}\n\n");
  return out->status;
}

sn_status sn_shader_factor(sn_shader *s, const sn_group *product, int side, char letter) {
  const sn_operand *f = &product->contraction.factors[side];
  sn_text *out = &s->scalars.functions;
  sn_text_add(out, "fn place_%c(batch: i32, across: i32) -> %s {\n  return ", letter,
              sn_shader_place_type(f));
  add_place(product, out, f, SN_AXIS_BATCH, SN_AXIS_ALONG, true);
  sn_text_add(out, ";\n}\n\nfn step_%c(k: i32) -> %s {\n  return ", letter,
              sn_shader_place_type(f));
  add_place(product, out, f, SN_AXIS_ALONG, SN_PRODUCT_AXES, false);
  sn_text_add(out, ";\n}\n\n");
  return add_access(s, product, f, letter);
}

/* Outside of the matrix it also reads, from wherever the device clamps the index to, and discards the value: with a branch for
 * each element, drivers would take long to compile the text. */
void sn_shader_factor_loader(sn_shader *s, const sn_group *product, char letter, int64_t size) {
  const char *type = sn_scalar_text_type(product->contraction.total_dtype);
  sn_text_add(&s->scalars.functions,
              "fn load_%c(batch: i32, across: i32, k: i32) -> %s {\n"
              "  let x = at_%c(place_%c(batch, across) + step_%c(k));\n"
              "  return select(%s(0), x, (across < %lld) & (k < %lld));\n}\n\n",
              letter, type, letter, letter, letter, type, (long long)size,
              (long long)product->contraction.k);
}

/* ---- four elements at a time ------------------------------------------------------------------- */

/* Whether elements are in aligned fours along an axis: contiguous in its innermost dimension, with all other strides multiples
 * of 4. A four is then inside of the bounds as a whole, or outside. */
static bool is_in_fours(const sn_operand *f, int axis) {
  bool is = f->offset % 4 == 0;
  for (int a = 0; a < SN_PRODUCT_AXES; a++) {
    const sn_nest *nest = &f->nests->of[a];
    for (int i = 0; i < nest->rank; i++) {
      if (a == axis && i == nest->rank - 1)
        is = is && nest->strides[i] == 1 && nest->dims[i] % 4 == 0 && nest->marks[i] == 0;
      else
        is = is && (nest->dims[i] == 1 || nest->strides[i] % 4 == 0);
    }
  }
  return is;
}

static bool is_stored(const sn_shader *s, uint32_t binding) {
  for (uint32_t k = 0; k < s->group->n_stores; k++)
    if (sn_shader_binding_of(s, s->group->stores[k].target.value) == binding) return true;
  return false;
}

static sn_shader_reading reading_of(const sn_shader *s, const sn_contraction *c,
                                    const sn_operand *f) {
  const uint32_t b = sn_shader_binding_of(s, f->value);
  if (c->total_dtype != SN_F32 || f->dtype != SN_F32 || b == SN_NONE) return SN_READS_ELEMENTS;
  if ((s->elements[b] != SN_ELEMENT_F32 && s->elements[b] != SN_ELEMENT_FOUR_F32) ||
      s->bindings[b].bytes % 16 || is_stored(s, b) || !sn_shader_is_whole(s, f->value))
    return SN_READS_ELEMENTS;
  if (is_in_fours(f, SN_AXIS_ALONG)) return SN_READS_FOURS_ALONG;
  return is_in_fours(f, SN_AXIS_ACROSS) ? SN_READS_FOURS_ACROSS : SN_READS_ELEMENTS;
}

sn_shader_reading sn_shader_factor_reading(sn_shader *s, const sn_group *product, int side) {
  const sn_operand *f = &product->contraction.factors[side];
  const sn_shader_reading reading = reading_of(s, &product->contraction, f);
  if (reading) s->elements[sn_shader_binding_of(s, f->value)] = SN_ELEMENT_FOUR_F32;
  return reading;
}
