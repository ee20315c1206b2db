/* shader_map.c - maps: a thread for each point, or for a few consecutive points. With several points per thread, elements
 * smaller than a word are stored as whole words; and a device with memory of its own has the highest bandwidth if threads read
 * and write fours of float32. */
#include "wgsl/shader.h"

enum { LEAST_FOURS = 8192 /* points: fewer keep a device busy only with a thread each */ };

/* Whether the operand's elements are contiguous over the whole space. */
static bool is_contiguous(const sn_group *g, const sn_operand *o) {
  int64_t run = 1;
  for (int i = g->space_rank - 1; i >= 0; run *= g->space[i--])
    if (g->space[i] > 1 && o->strides[i] != run) return false;
  return o->offset == 0;
}

/* How many elements of the smallest stored dtype make a word; 1 if none is smaller than a word; 0 if such elements are not
 * contiguous. */
static int64_t points_of_word(const sn_shader *s) {
  const sn_group *g = s->group;
  int64_t most = 1;
  for (uint32_t k = 0; k < g->n_stores; k++) {
    const sn_operand *to = &g->stores[k].target;
    const int64_t n = 4 / (int64_t)sn_dtype_bytes(to->dtype);
    if (n > 1 && !(is_contiguous(g, to) && sn_shader_is_whole(s, to->value))) return 0;
    if (n > most) most = n;
  }
  return most;
}

/* ---- fours of float32 -------------------------------------------------------------------------- */

static bool has_fours(const sn_shader *s) {
  const int64_t points = sn_group_points(s->group);
  return sn_shader_shared_bytes(s) > 0 && points % 4 == 0 && points >= LEAST_FOURS;
}

/* Whether the elements of any four points from a multiple of 4 on are one aligned four. */
static bool is_in_fours(const sn_group *g, const sn_operand *o) {
  if (is_contiguous(g, o)) return true;
  const int last = g->space_rank - 1;
  if (last < 0 || g->space[last] % 4 || o->strides[last] != 1 || o->offset % 4) return false;
  for (int i = 0; i < last; i++)
    if (g->space[i] > 1 && o->strides[i] % 4) return false;
  return true;
}

/* Makes the binding of an operand hold fours, if possible. Returns whether it does. */
static bool take_fours(sn_shader *s, const sn_operand *o) {
  if (o->value == SN_NONE || o->dtype != SN_F32 || sn_is_indexed(o) || !is_in_fours(s->group, o))
    return false;
  const uint32_t b = sn_shader_binding_of(s, o->value);
  if (b == SN_NONE || !sn_shader_is_whole(s, o->value) || s->bindings[b].bytes % 16) return false;
  if (s->elements[b] == SN_ELEMENT_F32) s->elements[b] = SN_ELEMENT_FOUR_F32;
  return s->elements[b] == SN_ELEMENT_FOUR_F32;
}

/* Whether some store to a binding is not in fours. */
static bool is_scattered(const sn_shader *s, uint32_t binding, const bool *stores) {
  for (uint32_t k = 0; k < s->group->n_stores; k++)
    if (!stores[k] && sn_shader_binding_of(s, s->group->stores[k].target.value) == binding)
      return true;
  return false;
}

static sn_status choose_fours(sn_shader *s, bool *stores) {
  const sn_group *g = s->group;
  bool *loads;
  for (uint32_t k = 0; k < g->n_stores; k++) stores[k] = take_fours(s, &g->stores[k].target);
  SN_TRY(sn_arena_alloc(s->arena, g->post.n_operands, sizeof *loads, (void **)&loads));
  for (uint32_t i = 0; i < g->post.n_operands; i++) {
    const sn_operand *o = &g->post.operands[i];
    loads[i] = o->value != SN_NONE && !is_scattered(s, sn_shader_binding_of(s, o->value), stores) &&
               take_fours(s, o);
  }
  s->fours = loads;
  return SN_OK;
}

/* The position of the element of the thread's first point. */
static const char *first_place(sn_shader *s, const sn_operand *o) {
  sn_text place = sn_text_in(s->arena);
  if (is_contiguous(s->group, o)) return "p";
  sn_shader_add_place(s, &place, o, s->group->space_rank);
  return sn_shader_text(s, &place);
}

/* Declares four<operand>, the elements of the thread's four points. */
static void load_fours(sn_shader *s) {
  const sn_group *g = s->group;
  sn_shader_split(s, "p", g->space, g->space_rank, 'i');
  for (uint32_t i = 0; i < g->post.n_operands; i++) {
    const sn_operand *o = &g->post.operands[i];
    if (s->fours[i])
      sn_shader_line(s, "let four%u = b%u[(%s) >> 2u];", i, sn_shader_binding_of(s, o->value),
                     first_place(s, o));
  }
}

/* ---- several points --------------------------------------------------------------------------- */

static bool is_packed(const sn_store *store, int64_t each) {
  return each > 1 && sn_dtype_bytes(store->target.dtype) < 4;
}

/* Puts the element of point s into its word, words<k>. */
static void pack(sn_shader *s, const sn_store *store, uint32_t k) {
  const sn_dtype dtype = store->target.dtype;
  sn_text name = sn_text_in(s->arena), bits = name;
  sn_shader_add_name(s, &name, &s->group->post, store->insn, 'v');
  sn_text_add(&bits, sn_shader_bits(dtype), sn_shader_text(s, &name));
  if (sn_dtype_bytes(dtype) == 2)
    sn_shader_line(s, "words%u[s >> 1u] |= %s << (u32(s & 1) * 16u);", k, sn_shader_text(s, &bits));
  else
    sn_shader_line(s, "words%u[0] |= %s << (u32(s) * 8u);", k, sn_shader_text(s, &bits));
}

static void keep_four(sn_shader *s, const sn_store *store, uint32_t k) {
  sn_text name = sn_text_in(s->arena);
  sn_shader_add_name(s, &name, &s->group->post, store->insn, 'v');
  sn_shader_line(s, "stored%u[s] = %s;", k, sn_shader_text(s, &name));
}

/* A thread with `each` points, in a loop. It is short enough for drivers to unroll, and then each four is loaded once. */
static sn_status several_points(sn_shader *s, int64_t each) {
  const sn_group *g = s->group;
  const int64_t points = sn_group_points(g);
  uint8_t *wanted;
  bool *fours;
  SN_TRY(sn_arena_alloc(s->arena, g->n_stores, sizeof *fours, (void **)&fours));
  if (has_fours(s)) SN_TRY(choose_fours(s, fours));
  SN_TRY(sn_arena_alloc(s->arena, g->post.n_insns, 1, (void **)&wanted));
  sn_shader_thread_per_point(s, points, each);
  for (uint32_t k = 0; k < g->n_stores; k++) {
    wanted[g->stores[k].insn] = 1;
    if (is_packed(&g->stores[k], each)) sn_shader_line(s, "var words%u: array<u32, 2>;", k);
    if (fours[k]) sn_shader_line(s, "var stored%u: vec4<f32>;", k);
  }
  if (s->fours) load_fours(s);
  sn_shader_line(s, "for (var s = 0; s < %lld; s++) {", (long long)each);
  sn_shader_line(s, "let q = p + s;");
  if (points % each) sn_shader_line(s, "if (q >= %lld) { break; }", (long long)points);
  sn_shader_split(s, "q", g->space, g->space_rank, 'i');
  SN_TRY(sn_shader_body(s, &g->post, wanted, g->space_rank, 'v'));
  for (uint32_t k = 0; k < g->n_stores; k++) {
    if (is_packed(&g->stores[k], each))
      pack(s, &g->stores[k], k);
    else if (fours[k])
      keep_four(s, &g->stores[k], k);
    else
      SN_TRY(sn_shader_stores(s, &g->post, &g->stores[k], 1, g->space_rank, 'v'));
  }
  sn_shader_line(s, "}");
  for (uint32_t k = 0; k < g->n_stores; k++) {
    const uint32_t b = sn_shader_binding_of(s, g->stores[k].target.value);
    if (fours[k]) /* behind the loop the indices' names are those of the first point again */
      sn_shader_line(s, "b%u[(%s) >> 2u] = stored%u;", b, first_place(s, &g->stores[k].target), k);
    if (!is_packed(&g->stores[k], each)) continue;
    const int64_t per_word = 4 / (int64_t)sn_dtype_bytes(g->stores[k].target.dtype);
    sn_shader_line(s, "b%u[p / %lld] = words%u[0];", b, (long long)per_word, k);
    if (each > per_word)
      sn_shader_line(s, "if (p + %lld < %lld) { b%u[p / %lld + 1] = words%u[1]; }",
                     (long long)per_word, (long long)points, b, (long long)per_word, k);
  }
  return s->status;
}

/* How many points a thread has. */
static int64_t points_of_thread(const sn_shader *s) {
  const int64_t of_word = points_of_word(s);
  return !of_word ? 1 : has_fours(s) ? 4 : of_word;
}

sn_status sn_shader_map(sn_shader *s) {
  const sn_group *g = s->group;
  const int64_t each = points_of_thread(s);
  if (each > 1) return several_points(s, each);
  sn_shader_stores_small(s, g->stores, g->n_stores);
  sn_shader_thread_per_point(s, sn_group_points(g), 1);
  sn_shader_split(s, "p", g->space, g->space_rank, 'i');
  return sn_shader_post(s);
}
