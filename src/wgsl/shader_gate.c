/* shader_gate.c - the shaders that control flow needs besides those of its regions: copies of carries, and gates. A gate is a
 * flag, with the numbers of workgroups of the dispatches behind it. If it is closed, these are 0, so the device need not ask
 * the host which branch to take, or whether a loop goes on. The gates of a program are in a buffer that the host makes:
 *
 *   [ 1 | flag of gate 1 | flag of gate 2 | ... | per dispatch: x, y, z now | x, y, z when it is open | ... ]
 *
 * Invariant: a gate is open only if the one around it is. */
#include "wgsl/shader.h"

sn_status sn_shader_copy(sn_shader *s, const sn_place_of *from, const sn_place_of *to,
                         sn_dtype dtype, int64_t count) {
  const sn_dtype as = sn_dtype_bytes(dtype) == 4 ? SN_I32 : dtype; /* copies bits */
  const uint32_t a = sn_shader_bind(s, from, as, false), b = sn_shader_bind(s, to, as, true);
  SN_TRY(s->status);
  if (sn_dtype_bytes(dtype) < 4) s->elements[b] = SN_ELEMENT_ATOMIC;
  sn_text element = sn_text_in(s->arena);
  sn_shader_thread_per_point(s, count, 1);
  sn_shader_add_bound(s, &element, a, from, as, "p");
  sn_shader_store_bound(s, b, to, as, "p", sn_shader_text(s, &element));
  return s->status;
}

sn_status sn_shader_gate(sn_shader *s, const sn_place_of *test, bool opens_if) {
  const sn_place_of gates = {.buffer = SN_GATES, .bytes = 4};
  const uint32_t words = sizeof(sn_gate_words) / sizeof(uint32_t);
  const uint32_t a = sn_shader_bind(s, test, SN_BOOL, false),
                 b = sn_shader_bind(s, &gates, SN_U8, true);
  SN_TRY(s->status);
  SN_TRY(sn_arena_alloc(s->arena, words, sizeof(uint32_t), (void **)&s->scalars.constants));
  s->scalars.n_constants = s->scalars.cap_constants = words;
  s->threads[0] = 1;
  sn_text element = sn_text_in(s->arena);
  sn_shader_add_bound(s, &element, a, test, SN_BOOL, "0");
  sn_shader_line(s, "let open = b%u[c[0].y] != 0u && %s%s;", b, opens_if ? "" : "!",
                 sn_shader_text(s, &element));
  sn_shader_line(s, "b%u[c[0].x] = select(0u, 1u, open);", b);
  sn_shader_line(s, "for (var i = 0u; i < c[0].w; i++) {");
  sn_shader_line(s, "let at = c[0].z + 6u * i;");
  sn_shader_line(s, "for (var k = at; k < at + 3u; k++) {");
  sn_shader_line(s, "b%u[k] = select(0u, b%u[k + 3u], open);", b, b);
  sn_shader_line(s, "}");
  sn_shader_line(s, "}");
  return s->status;
}
