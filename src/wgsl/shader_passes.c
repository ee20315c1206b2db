/* shader_passes.c - ops along an axis that take several shaders, since a thread per line would leave the device idle, or
 * occupy it for so long that the driver's watchdog resets it. What one shader hands to the next is in a buffer beside the
 * program's memory (SN_PARTS).
 *
 *   sort      writes the numbers 0, 1, .. of a line's elements; a bitonic network sorts these by the elements, with a shader
 *             for each of its columns, all with the same text; then elements go where the numbers say. Ties are broken by the
 *             number, so no two are equal, and any network gives the same, stable result.
 *   cumsum    a thread for each chunk of a line adds it up; a thread for each line adds up the chunks; then each chunk goes on
 *   cumprod   from where the one before it ends. (Not products of float32: that of a chunk may overflow where no product from
 *             the beginning does.)
 *   scatter   if few lines have many updates, these are sorted by their positions, stably; then a thread for each element of
 *             the result finds its own updates by bisection. Else the input is copied, with a thread for each element, before
 *             a thread for each line writes the updates. Either way an element's updates come one after the other, as on
 *             the CPU.
 */
#include "base/format.h"
#include "wgsl/shader.h"

enum {
  LONG_SORT =
      8192, /* least elements of a line; in shorter ones each counts those before it (shader_call.c) */
  LONG_SCAN = 1024,
  LONG_COPY = 1024,
  MANY_UPDATES = 1024,
  FEW_LINES = 256, /* from so many lines on, a thread per line suffices for scatters */
  MOST_LINES =
      16384, /* from so many lines on, a thread per line keeps any device busy with scans */
  NAME = 128
};

/* ---- which ops take several shaders ----------------------------------------------------------- */

static int log2_of(int64_t n) {
  int log = 0;
  while ((int64_t)1 << log < n) log++;
  return log;
}

static bool is_scatter(const sn_group *g) {
  return sn_op_describe(g->call.op)->kind == SN_CLASS_SCATTER;
}

/* How many things of a line are sorted: elements, or updates of a scatter. */
static int64_t sorted_of(const sn_group *g) {
  return is_scatter(g) ? g->call.lengths[1] : g->call.length;
}

/* Places per line in the network, a power of two; and columns of the network, each of which is a shader. */
static int64_t width_of(const sn_group *g) { return (int64_t)1 << log2_of(sorted_of(g)); }

static int columns_of(const sn_group *g) {
  const int n = log2_of(sorted_of(g));
  return n * (n + 1) / 2;
}

static int64_t chunk_of(const sn_group *g) {
  return (int64_t)1 << (log2_of(g->call.length) + 1) /
                           2; /* about sqrt(length): as many chunks as elements in each */
}

static int64_t chunks_of(const sn_group *g) {
  return (g->call.length + chunk_of(g) - 1) / chunk_of(g);
}

static bool scans_in_chunks(const sn_group *g) {
  const sn_dtype dtype = g->stores[0].target.dtype;
  const bool adds = g->call.op == SN_OP_cumsum && (dtype == SN_F32 || dtype == SN_I32);
  const bool multiplies = g->call.op == SN_OP_cumprod && dtype == SN_I32;
  return (adds || multiplies) && g->call.length >= LONG_SCAN && sn_group_points(g) < MOST_LINES;
}

static bool sorts_updates(const sn_shader *s) {
  const sn_group *g = s->group;
  return sorted_of(g) >= MANY_UPDATES && sn_group_points(g) < FEW_LINES &&
         sn_shader_can_bind_parts(s);
}

static bool copies_first(const sn_shader *s) {
  const sn_group *g = s->group;
  const uint32_t from = sn_shader_binding_of(s, g->call.operands[0].value);
  return g->call.length * sn_group_points(g) >= LONG_COPY &&
         from != sn_shader_binding_of(s, g->stores[0].target.value);
}

int sn_shader_passes(const sn_shader *s) {
  const sn_group *g = s->group;
  if (g->kind != SN_GROUP_CALL) return 1;
  switch (sn_op_describe(g->call.op)->kind) {
  case SN_CLASS_SORT:
    return sorted_of(g) >= LONG_SORT && sn_shader_can_bind_parts(s) ? columns_of(g) + 2 : 1;
  case SN_CLASS_SCAN: return scans_in_chunks(g) && sn_shader_can_bind_parts(s) ? 3 : 1;
  case SN_CLASS_SCATTER: return sorts_updates(s) ? columns_of(g) + 2 : copies_first(s) ? 2 : 1;
  default: return 1;
  }
}

/* ---- sort ------------------------------------------------------------------------------------- */

/* Binds `per_line` words for each line. Returns their binding. */
static uint32_t bind_parts(sn_shader *s, int64_t per_line, sn_dtype dtype) {
  return sn_shader_bind_parts(s, sn_group_points(s->group) * per_line, dtype);
}

/* A column of the network: the size of the blocks that it merges, and the distance of the places that it compares. */
static void column_of(int column, uint32_t *block, uint32_t *apart) {
  int log = 1;
  while (column >= log) column -= log++;
  *block = 1u << log;
  *apart = 1u << (log - 1 - column);
}

/* An expression for the position that an update is for. */
static const char *position_of(sn_shader *s, const char *update) {
  sn_text t = sn_text_in(s->arena);
  sn_text_add(&t, "position_of(%s, %lld)", sn_shader_call_element(s, 1, update),
              (long long)s->group->call.length);
  return sn_shader_text(s, &t);
}

/* swaps = whether element b of a line goes before element a. */
static void add_test(sn_shader *s) {
  if (is_scatter(s->group)) {
    sn_shader_line(s, "let x = %s;", position_of(s, "a"));
    sn_shader_line(s, "let z = %s;", position_of(s, "b"));
    sn_shader_line(s, "swaps = z < x || (b < a && z == x);");
    return;
  }
  sn_shader_line(s, "let x = %s;", sn_shader_call_element(s, 0, "a"));
  sn_shader_line(s, "let z = %s;", sn_shader_call_element(s, 0, "b"));
  sn_shader_line(s, "swaps = precedes(z, x) || (b < a && !precedes(x, z));");
}

static sn_status compare(sn_shader *s, uint32_t b, int column) {
  const sn_group *g = s->group;
  const long long width = width_of(g), length = sorted_of(g);
  sn_text block = sn_text_in(s->arena), apart = block;
  uint32_t sizes[2];
  column_of(column, &sizes[0], &sizes[1]);
  sn_scalar_text_add_constant(&s->scalars, &block, sizes[0]);
  sn_scalar_text_add_constant(&s->scalars, &apart, sizes[1]);
  if (!is_scatter(g)) sn_shader_add_precedes(s);
  sn_shader_thread_per_point(s, sn_group_points(g) * (width / 2), 1);
  sn_shader_line(s, "let block = i32(%s); let apart = i32(%s);", sn_shader_text(s, &block),
                 sn_shader_text(s, &apart));
  sn_shader_line(s, "let q = p / %lld; let pair = p %% %lld;", width / 2, width / 2);
  sn_shader_split(s, "q", g->space, g->space_rank, 'i');
  sn_shader_line(s, "let low = pair / apart * 2 * apart + pair %% apart;");
  sn_shader_line(s, "let here = q * %lld + low;", width);
  sn_shader_line(s, "let a = b%u[here]; let b = b%u[here + apart];", b, b);
  sn_shader_line(
      s, "var swaps = b < a;"); /* numbers behind the end of the line stay behind all others */
  sn_shader_line(s, "if (a < %lld && b < %lld) {", length, length);
  add_test(s);
  sn_shader_line(s, "}");
  sn_shader_line(s, "if (swaps == ((low & block) == 0)) {");
  sn_shader_line(s, "b%u[here] = b; b%u[here + apart] = a;", b, b);
  sn_shader_line(s, "}");
  return s->status;
}

/* Pass 0 writes the numbers 0, 1, .. of a line's elements; a later pass is a column of the network. */
static sn_status sort_numbers(sn_shader *s, uint32_t b, int pass) {
  const int64_t width = width_of(s->group);
  if (pass > 0) return compare(s, b, pass - 1);
  sn_shader_thread_per_point(s, sn_group_points(s->group) * width, 1);
  sn_shader_line(s, "b%u[p] = p %% %lld;", b, (long long)width);
  return s->status;
}

static sn_status sort(sn_shader *s, int pass, int passes) {
  const sn_group *g = s->group;
  const uint32_t b = bind_parts(s, width_of(g), SN_I32);
  if (pass < passes - 1) return sort_numbers(s, b, pass);
  sn_shader_call_open_elements(s, g->call.length);
  sn_shader_line(s, "let source = b%u[q * %lld + j];", b, (long long)width_of(g));
  sn_shader_call_store(
      s, "j", g->call.op == SN_OP_argsort ? "source" : sn_shader_call_element(s, 0, "source"));
  return s->status;
}

/* ---- scatter ---------------------------------------------------------------------------------- */

/* state = state combined with update `at`. */
static sn_status add_update(sn_shader *s) {
  const sn_dtype dtype = s->group->stores[0].target.dtype;
  const sn_op step = sn_op_describe(s->group->call.op)->step;
  const char *args[] = {"state", "update"};
  sn_text e = sn_text_in(s->arena);
  if (step == SN_OP_NONE)
    sn_text_add(&e, "update");
  else
    SN_TRY(sn_scalar_text_add_op(&s->scalars, &e, step, dtype, dtype, args, 2));
  sn_shader_line(s, "let update = %s;", sn_shader_call_element(s, 2, "at"));
  sn_shader_line(s, "state = %s;", sn_shader_text(s, &e));
  return s->status;
}

/* A thread for each element takes its updates: from the first one for it, found by bisection, to the last. */
static sn_status gather_updates(sn_shader *s, uint32_t b) {
  const sn_group *g = s->group;
  const long long width = width_of(g), updates = sorted_of(g);
  sn_shader_call_open_elements(s, g->call.length);
  sn_shader_line(s, "var low = 0; var high = %lld;", updates);
  sn_shader_line(s, "while (low < high) {");
  sn_shader_line(s, "let middle = (low + high) / 2;");
  sn_shader_line(s, "let at = b%u[q * %lld + middle];", b, width);
  sn_shader_line(s, "let is_before = %s < j;", position_of(s, "at"));
  sn_shader_line(s, "low = select(low, middle + 1, is_before);");
  sn_shader_line(s, "high = select(middle, high, is_before);");
  sn_shader_line(s, "}");
  sn_shader_line(s, "var state = %s;", sn_shader_call_element(s, 0, "j"));
  sn_shader_line(s, "for (; low < %lld; low++) {", updates);
  sn_shader_line(s, "let at = b%u[q * %lld + low];", b, width);
  sn_shader_line(s, "if (%s != j) { break; }", position_of(s, "at"));
  SN_TRY(add_update(s));
  sn_shader_line(s, "}");
  sn_shader_call_store(s, "j", "state");
  return s->status;
}

static sn_status scatter(sn_shader *s, int pass, int passes) {
  if (sorts_updates(s)) {
    const uint32_t b = bind_parts(s, width_of(s->group), SN_I32);
    return pass < passes - 1 ? sort_numbers(s, b, pass) : gather_updates(s, b);
  }
  if (pass == 1) return sn_shader_scatter_updates(s);
  sn_shader_call_open_elements(s, s->group->call.length);
  sn_shader_call_store(s, "j", sn_shader_call_element(s, 0, "j"));
  return s->status;
}

/* ---- scans ------------------------------------------------------------------------------------ */

static sn_status advance(sn_shader *s, const char *state, const char *x) {
  const sn_dtype dtype = s->group->stores[0].target.dtype;
  const sn_op op = s->group->call.op == SN_OP_cumsum ? SN_OP_add : SN_OP_mul;
  sn_text e = sn_text_in(s->arena);
  SN_TRY(sn_scalar_text_add_op(&s->scalars, &e, op, dtype, dtype, (const char *[]){state, x}, 2));
  sn_shader_line(s, "state = %s;", sn_shader_text(s, &e));
  return SN_OK;
}

/* A thread for each chunk: stores its total, or, is_last, the results in it from its start value on. */
static sn_status walk_chunks(sn_shader *s, uint32_t b, bool is_last) {
  const sn_group *g = s->group;
  const sn_call *r = &g->call;
  const char *type = sn_scalar_text_type(g->stores[0].target.dtype);
  const long long length = r->length, chunk = chunk_of(g);
  sn_shader_call_open_elements(s, chunks_of(g));
  if (is_last)
    sn_shader_line(s, "var state = b%u[p];", b);
  else
    sn_shader_line(s, "var state = %s(%d);", type, r->op == SN_OP_cumprod);
  sn_shader_line(s, "let end = min((j + 1) * %lld, %lld);", chunk, length);
  sn_shader_line(s, "for (var step = j * %lld; step < end; step++) {", chunk);
  if (r->options[0])
    sn_shader_line(s, "let at = %lld - step;", length - 1);
  else
    sn_shader_line(s, "let at = step;");
  sn_shader_line(s, "let before = state;");
  SN_TRY(advance(s, "before", sn_shader_call_element(s, 0, "at")));
  if (is_last) sn_shader_call_store(s, "at", r->options[1] ? "before" : "state");
  sn_shader_line(s, "}");
  if (!is_last) sn_shader_line(s, "b%u[p] = state;", b);
  return s->status;
}

static sn_status scan(sn_shader *s, int pass) {
  const sn_group *g = s->group;
  const sn_dtype dtype = g->stores[0].target.dtype;
  const uint32_t b = bind_parts(s, chunks_of(g), dtype);
  if (pass != 1) return walk_chunks(s, b, pass == 2);
  sn_shader_thread_per_point(s, sn_group_points(g), 1);
  sn_shader_line(s, "var state = %s(%d);", sn_scalar_text_type(dtype), g->call.op == SN_OP_cumprod);
  sn_shader_line(s, "for (var i = p * %lld; i < (p + 1) * %lld; i++) {", (long long)chunks_of(g),
                 (long long)chunks_of(g));
  sn_shader_line(s, "let own = b%u[i];", b);
  sn_shader_line(s, "b%u[i] = state;", b);
  SN_TRY(advance(s, "state", "own"));
  sn_shader_line(s, "}");
  return s->status;
}

/* ---- all -------------------------------------------------------------------------------------- */

sn_status sn_shader_pass(sn_shader *s, int pass, int passes) {
  const sn_group *g = s->group;
  const sn_operand *y = &g->stores[0].target;
  const bool writes = pass == passes - 1 || sn_op_describe(g->call.op)->kind == SN_CLASS_SCATTER;
  if (writes && sn_dtype_bytes(y->dtype) < 4) sn_shader_stores_bytes(s, y->value);
  switch (sn_op_describe(g->call.op)->kind) {
  case SN_CLASS_SORT: return sort(s, pass, passes);
  case SN_CLASS_SCAN: return scan(s, pass);
  default: return scatter(s, pass, passes);
  }
}
