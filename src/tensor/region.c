#include "tensor/region.h"

#include "graph/attributes.h"

sn_status sn_region_new(sn_env *env, const sn_graph *graph, sn_region **out) {
  sn_region *region;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof *region, (void **)&region));
  region->refs = 1;
  sn_arena_init(&region->arena, env);
  const sn_status status = sn_graph_copy(graph, &region->arena, &region->graph);
  if (status) {
    sn_region_release(region);
    return status;
  }
  *out = region;
  return SN_OK;
}

void sn_region_release(sn_region *region) {
  if (!region || --region->refs) return;
  sn_env *env = region->arena.env;
  sn_arena_free(&region->arena);
  sn_free(env, region, sizeof *region);
}

/* The number of attributes that are regions; these come first. */
static size_t count_regions(sn_op op) {
  size_t n = 0;
  const sn_attr *attr = sn_op_describe(op)->attrs;
  while (attr && attr[n].kind == SN_ATTR_REGION) n++;
  return n;
}

void sn_regions_retain(sn_op op, const int64_t *attrs) {
  for (size_t r = 0; r < count_regions(op); r++) sn_attr_region(attrs[r])->refs++;
}

void sn_regions_release(sn_op op, const int64_t *attrs) {
  for (size_t r = 0; r < count_regions(op); r++) sn_region_release(sn_attr_region(attrs[r]));
}

sn_status sn_regions_number(sn_graph *graph, sn_op op, const int64_t *attrs, size_t n_attrs,
                            int64_t numbered[SN_MAX_ATTRS]) {
  const size_t n = count_regions(op);
  memcpy(numbered, attrs, n_attrs * sizeof *attrs);
  for (size_t r = 0; r < n; r++)
    SN_TRY(sn_graph_add_region(graph, &sn_attr_region(attrs[r])->graph, &numbered[r]));
  return SN_OK;
}

sn_control sn_region_control(sn_op op, const int64_t *attrs, size_t n_inputs) {
  const sn_graph *regions[SN_MAX_REGIONS] = {NULL};
  for (size_t r = 0; r < count_regions(op); r++) regions[r] = &sn_attr_region(attrs[r])->graph;
  return sn_control_of(op, attrs, n_inputs, regions);
}
