#include "program/saved.h"

#include "program/stream.h"

#define FORMAT 6u
#define VERSION_BYTES 16
#define HEAD_BYTES (8 + 4 + VERSION_BYTES + 3 * 8)

static const char magic[8] = "\x89sinter\n";

/* ---- contents -------------------------------------------------------------------------------- */

static void stream_type(sn_stream *s, sn_type *type) {
  uint32_t dtype = type->dtype, rank = (uint32_t)type->rank;
  sn_stream_u32(s, &dtype);
  sn_stream_u32(s, &rank);
  sn_stream_expect(s, dtype < SN_DTYPES, "there is no such dtype");
  sn_stream_expect(s, rank <= SN_MAX_RANK, "a rank is too high");
  if (!sn_stream_is_well(s)) return;
  type->dtype = (sn_dtype)dtype;
  type->rank = (int32_t)rank;
  for (uint32_t i = 0; i < rank; i++) sn_stream_i64(s, &type->dims[i]);
}

/* *inputs, *attrs: how many the nodes before this one have, which is where this node's begin. */
static void stream_node(sn_stream *s, sn_node *node, uint64_t *inputs, uint64_t *attrs) {
  uint32_t op = node->op;
  sn_stream_u32(s, &op);
  sn_stream_u32(s, &node->n_inputs);
  sn_stream_u32(s, &node->n_attrs);
  sn_stream_expect(s, op < SN_OP_COUNT, "there is no such op");
  stream_type(s, &node->type);
  if (!sn_stream_is_well(s)) return;
  node->op = (sn_op)op;
  if (s->reads) {
    node->first_input = (uint32_t)*inputs;
    node->first_attr = (uint32_t)*attrs;
  }
  *inputs += node->n_inputs;
  *attrs += node->n_attrs;
}

static void stream_regions(sn_stream *s, sn_graph *g, int depth);

static void stream_graph(sn_stream *s, sn_graph *g, int depth) {
  enum { NODE = 5 * sizeof(uint32_t), ID = sizeof(uint32_t), ATTR = sizeof(int64_t) };
  uint64_t inputs = 0, attrs = 0;
  sn_stream_array(s, &g->n_nodes, NODE, (void **)&g->nodes, sizeof *g->nodes);
  for (size_t i = 0; i < g->n_nodes; i++) stream_node(s, &g->nodes[i], &inputs, &attrs);
  sn_stream_array(s, &g->n_edges, ID, (void **)&g->edges, sizeof *g->edges);
  for (size_t i = 0; i < g->n_edges; i++) sn_stream_u32(s, &g->edges[i]);
  sn_stream_array(s, &g->n_attrs, ATTR, (void **)&g->attrs, sizeof *g->attrs);
  for (size_t i = 0; i < g->n_attrs; i++) sn_stream_i64(s, &g->attrs[i]);
  sn_stream_array(s, &g->n_outputs, ID, (void **)&g->outputs, sizeof *g->outputs);
  for (size_t i = 0; i < g->n_outputs; i++) sn_stream_u32(s, &g->outputs[i]);
  sn_stream_expect(s, inputs == g->n_edges && attrs == g->n_attrs, "nodes and lists differ");
  stream_regions(s, g, depth);
}

/* The regions of a graph, down to SN_MAX_NESTING levels. */
static void stream_regions(sn_stream *s, sn_graph *g, int depth) {
  enum { REGION = 6 * sizeof(uint64_t) };
  sn_stream_array(s, &g->n_regions, REGION, (void **)&g->regions, sizeof *g->regions);
  sn_stream_expect(s, !g->n_regions || depth < SN_MAX_NESTING, "regions nest too deep");
  if (s->reads) g->cap_regions = g->n_regions;
  for (size_t i = 0; i < g->n_regions && sn_stream_is_well(s); i++) {
    if (s->reads) {
      s->status = sn_arena_alloc(s->arena, 1, sizeof *g->regions[i], (void **)&g->regions[i]);
      if (s->status) return;
      *g->regions[i] = (sn_graph){.arena = s->arena, .env = s->arena->env};
    }
    sn_stream_size(s, &g->regions[i]->n_arguments);
    stream_graph(s, g->regions[i], depth + 1);
  }
}

static void check_type(sn_stream *s, const sn_type *type) {
  if (!sn_stream_is_well(s) || !s->reads) return;
  const bool holds = !sn_type_check(s->arena->env, type, "load");
  sn_stream_expect(s, holds, "an argument's shape is not one");
}

/* A training step: its numbers, the paths of all inputs, then the elements of the state and the rates. */
static void stream_step(sn_stream *s, sn_saved *saved) {
  sn_saved_step *step = &saved->step;
  uint32_t precision = step->precision;
  sn_stream_bool(s, &saved->is_step);
  if (!saved->is_step || !sn_stream_is_well(s)) return;
  sn_stream_bool(s, &step->deterministic);
  sn_stream_u32(s, &precision);
  sn_stream_expect(s, precision == SN_F32 || precision == SN_F16 || precision == SN_BF16,
                   "a step has no such precision");
  step->precision = (sn_dtype)precision;
  sn_stream_size(s, &step->n_state);
  sn_stream_size(s, &step->n_rates);
  const bool fits =
      step->n_state <= saved->n_inputs && step->n_rates <= saved->n_inputs - step->n_state;
  sn_stream_expect(s, fits, "a step has more state than inputs");
  if (!sn_stream_is_well(s)) return;
  const size_t n = step->n_state + step->n_rates;
  if (s->reads) {
    s->status =
        sn_arena_alloc(s->arena, saved->n_inputs, sizeof *step->paths, (void **)&step->paths);
    if (!s->status)
      s->status = sn_arena_alloc(s->arena, n, sizeof *step->values, (void **)&step->values);
  }
  for (size_t i = 0; i < saved->n_inputs && sn_stream_is_well(s); i++)
    sn_stream_text(s, &step->paths[i]);
  for (size_t i = 0; i < n && sn_stream_is_well(s); i++)
    sn_stream_block(s, &step->values[i], sn_type_bytes(&saved->types[i]));
}

static void stream_contents(sn_stream *s, sn_saved *saved) {
  enum { TYPE = 2 * sizeof(uint32_t) };
  size_t n = saved->n_inputs + saved->n_captured;
  sn_stream_bool(s, &saved->fusion);
  sn_stream_bool(s, &saved->jit);
  sn_stream_bool(s, &saved->excess);
  sn_stream_size(s, &saved->memory_budget);
  sn_stream_text(s, &saved->note);
  sn_stream_array(s, &saved->n_inputs, 1, (void **)&saved->donate, sizeof *saved->donate);
  for (size_t i = 0; i < saved->n_inputs; i++) sn_stream_bool(s, &saved->donate[i]);
  sn_stream_array(s, &n, TYPE, (void **)&saved->types, sizeof *saved->types);
  sn_stream_expect(s, n >= saved->n_inputs, "there are more inputs than arguments");
  for (size_t i = 0; i < n; i++) {
    stream_type(s, &saved->types[i]);
    check_type(s, &saved->types[i]);
  }
  if (!sn_stream_is_well(s)) return;
  saved->graph.n_arguments = n;
  saved->n_captured = n - saved->n_inputs;
  if (s->reads)
    s->status =
        sn_arena_alloc(s->arena, saved->n_captured, sizeof *saved->values, (void **)&saved->values);
  for (size_t i = 0; i < saved->n_captured; i++)
    sn_stream_block(s, &saved->values[i], sn_type_bytes(&saved->types[saved->n_inputs + i]));
  stream_graph(s, &saved->graph, 0);
  stream_step(s, saved);
}

/* ---- head ------------------------------------------------------------------------------------ */

static uint64_t vocabulary(void) {
  uint64_t hash = SN_STREAM_HASH;
  for (int op = 0; op < SN_OP_COUNT; op++) {
    const char *name = sn_op_describe((sn_op)op)->name;
    hash = sn_stream_hash(hash, name, strlen(name) + 1);
  }
  for (int dtype = 0; dtype < SN_DTYPES; dtype++) {
    const char *name = sn_dtype_name((sn_dtype)dtype);
    hash = sn_stream_hash(hash, name, strlen(name) + 1);
  }
  return hash;
}

typedef struct head {
  char magic[sizeof magic], version[VERSION_BYTES];
  uint32_t format;
  int64_t vocabulary, checksum;
  size_t size; /* of the contents */
} head;

static void stream_head(sn_stream *s, head *h) {
  sn_stream_bytes(s, h->magic, sizeof h->magic);
  sn_stream_u32(s, &h->format);
  sn_stream_bytes(s, h->version, sizeof h->version);
  sn_stream_i64(s, &h->vocabulary);
  sn_stream_size(s, &h->size);
  sn_stream_i64(s, &h->checksum);
}

static head head_of(const uint8_t *contents, size_t size) {
  head h = {.format = FORMAT, .version = SN_VERSION, .size = size};
  memcpy(h.magic, magic, sizeof magic);
  h.vocabulary = (int64_t)vocabulary();
  h.checksum = (int64_t)sn_stream_hash(SN_STREAM_HASH, contents, size);
  return h;
}

static sn_status check_head(sn_env *env, const uint8_t *bytes, size_t size) {
  sn_stream s = {.bytes = (uint8_t *)(uintptr_t)bytes, .size = size, .reads = true};
  head h = {.format = 0};
  stream_head(&s, &h);
  SN_FAIL_IF(env, s.wrong || memcmp(h.magic, magic, sizeof magic), SN_ERR_ARGUMENT, NULL,
             "these bytes are not a saved program");
  h.version[VERSION_BYTES - 1] = 0;
  SN_FAIL_IF(env, strcmp(h.version, SN_VERSION) || h.format != FORMAT, SN_ERR_ARGUMENT, NULL,
             "saved by version %s of Sinter, format %u; this is %s, format %u" SN_HINT
             "save it again with this one",
             h.version, h.format, SN_VERSION, FORMAT);
  SN_FAIL_IF(env, (uint64_t)h.vocabulary != vocabulary(), SN_ERR_ARGUMENT, NULL,
             "saved by a build of Sinter %s that has other ops" SN_HINT
             "save it again with this one",
             SN_VERSION);
  SN_FAIL_IF(env, h.size != size - HEAD_BYTES, SN_ERR_ARGUMENT, NULL,
             "damaged: %zu bytes are there of %zu", size - HEAD_BYTES, h.size);
  const uint64_t found = sn_stream_hash(SN_STREAM_HASH, bytes + HEAD_BYTES, size - HEAD_BYTES);
  SN_FAIL_IF(env, (uint64_t)h.checksum != found, SN_ERR_ARGUMENT, NULL,
             "damaged: the checksum does not fit");
  return SN_OK;
}

void sn_saved_write_head(void *bytes, size_t size) {
  if (size < HEAD_BYTES) return;
  head h = head_of((uint8_t *)bytes + HEAD_BYTES, size - HEAD_BYTES);
  sn_stream s = {.bytes = bytes, .size = HEAD_BYTES};
  stream_head(&s, &h);
}

/* ---- both directions ------------------------------------------------------------------------- */

/* The type of each input node must be that of its argument, which is what runs check values against. */
static sn_status check_inputs(const sn_saved *saved, sn_env *env) {
  const sn_graph *g = &saved->graph;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    if (node->op != SN_OP_input) continue;
    const sn_type *type = &saved->types[sn_graph_attrs(g, id)[0]];
    SN_FAIL_IF(env, !sn_type_equal(&node->type, type), SN_ERR_ARGUMENT, NULL,
               "an input has another type than its argument");
  }
  return SN_OK;
}

/* No two tensors of a state may have the same path. Uses a hash table of the paths so far, at most half full. */
static sn_status check_paths(const char *const *paths, size_t n, sn_arena *arena,
                             const char *what) {
  size_t room = 2, *table;
  while (room / 2 < n) room *= 2;
  SN_TRY(sn_arena_alloc(arena, room, sizeof *table, (void **)&table));
  for (size_t i = 0; i < n; i++) {
    const char *path = paths[i] ? paths[i] : "";
    size_t at = (size_t)sn_stream_hash(SN_STREAM_HASH, path, strlen(path)) % room;
    for (; table[at]; at = (at + 1) % room) {
      const char *other = paths[table[at] - 1] ? paths[table[at] - 1] : "";
      SN_FAIL_IF(arena->env, !strcmp(path, other), SN_ERR_ARGUMENT, what,
                 "two tensors of a state are called the same");
    }
    table[at] = i + 1;
  }
  return SN_OK;
}

/* The last results of a step must be the loss, a float scalar, and the next state, with the types of the state. what: the
 * operation that an error names. */
static sn_status check_step(const sn_saved *saved, sn_arena *arena, const char *what) {
  const sn_graph *g = &saved->graph;
  sn_env *env = arena->env;
  const size_t n = saved->step.n_state;
  if (!saved->is_step) return SN_OK;
  SN_TRY(check_paths(saved->step.paths, n, arena, what));
  SN_FAIL_IF(env, n >= g->n_outputs, SN_ERR_ARGUMENT, what, "a step has too few results");
  const sn_id *results = g->outputs + (g->n_outputs - n - 1);
  const sn_type *loss = &sn_graph_node(g, results[0])->type;
  SN_FAIL_IF(env, loss->rank || !sn_dtype_is_float(loss->dtype), SN_ERR_ARGUMENT, what,
             "the loss of a step is no number");
  for (size_t i = 0; i < n; i++)
    SN_FAIL_IF(env, !sn_type_equal(&sn_graph_node(g, results[1 + i])->type, &saved->types[i]),
               SN_ERR_ARGUMENT, what, "a step makes a state of another kind");
  return SN_OK;
}

sn_status sn_saved_write(sn_saved *saved, sn_arena *arena, const void **bytes, size_t *size) {
  SN_TRY(check_step(saved, arena, "step"));
  sn_stream count = {.at = HEAD_BYTES}, s = count;
  stream_contents(&count, saved);
  SN_TRY(sn_arena_alloc(arena, count.at, 1, (void **)&s.bytes));
  stream_contents(&s, saved);
  sn_saved_write_head(s.bytes, s.at);
  *bytes = s.bytes;
  *size = s.at;
  return SN_OK;
}

/* Builds *out by adding the nodes one by one, which infers their types and fills its hash table. */
static sn_status build_graph(const sn_graph *read, sn_graph *out) {
  for (sn_id id = 0; id < read->n_nodes; id++) {
    const sn_node *node = sn_graph_node(read, id);
    sn_id added;
    SN_TRY(sn_graph_add(out, node->op, sn_graph_inputs(read, id), node->n_inputs,
                        sn_graph_attrs(read, id), node->n_attrs, &node->type, &added));
  }
  out->outputs = read->outputs;
  out->n_outputs = read->n_outputs;
  out->n_arguments = read->n_arguments;
  out->regions = read->regions;
  out->n_regions = out->cap_regions = read->n_regions;
  return SN_OK;
}

/* Whether the graph is that of one of several processes. Such graphs are not saved: each process makes its own when it
 * loads the program. */
static bool is_of_several(const sn_graph *g) {
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_op op = g->nodes[id].op;
    if ((op == SN_OP_all_reduce || op == SN_OP_all_gather) && sn_graph_attrs(g, id)[1] != 1)
      return true;
  }
  for (size_t i = 0; i < g->n_regions; i++)
    if (is_of_several(g->regions[i])) return true;
  return false;
}

sn_status sn_saved_read(const void *bytes, size_t size, sn_arena *arena, sn_saved *out) {
  sn_env *env = arena->env;
  SN_TRY(check_head(env, bytes, size));
  sn_stream s = {.arena = arena,
                 .bytes = (uint8_t *)(uintptr_t)bytes,
                 .at = HEAD_BYTES,
                 .size = size,
                 .reads = true};
  *out = (sn_saved){.graph = {.arena = arena, .env = env}};
  stream_contents(&s, out);
  sn_stream_expect(&s, s.at == size, "they go on behind their end");
  SN_TRY(s.status);
  SN_FAIL_IF(env, s.wrong, SN_ERR_ARGUMENT, NULL, "damaged: %s", s.wrong);
  SN_TRY(sn_graph_verify(&out->graph));
  SN_FAIL_IF(env, is_of_several(&out->graph), SN_ERR_ARGUMENT, NULL,
             "it is what one of several processes runs");
  SN_TRY(check_inputs(out, env));
  SN_TRY(check_step(out, arena, NULL));
  const sn_graph read = out->graph;
  sn_graph_init(&out->graph, arena, false);
  return build_graph(&read, &out->graph);
}
