/* cpu_target.c - the numbers of the CPU, and tiny ones for the hostile build. */
#include "kernels/fold.h"
#include "kernels/gemm_plan.h"
#include "kernels/machine.h"

const sn_target sn_cpu_target = {
    .name = "cpu",
    .limits = {.dtypes = ~0u,
               .nodes = 256,
               .scalar_nodes = 20000,
               .operands = 160,
               .buffers = SN_NO_LIMIT,
               .local_bytes = INT64_MAX,
               .store_bytes = 1,
               .alignment = 64},
    .costs = {.tiny_product = SN_GEMM_TINY,
              .remade_terms = 256,
              .again_flops = 2,
              .kept_flops = 4,
              .load_flops = 8,
              .argument_flops = 4096,
              .byte_flops = 4,
              .added_terms = 8, /* for fewer, beginning and ending a reduction takes too long */
              .kernel_flops = 512,
              .scalar_elements = 8,        /* beyond that, vectors are faster */
              .row_points = SN_FOLD_BLOCK, /* a row is one block of the fold */
              .prologue_points = 4096,
              .row_unit = 8,
              .block_bytes = 256 * 1024, /* half of a second-level cache */
              .block_rows = 48,
              .least_rows = 16,
              .tasks = 16,
              .least_tasks = 8,
              .most_segments = 8,
              .worker_ns = 10000, /* waking one and waiting for it takes about a microsecond, and far more when the
                                     machine is busy */
              .chunk_ns = 10000,
#ifdef SINTER_TEST
              .remade_bytes = 4 * 1024,
              .copies = 4,
              .product_terms = 64,
              .gathered_row = 2,
              .lookup_row = 2,
              .pad_run = 1,
              .pad_row = 1,
              .chain_bytes = 4 * 1024,
              .chain_points = 1024,
              .segment_terms = 32,
              .segment_results = 400,
              .segment_work = 1e3,
              .product = {.left_bytes = 6144,
                          .right_bytes = 128,
                          .depth = 48,
                          .flatness = 10,
                          .task_flops = 2e4,
                          .shared_task_flops = 1e4,
                          .direct_task_flops = 2e3}},
#else
              .remade_bytes = 16 * 1024 * 1024,
              .copies = 16,
              .product_terms = 64 * 1024,
              .gathered_row = 16,
              .lookup_row = INT64_MAX, /* the VM looks up no faster than it gathers and reads a copy */
              .pad_run = 16,
              .pad_row = 512,
              .chain_bytes = 64 * 1024, /* fewer stay in a second-level cache without a chain, too */
              .chain_points = 256 * 1024,
              .segment_terms = 512,
              .segment_results = 65536,
              .segment_work = 1e6,
              .product = {.left_bytes = 384 * 1024, /* it is read once per right panel */
                          .right_bytes = 2048,
                          .depth = 512, /* the tile is streamed once per block of k */
                          .flatness = 10,
                          .task_flops = 6e6,
                          .shared_task_flops = 4e6,
                          .direct_task_flops = 5e5}},
#endif
};
