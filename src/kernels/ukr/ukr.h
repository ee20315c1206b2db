/* ukr.h - contract of the GEMM micro-kernels, and the table of those in this build.
 *
 *        B panel: k x NR, row by row                C(i, j) = sum over p of A(i, p) * B(p, j)
 *        +---- NR ----+
 *      k |            |     first:  C is written, never read (it may hold NaN or nothing)
 *        +------------+     else:   C(i, j) = C(i, j) + that sum
 *   A panel: k x MR, column of A by column of A
 *   +-- MR --+  ->  C: rows x NR, rows ldc elements apart, each row contiguous
 *
 *   order      every sum starts at +0 and takes its products in order of p, one rounding for each
 *              multiply and each add; fused kernels round once for both. So an element has the same
 *              bits in every unfused kernel, wherever in a tile it is. int32 wraps; its kernels
 *              count as not fused, as nothing is rounded
 *   alignment  a and b: 64 bytes at the start of the panel buffers, panels themselves need only the
 *              alignment of NR elements (b) or of one element (a); c: one element
 *   aliasing   none of a, b, c overlap
 *   edges      1 <= rows <= MR: C has only these rows of A's panel. The others may be read, but have
 *              no effect. Columns: panels are padded, and C has all NR columns
 *   k >= 0
 *
 * Bytes. In kernels for int8 and uint8, an element of 32 bits holds several terms (`together`), those of lower p in its lower
 * bits: 2 int16, or 4 bytes, which are uint8 in A and int8 in B. The product of two elements is the sum of the products of
 * their terms, exact in int32. Their rows are always packed.
 *
 * Rows. A left side whose rows are contiguous along k need not be packed: run_rows is the same kernel
 * with a list of runs in place of A's panel; the lengths of the runs add up to k. A run is
 * SN_GEMM_RUN_WORDS(MR) words: its length, which is not 0, then for each of the MR rows the address of
 * the run's first element; rows that do not exist repeat any other. A word 0 ends the list.
 *
 * Micro-kernels never allocate, lock or check. */
#ifndef SN_KERNELS_UKR_H
#define SN_KERNELS_UKR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/isa.h"
#include "sinter.h"

typedef void sn_gemm_ukr_fn(ptrdiff_t k, const void *a, const void *b, void *c, ptrdiff_t ldc,
                            bool first, int rows);

#define SN_GEMM_RUN_WORDS(mr) ((mr) + 1)

typedef struct sn_gemm_ukr {
  sn_gemm_ukr_fn *run, *run_rows;
  sn_isa_id isa;
  sn_dtype dtype;
  int mr, nr;
  bool fused;   /* multiply-add with one rounding: not for deterministic programs */
  int together; /* terms in an element: 1; 2 or 4 for bytes */
} sn_gemm_ukr;

#define SN_GEMM_MOST_TOGETHER 4

/* Kernels made at run time, by dtype. A worker that cannot install their module (`ready` says no)
 * runs sn_gemm_ukr_fallback instead. */
typedef struct sn_gemm_run_time {
  sn_gemm_ukr ukr[3];       /* SN_F32, SN_F64, SN_I32 */
  sn_gemm_ukr pairs, fours; /* for bytes; fours.run is NULL if there is none */
  void *module;             /* NULL: there are none */
  bool (*ready)(const void *module);
} sn_gemm_run_time;

/* A kernel of the registry in the same shape, which is not fused. */
const sn_gemm_ukr *sn_gemm_ukr_fallback(const sn_gemm_ukr *of);

/* Later rows are faster: registry_*.c, one file per platform. */
extern const sn_gemm_ukr sn_gemm_ukrs[];
extern const size_t sn_gemm_ukr_count;

/* Registries list their rows once, as ROWS(ROW) with ROW(isa, dtype, together, mr, nr, fused, function);
 * function_rows is its run_rows. */
#define SN_GEMM_UKR_DECLARE(isa_, dtype_, together_, mr_, nr_, fused_, function) \
  sn_gemm_ukr_fn function, function##_rows;
#define SN_GEMM_UKR_ENTRY(isa_, dtype_, together_, mr_, nr_, fused_, function) \
  {.run = function,                                                            \
   .run_rows = function##_rows,                                                \
   .isa = SN_ISA_##isa_,                                                       \
   .dtype = SN_##dtype_,                                                       \
   .together = (together_),                                                    \
   .mr = (mr_),                                                                \
   .nr = (nr_),                                                                \
   .fused = (fused_)},
#define SN_GEMM_UKR_TABLE(ROWS)                                 \
  const sn_gemm_ukr sn_gemm_ukrs[] = {ROWS(SN_GEMM_UKR_ENTRY)}; \
  const size_t sn_gemm_ukr_count = sizeof sn_gemm_ukrs / sizeof sn_gemm_ukrs[0];

/* Compiler vectors of 16 bytes: rows that every platform has. */
#define SN_GEMM_UKR_VEC128_ROWS(ROW)                         \
  ROW(GENERIC, F32, 1, 4, 8, false, sn_gemm_f32_4x8__vec128) \
  ROW(GENERIC, F64, 1, 4, 4, false, sn_gemm_f64_4x4__vec128) \
  ROW(GENERIC, I32, 1, 4, 8, false, sn_gemm_i32_4x8__vec128)

/* Reference kernels, in the shapes of the kernels that are made at run time. */
#define SN_GEMM_UKR_STAND_IN_ROWS(ROW)                      \
  ROW(GENERIC, F32, 1, 6, 8, false, sn_gemm_f32_6x8__ref)   \
  ROW(GENERIC, F64, 1, 6, 4, false, sn_gemm_f64_6x4__ref)   \
  ROW(GENERIC, F32, 1, 4, 8, false, sn_gemm_f32_4x8__ref)   \
  ROW(GENERIC, F64, 1, 4, 4, false, sn_gemm_f64_4x4__ref)   \
  ROW(GENERIC, I32, 1, 4, 8, false, sn_gemm_i32_4x8__ref)   \
  ROW(GENERIC, I32, 2, 4, 8, false, sn_gemm_pairs_4x8__ref) \
  ROW(GENERIC, I32, 4, 6, 8, false, sn_gemm_fours_6x8__ref)

/* All of these. The reference kernels come first, so later rows are always preferred to them: they are for tests. */
#define SN_GEMM_UKR_PORTABLE_ROWS(ROW)                    \
  ROW(GENERIC, F32, 1, 3, 5, false, sn_gemm_f32_3x5__ref) \
  ROW(GENERIC, F64, 1, 3, 5, false, sn_gemm_f64_3x5__ref) \
  ROW(GENERIC, I32, 1, 3, 5, false, sn_gemm_i32_3x5__ref) \
  SN_GEMM_UKR_STAND_IN_ROWS(ROW)                          \
  SN_GEMM_UKR_VEC128_ROWS(ROW)

SN_GEMM_UKR_PORTABLE_ROWS(SN_GEMM_UKR_DECLARE)

#endif
