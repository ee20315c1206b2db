/* shader_map.c - maps: a thread for each point. Where elements smaller than a word are stored one after the other, a
 * thread has as many points as lie in a word, and stores that whole. */
#include "wgsl/shader.h"

/* Whether the points' elements lie one after the other from the first to the last. */
static bool is_contiguous(const sn_group *g, const sn_operand *o) {
  int64_t run = 1;
  for (int i = g->space_rank - 1; i >= 0; run *= g->space[i--])
    if (g->space[i] > 1 && o->strides[i] != run) return false;
  return o->offset == 0;
}

/* Elements of the smallest dtype that is stored in a word; 1 where none is smaller, or they lie apart. */
static int64_t points_of_thread(const sn_shader *s) {
  const sn_group *g = s->group;
  int64_t most = 1;
  for (uint32_t k = 0; k < g->n_stores; k++) {
    const sn_operand *to = &g->stores[k].target;
    const int64_t n = 4 / (int64_t)sn_dtype_bytes(to->dtype);
    if (n > 1 && !(is_contiguous(g, to) && sn_shader_is_whole(s, to->value))) return 1;
    if (n > most) most = n;
  }
  return most;
}

static bool is_packed(const sn_store *store, int64_t each) {
  return each > 1 && sn_dtype_bytes(store->target.dtype) < 4;
}

/* Puts a stored element into its word. */
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

static sn_status several_points(sn_shader *s, int64_t each) {
  const sn_group *g = s->group;
  const int64_t points = sn_group_points(g);
  uint8_t *wanted;
  SN_TRY(sn_arena_alloc(s->arena, g->post.n_insns, 1, (void **)&wanted));
  sn_shader_thread_per_point(s, points, each);
  for (uint32_t k = 0; k < g->n_stores; k++) {
    wanted[g->stores[k].insn] = 1;
    if (is_packed(&g->stores[k], each)) sn_shader_line(s, "var words%u: array<u32, 2>;", k);
  }
  sn_shader_line(s, "for (var s = 0; s < %lld; s++) {", (long long)each);
  sn_shader_line(s, "let q = p + s;");
  if (points % each) sn_shader_line(s, "if (q >= %lld) { break; }", (long long)points);
  sn_shader_split(s, "q", g->space, g->space_rank, 'i');
  SN_TRY(sn_shader_body(s, &g->post, wanted, g->space_rank, 'v'));
  for (uint32_t k = 0; k < g->n_stores; k++) {
    if (is_packed(&g->stores[k], each))
      pack(s, &g->stores[k], k);
    else
      SN_TRY(sn_shader_stores(s, &g->post, &g->stores[k], 1, g->space_rank, 'v'));
  }
  sn_shader_line(s, "}");
  for (uint32_t k = 0; k < g->n_stores; k++) {
    if (!is_packed(&g->stores[k], each)) continue;
    const uint32_t b = sn_shader_binding_of(s, g->stores[k].target.value);
    const int64_t per_word = 4 / (int64_t)sn_dtype_bytes(g->stores[k].target.dtype);
    sn_shader_line(s, "b%u[p / %lld] = words%u[0];", b, (long long)per_word, k);
    if (each > per_word)
      sn_shader_line(s, "if (p + %lld < %lld) { b%u[p / %lld + 1] = words%u[1]; }",
                     (long long)per_word, (long long)points, b, (long long)per_word, k);
  }
  return s->status;
}

sn_status sn_shader_map(sn_shader *s) {
  const sn_group *g = s->group;
  const int64_t each = points_of_thread(s);
  if (each > 1) return several_points(s, each);
  for (uint32_t k = 0; k < g->n_stores; k++)
    if (sn_dtype_bytes(g->stores[k].target.dtype) < 4)
      sn_shader_stores_bytes(s, g->stores[k].target.value);
  sn_shader_thread_per_point(s, sn_group_points(g), 1);
  sn_shader_split(s, "p", g->space, g->space_rank, 'i');
  return sn_shader_post(s);
}
