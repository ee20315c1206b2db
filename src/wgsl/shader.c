#include "wgsl/shader.h"

#include <stdarg.h>

#include "base/format.h"

/* ---- bindings -------------------------------------------------------------------------------- */

static sn_shader_element element_of(sn_dtype dtype) {
  return dtype == SN_F32 ? SN_ELEMENT_F32 : dtype == SN_I32 ? SN_ELEMENT_I32 : SN_ELEMENT_U32;
}

/* The binding that begins at a place's offset, or SN_NONE. The value may begin further on in it. */
static uint32_t find_binding(const sn_shader *s, const sn_place_of *at) {
  for (uint32_t i = 0; i < s->n_bindings; i++) {
    const sn_shader_binding *b = &s->bindings[i];
    const bool alternates = at->offset != at->odd_offset;
    if (b->buffer == at->buffer && b->offset == at->offset && b->odd_offset == at->odd_offset &&
        (!alternates || b->level == at->level))
      return i;
  }
  return SN_NONE;
}

uint32_t sn_shader_binding_of(const sn_shader *s, uint32_t value) {
  const sn_place_of at = sn_frame_place(s->frame, value);
  return find_binding(s, &at);
}

bool sn_shader_is_whole(const sn_shader *s, uint32_t value) {
  const sn_place_of at = sn_frame_place(s->frame, value);
  return sn_place_is_whole(&at);
}

uint32_t sn_shader_bind(sn_shader *s, const sn_place_of *at, sn_dtype dtype, bool writes) {
  if (!at->bytes) return SN_NONE;
  if (at->offset + at->bytes > UINT32_MAX || at->odd_offset + at->bytes > UINT32_MAX) {
    s->status =
        SN_FAIL(s->arena->env, SN_ERR_UNSUPPORTED, NULL, "the device's buffers end at 4 GiB");
    return SN_NONE;
  }
  uint32_t i = find_binding(s, at);
  if (i == SN_NONE) {
    if (s->n_bindings == SN_SHADER_BINDINGS) {
      s->status =
          SN_FAIL(s->arena->env, SN_ERR_INTERNAL, NULL, "more buffers than the device binds");
      return SN_NONE;
    }
    i = s->n_bindings++;
    s->bindings[i] = (sn_shader_binding){.buffer = at->buffer,
                                         .offset = (uint32_t)at->offset,
                                         .writes = at->buffer == s->frame->arena ||
                                                   at->buffer == SN_GATES || at->buffer == SN_PARTS,
                                         .odd_offset = (uint32_t)at->odd_offset,
                                         .level = at->level};
    s->elements[i] = element_of(dtype);
  }
  sn_shader_binding *b = &s->bindings[i];
  const uint32_t bytes = (uint32_t)(at->bytes + 3) & ~3u;
  if (bytes > b->bytes) b->bytes = bytes;
  if (s->elements[i] != element_of(dtype)) s->elements[i] = SN_ELEMENT_U32;
  b->writes |= writes;
  return i;
}

static sn_status bind(void *user, const sn_touch *touch) {
  sn_shader *s = user;
  const uint32_t value = touch->operand->value;
  if (value == SN_NONE) return SN_OK;
  const sn_type *type = &s->frame->program->groups.values[value].type;
  sn_place_of at = sn_frame_place(s->frame, value);
  if (!sn_type_bytes(type)) return SN_OK;
  if (!at.bytes) at.bytes = sn_type_bytes(type);
  sn_shader_bind(s, &at, type->dtype, sn_touch_writes(touch));
  return s->status;
}

sn_status sn_shader_begin(sn_arena *arena, const sn_frame *frame, const sn_group *group,
                          sn_shader *s) {
  *s = (sn_shader){.arena = arena,
                   .frame = frame,
                   .group = group,
                   .declared = sn_text_in(arena),
                   .scalars = {.arena = arena, .functions = sn_text_in(arena)},
                   .main = sn_text_in(arena),
                   .depth = 1,
                   .threads = {SN_SHADER_THREADS, 1},
                   .groups = {1, 1, 1}};
  return group ? sn_group_visit(group, bind, s) : SN_OK;
}

void sn_shader_stores_bytes(sn_shader *s, uint32_t value) {
  const uint32_t i = sn_shader_binding_of(s, value);
  if (i != SN_NONE) s->elements[i] = SN_ELEMENT_ATOMIC;
}

void sn_shader_stores_small(sn_shader *s, const sn_store *stores, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (sn_dtype_bytes(stores[k].target.dtype) < 4)
      sn_shader_stores_bytes(s, stores[k].target.value);
}

int64_t sn_shader_shared_bytes(const sn_shader *s) {
  return 2 * s->frame->program->groups.target->limits.local_bytes; /* sn_wgsl_target halves it */
}

bool sn_shader_can_bind_parts(const sn_shader *s) {
  return s->n_bindings < s->frame->program->groups.target->limits.buffers;
}

uint32_t sn_shader_bind_parts(sn_shader *s, int64_t words, sn_dtype dtype) {
  const sn_place_of at = {.buffer = SN_PARTS, .bytes = (size_t)words * 4};
  return sn_shader_bind(s, &at, dtype, true);
}

/* ---- lines ----------------------------------------------------------------------------------- */

void sn_shader_line(sn_shader *s, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  const size_t n = sn_format_list(text, sizeof text, NULL, format, args);
  va_end(args);
  if (n >= sizeof text) s->status = SN_ERR_INTERNAL;
  if (s->status) return;
  if (text[0] == '}') s->depth--;
  sn_text_add(&s->main, "%*s%s\n", 2 * s->depth, "", text);
  if (n && text[n - 1] == '{') s->depth++;
}

/* Launches `groups` workgroups, in a grid whose rows are short enough for any device. */
static void launch(sn_shader *s, int64_t groups) {
  const bool folds = groups > SN_SHADER_MOST_GROUPS;
  s->groups[0] = folds ? SN_SHADER_MOST_GROUPS : (uint32_t)groups;
  s->groups[1] =
      folds ? (uint32_t)((groups + SN_SHADER_MOST_GROUPS - 1) / SN_SHADER_MOST_GROUPS) : 1;
}

void sn_shader_thread_per_point(sn_shader *s, int64_t points, int64_t each) {
  const int64_t threads = (points + each - 1) / each;
  launch(s, (threads + SN_SHADER_THREADS - 1) / SN_SHADER_THREADS);
  sn_text number = sn_text_in(s->arena);
  sn_text_add(&number, s->groups[1] > 1 ? "i32(thread.x + thread.y * %du)" : "i32(thread.x)",
              SN_SHADER_MOST_GROUPS * SN_SHADER_THREADS);
  if (number.status) {
    s->status = number.status;
    return;
  }
  if (each > 1)
    sn_shader_line(s, "let p = %s * %lld;", number.data, (long long)each);
  else
    sn_shader_line(s, "let p = %s;", number.data);
  sn_shader_line(s, "if (p >= %lld) { return; }", (long long)points);
}

void sn_shader_group_per_point(sn_shader *s, int64_t points, uint32_t threads) {
  s->threads[0] = threads;
  launch(s, points);
  if (s->groups[1] > 1)
    sn_shader_line(s, "let p = i32(group.x + group.y * %uu);", SN_SHADER_MOST_GROUPS);
  else
    sn_shader_line(s, "let p = i32(group.x);");
  sn_shader_line(s, "let lane = i32(local);");
  if (s->groups[1] > 1) sn_shader_line(s, "if (p >= %lld) { return; }", (long long)points);
}

/* A dimension as a divisor: drivers reject a constant 0, even in code that no thread reaches. */
static int64_t divisor(int64_t dim) { return dim ? dim : 1; }

void sn_shader_split(sn_shader *s, const char *from, const int64_t *dims, int rank, char letter) {
  int64_t inner = 1;
  const int first = letter == 'j' ? s->group->space_rank : 0;
  for (int i = 0; i < rank; i++) sn_format(s->index[first + i], SN_SHADER_NAME, "%c%d", letter, i);
  for (int i = rank - 1; i >= 0; inner *= divisor(dims[i--])) {
    char quotient[64], modulo[32] = "";
    if (inner == 1)
      sn_format(quotient, sizeof quotient, "%s", from);
    else
      sn_format(quotient, sizeof quotient, i ? "(%s / %lld)" : "%s / %lld", from, (long long)inner);
    if (i) sn_format(modulo, sizeof modulo, " %% %lld", (long long)divisor(dims[i]));
    sn_shader_line(s, "let %c%d = %s%s;", letter, i, quotient, modulo);
  }
}

/* ---- memory ---------------------------------------------------------------------------------- */

void sn_shader_add_place(const sn_shader *s, sn_text *out, const sn_operand *o, int rank) {
  bool any = false;
  for (int i = 0; i < rank; i++) sn_text_add_term(out, &any, o->strides[i], s->index[i]);
  sn_text_add_term(out, &any, o->offset, "");
  if (!any) sn_text_add(out, "0");
}

/* The position of a place's element in its binding. */
static const char *bound_place(sn_shader *s, const sn_place_of *at, const char *place) {
  if (sn_place_is_whole(at)) return place;
  sn_text t = sn_text_in(s->arena);
  sn_text_add(&t, "(%s + %lld", place, (long long)at->first);
  for (int i = 0; i < SN_MAX_NESTING; i++) {
    if (!at->steps[i]) continue;
    sn_text_add(&t, " + rounds[%d].%c * %lld", i / 4, "xyzw"[i % 4], (long long)at -> steps[i]);
    s->asks_rounds = true;
  }
  sn_text_add(&t, ")");
  return sn_shader_text(s, &t);
}

/* Adds the load of a word of a binding, as u32, or as the type of its values if they all have one. */
static void add_word(const sn_shader *s, sn_text *out, uint32_t binding, const char *place) {
  if (s->elements[binding] == SN_ELEMENT_ATOMIC)
    sn_text_add(out, "atomicLoad(&b%u[%s])", binding, place);
  else if (s->elements[binding] == SN_ELEMENT_FOUR_F32)
    sn_text_add(out, "b%u[(%s) >> 2u][(%s) & 3]", binding, place, place);
  else
    sn_text_add(out, "b%u[%s]", binding, place);
}

static bool holds(const sn_shader *s, uint32_t binding, sn_dtype dtype) {
  const sn_shader_element element = s->elements[binding];
  return element == element_of(dtype) || (element == SN_ELEMENT_FOUR_F32 && dtype == SN_F32);
}

void sn_shader_add_bound(sn_shader *s, sn_text *out, uint32_t binding, const sn_place_of *at,
                         sn_dtype dtype, const char *place) {
  const size_t bytes = sn_dtype_bytes(dtype);
  sn_text inner = sn_text_in(s->arena);
  if (binding == SN_NONE) { /* the value has no elements, and no thread reaches this */
    sn_scalar_text_add_value(&s->scalars, out, sn_dtype_wide(dtype) == dtype ? dtype : SN_I32, 0);
    return;
  }
  place = bound_place(s, at, place);
  if (bytes == 4) {
    const bool same = holds(s, binding, dtype);
    if (!same) sn_text_add(out, "bitcast<%s>(", sn_scalar_text_type(dtype));
    add_word(s, out, binding, place);
    if (!same) sn_text_add(out, ")");
    return;
  }
  const int shift = bytes == 2 ? 1 : 2, mask = bytes == 2 ? 1 : 3, bits = bytes == 2 ? 16 : 8;
  sn_text_add(&inner, "(%s) >> %du", place, shift);
  if (dtype == SN_I8 || dtype == SN_U8)
    sn_text_add(out, dtype == SN_I8 ? "extractBits(bitcast<i32>(" : "i32(extractBits(");
  else
    sn_text_add(out, dtype == SN_BOOL ? "(extractBits(" : "extractBits(");
  add_word(s, out, binding, inner.data ? inner.data : "0");
  sn_text_add(out,
              dtype == SN_I8 ? "), u32((%s) & %d) * %du, %du)" : ", u32((%s) & %d) * %du, %du)",
              place, mask, bits, bits);
  sn_text_add(out, dtype == SN_BOOL ? " != 0u)" : dtype == SN_U8 ? ")" : "");
}

void sn_shader_add_element(sn_shader *s, sn_text *out, uint32_t value, sn_dtype dtype,
                           const char *place) {
  const sn_place_of at = sn_frame_place(s->frame, value);
  sn_shader_add_bound(s, out, find_binding(s, &at), &at, dtype, place);
}

const char *sn_shader_text(sn_shader *s, const sn_text *t) {
  if (t->status) s->status = t->status;
  return t->data ? t->data : "";
}

void sn_shader_add_load(sn_shader *s, sn_text *out, const sn_operand *o, int rank, sn_dtype dtype) {
  sn_text place = sn_text_in(s->arena), index = place, number = place;
  sn_shader_add_place(s, &place, o, rank);
  if (o->value == SN_NONE) {
    sn_text_add(out, "%s(%s)", sn_scalar_text_type(dtype), sn_shader_text(s, &place));
    return;
  }
  if (s->inside && s->inside[o->value]) {
    sn_text_add(out, "s%u", o->value);
    return;
  }
  if (sn_is_indexed(o)) {
    const sn_indexing *by = o->indexing;
    sn_shader_add_place(s, &index, &by->index, rank);
    sn_shader_add_element(s, &number, by->index.value, by->index.dtype, sn_shader_text(s, &index));
    sn_text_add(&place, " + position_of(%s, %lld) * %lld", sn_shader_text(s, &number),
                (long long)by->length, (long long)by->stride);
  }
  sn_shader_add_element(s, out, o->value, o->dtype, sn_shader_text(s, &place));
}

const char *sn_shader_bits(sn_dtype dtype) {
  if (dtype == SN_BOOL) return "select(0u, 1u, %s)";
  return dtype == SN_I8 || dtype == SN_U8 ? "(bitcast<u32>(%s) & 255u)" : "%s";
}

void sn_shader_store(sn_shader *s, uint32_t value, sn_dtype dtype, const char *place,
                     const char *what) {
  const sn_place_of at = sn_frame_place(s->frame, value);
  sn_shader_store_bound(s, find_binding(s, &at), &at, dtype, place, what);
}

void sn_shader_store_bound(sn_shader *s, uint32_t binding, const sn_place_of *at, sn_dtype dtype,
                           const char *place, const char *what) {
  const size_t bytes = sn_dtype_bytes(dtype);
  if (binding == SN_NONE) return;
  place = bound_place(s, at, place);
  if (bytes == 4) {
    const bool same = s->elements[binding] == element_of(dtype);
    sn_shader_line(s, same ? "b%u[%s] = %s;" : "b%u[%s] = bitcast<u32>(%s);", binding, place, what);
    return;
  }
  const int bits = bytes == 2 ? 16 : 8;
  /* These names must not hide variables that `what` reads, such as a gather's `at`. */
  sn_shader_line(s, "{");
  sn_shader_line(s, "let stored_at = %s;", place);
  sn_shader_line(s, "let stored_shift = u32(stored_at & %d) * %du;", bytes == 2 ? 1 : 3, bits);
  sn_shader_line(s, "atomicAnd(&b%u[stored_at >> %du], ~(%uu << stored_shift));", binding,
                 bytes == 2 ? 1 : 2, bytes == 2 ? 65535u : 255u);
  sn_text stored = sn_text_in(s->arena);
  sn_text_add(&stored, sn_shader_bits(dtype), what);
  sn_shader_line(s, "atomicOr(&b%u[stored_at >> %du], %s << stored_shift);", binding,
                 bytes == 2 ? 1 : 2, sn_shader_text(s, &stored));
  sn_shader_line(s, "}");
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* Functions that WGSL lacks. A shader contains those that it calls. */
static const struct {
  const char *name, *text;
} helpers[] = {
    {"maximum(", "fn maximum(a: f32, b: f32) -> f32 {\n"
                 "  return select(select(max(a, b), b, is_nan(b)), a, is_nan(a));\n}\n\n"},
    {"minimum(", "fn minimum(a: f32, b: f32) -> f32 {\n"
                 "  return select(select(min(a, b), b, is_nan(b)), a, is_nan(a));\n}\n\n"},
    {"to_int(", "/* saturates; NaN becomes 0 */\n"
                "fn to_int(a: f32) -> i32 {\n"
                "  let bounded = select(i32(clamp(a, -2147483648.0, 2147483520.0)), 2147483647, a "
                ">= 2147483648.0);\n"
                "  return select(bounded, 0, is_nan(a));\n}\n\n"},
    {"position_of(", "/* below 0 from the end on; clamped */\n"
                     "fn position_of(index: i32, n: i32) -> i32 {\n"
                     "  return clamp(select(index, index + n, index < 0), 0, n - 1);\n}\n\n"},
    {"exactly(", "fn exactly(a: f32, zero: u32) -> f32 {\n"
                 "  return bitcast<f32>(bitcast<u32>(a) | zero);\n}\n\n"},
    {"is_nan(", "fn is_nan(a: f32) -> bool {\n"
                "  return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u;\n}\n\n"},
};

static bool calls(const sn_text *t, const char *name) {
  return t->data && sn_text_find(t->data, name);
}

static void add_helpers(sn_shader *s, sn_text *out) {
  bool added = false;
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
    const bool is_last =
        i + 1 == sizeof helpers / sizeof *helpers; /* is_nan, which other helpers call */
    if (!calls(&s->scalars.functions, helpers[i].name) && !calls(&s->main, helpers[i].name) &&
        !(is_last && added))
      continue;
    sn_text_add(out, "%s", helpers[i].text);
    added = true;
  }
}

static const char *const element_types[] = {"f32", "vec4<f32>", "i32", "u32", "atomic<u32>"};

static void add_bindings(const sn_shader *s, sn_text *out) {
  for (uint32_t i = 0; i < s->n_bindings; i++)
    sn_text_add(out, "@group(0) @binding(%u) var<storage, %s> b%u: array<%s>;\n", i,
                s->bindings[i].writes ? "read_write" : "read", i, element_types[s->elements[i]]);
  if (s->scalars.n_constants)
    sn_text_add(out, "@group(0) @binding(%u) var<uniform> c: array<vec4<u32>, %zu>;\n",
                s->n_bindings, (s->scalars.n_constants + 3) / 4);
  if (s->asks_rounds)
    sn_text_add(out, "@group(0) @binding(%u) var<uniform> rounds: array<vec4<i32>, %d>;\n",
                s->n_bindings + (s->scalars.n_constants > 0), SN_MAX_NESTING / 4);
}

sn_status sn_shader_end(sn_shader *s, const char **text) {
  sn_text all = sn_text_in(s->arena);
  SN_TRY(s->status);
  SN_TRY(s->scalars.status);
  SN_TRY(s->main.status);
  SN_TRY(s->scalars.functions.status);
  SN_TRY(s->declared.status);
  add_bindings(s, &all);
  sn_text_add(&all, "%s\n", s->declared.data ? s->declared.data : "");
  add_helpers(s, &all);
  sn_text_add(&all, "%s", s->scalars.functions.data ? s->scalars.functions.data : "");
  sn_text_add(&all,
              "@compute @workgroup_size(%u, %u)\n"
              "fn main(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(workgroup_id) "
              "group: vec3<u32>,\n"
              "        @builtin(local_invocation_index) local: u32) {\n%s}\n",
              s->threads[0], s->threads[1], s->main.data ? s->main.data : "");
  *text = all.data;
  return all.status;
}
