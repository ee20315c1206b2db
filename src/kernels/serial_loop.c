#include "kernels/serial_loop.h"

#include "kernels/kernel.h"

/* An assumed number of rounds of a while_loop within a loop. */
#define SOME_ROUNDS 16

static double work_of(const sn_group *g) {
  const double points = (double)(sn_group_points(g) * sn_group_reduced_points(g));
  return g->flops > points ? g->flops : points;
}

static double region_flops(const sn_serial_region *region);

static double control_flops(const sn_serial_control *c) {
  double flops = 0;
  for (uint32_t r = 0; r < c->control.n_regions; r++) flops += region_flops(&c->regions[r]);
  if (c->control.op == SN_OP_scan) return flops * (double)c->control.length;
  return c->control.op == SN_OP_while_loop ? flops * SOME_ROUNDS : flops;
}

static double region_flops(const sn_serial_region *region) {
  double flops = 1;
  for (size_t i = 0; i < region->groups->n_groups; i++)
    flops += region->controls[i] ? control_flops(region->controls[i])
                                 : work_of(&region->groups->groups[i]);
  return flops;
}

double sn_serial_round(const sn_serial_control *loop) {
  double flops = 0;
  for (uint32_t r = 0; r < loop->control.n_regions; r++) flops += region_flops(&loop->regions[r]);
  return flops;
}

/* Whether the product does not fuse multiply-adds, and has a single sum per element. */
static bool is_plain_product(const sn_kernel *kernel) {
  const sn_gemm *g = &kernel->product->gemm;
  if (g->a.bounds.guards || g->b.bounds.guards || g->a.small || g->b.small) return false;
  if (!g->m || !g->n || !g->k || g->dtype == SN_I32) return true;
  return g->direct && g->k <= g->sum;
}

static bool can_be_written_out(const sn_group *g, const sn_kernel *kernel) {
  if (g->limited) return false;
  switch (g->kind) {
  case SN_GROUP_MAP:
  case SN_GROUP_ROW: return true;
  case SN_GROUP_REDUCE: return !g->row.ends;
  case SN_GROUP_CONTRACTION: return is_plain_product(kernel);
  case SN_GROUP_CALL: return g->call.starts != NULL;
  default: return false;
  }
}

static bool suits(const sn_target *target, const sn_serial_region *region) {
  double work = 0, kernels = 1;
  for (size_t i = 0; i < region->groups->n_groups; i++) {
    const sn_serial_control *c = region->controls[i];
    for (uint32_t r = 0; c && r < c->control.n_regions; r++)
      if (!suits(target, &c->regions[r])) return false;
    if (c) continue;
    const sn_group *g = &region->groups->groups[i];
    if (!can_be_written_out(g, &region->kernels[i])) return false;
    work += work_of(g);
    if (sn_group_points(g) > 1 || g->reduced_rank) kernels++;
  }
  return work <= kernels * target->costs.kernel_flops || kernels == 1;
}

static size_t value_bytes(const sn_groups *groups, const sn_operand *whole) {
  return (sn_type_bytes(&groups->values[whole->value].type) + 15) & ~(size_t)15;
}

static size_t region_stacks(const sn_serial_region *region) {
  size_t bytes = 0;
  for (size_t i = 0; i < region->groups->n_groups; i++) {
    const sn_serial_control *c = region->controls[i];
    if (!c) continue;
    bytes += sn_serial_stacks(c);
    const sn_group *g = c->group;
    if (c->control.op != SN_OP_scan) continue;
    for (size_t k = 0; k < c->control.n_stacks; k++)
      bytes += value_bytes(region->groups, &g->control.operands[c->control.n_carries + k]);
    for (uint32_t k = 0; k < g->n_stores; k++)
      bytes += value_bytes(region->groups, &g->stores[k].target);
  }
  return bytes;
}

size_t sn_serial_stacks(const sn_serial_control *loop) {
  size_t bytes = 0;
  for (uint32_t r = 0; r < loop->control.n_regions; r++) bytes += region_stacks(&loop->regions[r]);
  return bytes;
}

/* The stacks of inner loops have to stay in a cache, too. */
bool sn_serial_suits(const sn_target *target, const sn_serial_control *loop) {
  for (uint32_t r = 0; r < loop->control.n_regions; r++)
    if (!suits(target, &loop->regions[r])) return false;
  return loop->control.op != SN_OP_cond && sn_serial_stacks(loop) <= target->costs.block_bytes;
}
