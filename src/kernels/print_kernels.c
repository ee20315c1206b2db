/* print_kernels.c - what a kernel will do, as text (SINTER_DEBUG=4): its stages, how each operand
 * is accessed, and the strip program op by op. */
#include "base/text.h"
#include "kernels/kernel.h"

static void print_operands(sn_text *t, const char *what, const sn_vm_operand *list, uint32_t n) {
  static const char *const access[] = {"linear", "single", "strided", "lookup", "index"};
  for (uint32_t i = 0; i < n; i++) {
    sn_text_add(t, "    %s s%u %s", what, list[i].slot, access[list[i].access]);
    if (list[i].at.value != SN_NONE) sn_text_add(t, " b%u", list[i].at.value);
    sn_text_add(t, " %s\n", sn_dtype_name(list[i].at.dtype));
  }
}

static void print_code(sn_text *t, const char *part, const sn_vm_code *code, const sn_body *body) {
  sn_text_add(t, "  %s: %zu bytes of strips\n", part, code->worker_bytes);
  print_operands(t, "load ", code->loads, code->n_loads);
  for (uint32_t i = 0; i < code->n_consts; i++)
    sn_text_add(t, "    const s%u %.9g\n", code->consts[i].slot, code->consts[i].value);
  for (uint32_t i = 0; i < code->n_totals; i++)
    sn_text_add(t, "    total%u s%u\n", code->totals[i].number, code->totals[i].slot);
  for (uint32_t i = 0; i < code->n_reads; i++)
    sn_text_add(t, "    kept%u s%u\n", code->reads[i].slot, code->reads[i].insn);
  for (uint32_t i = 0; i < code->n_ops; i++) {
    const sn_insn *insn = &body->insns[code->ops[i].dst];
    sn_text_add(t, "    s%u = %s", code->ops[i].dst, sn_op_describe(insn->op)->name);
    for (uint32_t k = 0; k < insn->n_args; k++) sn_text_add(t, " s%u", insn->args[k]);
    sn_text_add(t, "\n");
  }
  print_operands(t, "store", code->stores, code->n_stores);
}

void sn_kernel_print(sn_text *t, size_t number, const sn_kernel *k) {
  sn_text_add(t, "k%zu %s", number, k->group->name);
  for (int s = 0; s < k->n_stages; s++)
    sn_text_add(t, "%s%lld units", s ? ", then " : ": ", (long long)k->stages[s].units);
  sn_text_add(t, ", %zu bytes a worker, %zu shared\n", k->worker_bytes, k->shared_bytes);
  if (k->group->kind == SN_GROUP_CHAIN)
    sn_text_add(t, "  blocks of %lld rows\n", (long long)k->schedule.block);
  if (k->prologue) sn_kernel_print(t, number, k->prologue);
  for (uint32_t m = 0; m < k->n_members; m++) sn_kernel_print(t, number, &k->members[m]);
  const sn_group_kind kind = k->group->kind;
  if (kind == SN_GROUP_CALL || kind == SN_GROUP_CHAIN || kind == SN_GROUP_CONTROL) return;
  for (uint32_t p = 0; p < sn_group_phases(k->group); p++)
    print_code(t, "phase", &k->phases[p], &k->group->row.phases[p].body);
  if (k->group->kind == SN_GROUP_CONTRACTION)
    sn_text_add(
        t, "  product %lld x %lld x %lld, %lld tiles of %lld x %lld, %lld segments, kc %lld%s\n",
        (long long)k->product->gemm.m, (long long)k->product->gemm.n, (long long)k->product->gemm.k,
        (long long)k->product->gemm.tasks, (long long)k->product->gemm.left.block,
        (long long)k->product->gemm.right.block, (long long)k->product->gemm.segments,
        (long long)k->product->gemm.kc,
        k->product->gemm.direct ? ", direct"
        : k->packed.wanted      ? ", keeps B"
                                : "");
  print_code(t, "strips", &k->post, &k->group->post);
}

/* The name of what made the kernel's code; NULL if it has none. */
static const char *engine_of(const sn_kernel *kernel) {
  const sn_code *c = &kernel->code;
  const char *engine = NULL;
  switch (kernel->group->kind) {
  case SN_GROUP_MAP: return c->strip ? c->engine : NULL;
  case SN_GROUP_REDUCE: return c->fold || c->columns ? c->engine : NULL;
  case SN_GROUP_ROW: return c->rows ? c->engine : NULL;
  case SN_GROUP_CONTRACTION: return kernel->gemm_run_time ? "jit" : NULL;
  case SN_GROUP_CONTROL: return "jit";
  default: break;
  }
  for (uint32_t m = 0; m < kernel->n_members && !engine; m++)
    engine = engine_of(&kernel->members[m]);
  return engine;
}

const char *sn_kernel_engine(const sn_kernel *kernel, bool code) {
  const char *engine = code ? engine_of(kernel) : NULL;
  if (engine) return engine;
  switch (kernel->group->kind) {
  case SN_GROUP_MAP:
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: return "vm";
  case SN_GROUP_CHAIN: return sn_kernel_engine(&kernel->members[kernel->n_members - 1], false);
  default: return "ready";
  }
}
