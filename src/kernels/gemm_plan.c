/* gemm_plan.c - derives from the sizes of a product its tiles, what they share, and its scratch memory. */
#include "kernels/gemm_plan.h"

#include <math.h>
#include <string.h>

#include "kernels/machine.h"
#include "kernels/pack.h"

/* Blocking. Blocks of k are long (costs.depth). Sums, which are taken in sequence, are shorter, to keep the error of
 * positive terms within (8 + log2 k) 2^-24 of the result. The errors of several sums of 160 terms average out; a single
 * sum exceeds that bound now and then from 128 terms on. So more than 64 terms, where the bound is 6 standard deviations
 * away, are at least two sums. */
#ifdef SINTER_TEST
enum { SUM = 16, LONE_SUM = 8, DIRECT_COLUMNS = 64, LEAST_RUN = 2, ROW_COLUMNS = 64 };
#else
enum { SUM = SN_PACK_LONGEST_RUN, LONE_SUM = 64, DIRECT_COLUMNS = 4096 };
/* Least elements of a run that is worth listing; most columns for which packing does not pay. */
enum { LEAST_RUN = 8, ROW_COLUMNS = 128 };
#endif
/* More tasks than any usual number of workers, so that the last ones end together. A product too
 * small for that still gets a few tasks, each a quarter of the usual size, so that more than one
 * worker is busy. */
enum { WANTED_TASKS = 16, WANTED_SHARED_TASKS = 48, WANTED_SMALL_TASKS = 4 };
/* Most rows of a micro-kernel that reads rows without packing: each needs a register for its address.
 * And most columns for which such a kernel, though smaller, outweighs one of wider vectors. */
enum { MOST_ROWS = 8, FEW_COLUMNS = 64 };
/* From so many results on there are tiles enough without segments of k, if nothing is packed twice. */
static const double WHOLE_POINTS = 4096;

static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

static int64_t round_up(int64_t x, int64_t unit) { return ceil_div(x, unit) * unit; }

const sn_gemm_ukr *sn_gemm_ukr_for(sn_dtype dtype, sn_isa_id isa, bool deterministic) {
  const sn_gemm_ukr *best = NULL;
  for (size_t i = 0; i < sn_gemm_ukr_count; i++) {
    const sn_gemm_ukr *row = &sn_gemm_ukrs[i];
    const bool fits = row->dtype == dtype && row->together == 1 && row->isa <= isa;
    if (fits && !(deterministic && row->fused)) best = row;
  }
  return best;
}

const sn_gemm_ukr *sn_gemm_ukr_for_bytes(sn_isa_id isa) {
  const sn_gemm_ukr *best = NULL;
  for (size_t i = 0; i < sn_gemm_ukr_count; i++) {
    const sn_gemm_ukr *row = &sn_gemm_ukrs[i];
    if (row->together == 2 && row->isa != SN_ISA_GENERIC && row->isa <= isa) best = row;
  }
  return best;
}

/* What a kernel of four terms makes of four products of 255 and b. */
static int32_t sum_of_fours(const sn_gemm_ukr *fours, int8_t b) {
  enum { MOST = 32 };
  uint8_t a[MOST * SN_GEMM_MOST_TOGETHER];
  int8_t bs[MOST * SN_GEMM_MOST_TOGETHER];
  int32_t c[MOST] = {0};
  if (fours->mr > MOST || fours->nr > MOST) return 0;
  memset(a, 255, sizeof a);
  memset(bs, b, sizeof bs);
  fours->run(1, a, bs, c, 0, true, 1);
  return c[0];
}

/* Tries the largest bytes: if the machine takes 255 for -1, or saturates sums of two, results are far off. */
bool sn_gemm_ukr_is_exact(const sn_gemm_ukr *fours) {
  const int most = SN_GEMM_MOST_TOGETHER * 255;
  return sum_of_fours(fours, 127) == most * 127 && sum_of_fours(fours, -128) == most * -128;
}

static bool can_call_fours(const sn_gemm_run_time *made) {
  return made && made->fours.run && made->ready(made->module);
}

const sn_gemm_ukr *sn_gemm_exact_fours(const sn_gemm_run_time *made) {
  return can_call_fours(made) && sn_gemm_ukr_is_exact(&made->fours) ? &made->fours : NULL;
}

bool sn_gemm_sums_twos(const sn_gemm_run_time *made) {
  return can_call_fours(made) && sum_of_fours(&made->fours, 127) == 2 * INT16_MAX;
}

const sn_gemm_ukr *sn_gemm_ukr_fallback(const sn_gemm_ukr *of) {
  for (size_t i = 0; i < sn_gemm_ukr_count; i++) {
    const sn_gemm_ukr *row = &sn_gemm_ukrs[i];
    if (row->dtype == of->dtype && row->together == of->together && row->mr == of->mr &&
        row->nr == of->nr)
      return row;
  }
  return NULL;
}

static bool may_share(sn_gemm *g, const sn_gemm_side *side) {
  return g->sharing == SN_GEMM_SHARES_OPERANDS ||
         (g->sharing == SN_GEMM_SHARES_B && side == sn_gemm_side_b(g));
}

/* Whether the side is a matrix with one stride each way, none of them 0. */
static bool is_matrix(const sn_gemm_side *side) { return side->even && side->ws && side->ks; }

static double span_of(const sn_nest *nest) {
  double span = 0;
  for (int i = 0; i < nest->rank; i++)
    span += (double)(nest->dims[i] - 1) * fabs((double)nest->strides[i]);
  return span;
}

/* Only an operand that takes no more memory packed than unpacked may be shared: not the windows of a
 * convolution, which overlap, but its filter, also transposed. */
static bool can_share(sn_gemm *g, const sn_gemm_side *side) {
  const sn_gemm_walk *walk = &side->walk;
  const bool apart = !walk->bounds.guards && span_of(&walk->across) + span_of(&walk->along) + 1 >=
                                                 (double)side->width * (double)g->k;
  return may_share(g, side) && (is_matrix(side) || apart) && !g->direct && !side->run_bytes;
}

/* Whether the side could, as a left side that meets so many columns, be read row by row unpacked. */
static bool lies_in_rows(const sn_gemm_side *side, int64_t columns) {
  const sn_nest *along = &side->walk.along;
  const int last = along->rank - 1;
  return along->strides[last] == 1 && along->dims[last] >= LEAST_RUN && !along->marks[last] &&
         columns <= ROW_COLUMNS && !side->walk.small;
}

static bool suits_rows(const sn_gemm *g) {
  return !g->direct && lies_in_rows(&g->left, g->right.width) && g->ukr->mr <= MOST_ROWS;
}

/* Whether nothing is packed twice. Segments, and so the bits, depend on it: so it must not depend on
 * the micro-kernel or on which side is the left one, as these differ between instruction sets. */
static bool packs_once(sn_gemm *g) {
  const sn_gemm_side *l = &g->left, *r = &g->right;
  return ((may_share(g, l) && is_matrix(l)) || lies_in_rows(l, r->width)) &&
         ((may_share(g, r) && is_matrix(r)) || lies_in_rows(r, l->width));
}

/* Bytes of a panel's list of runs for one sum. A block of k may begin and end inside a run. */
static size_t run_bytes(const sn_gemm *g) {
  const sn_nest *along = &g->left.walk.along;
  const int64_t runs = g->sum / along->dims[along->rank - 1] + 2;
  return (size_t)(runs * SN_GEMM_RUN_WORDS(g->ukr->mr) + 1) * sizeof(ptrdiff_t);
}

static void divide(sn_gemm_side *side, int64_t parts, int64_t unit) {
  side->block = round_up(ceil_div(side->width, parts), unit);
  side->blocks = ceil_div(side->width, side->block);
}

static int64_t wanted_tasks(double flops, double task_flops, int64_t most) {
  const int64_t full = (int64_t)(flops / task_flops), small = (int64_t)(flops / task_flops * 4);
  const int64_t few = sn_gemm_least(small, WANTED_SMALL_TASKS);
  return full > few ? sn_gemm_least(full, most) : few;
}

typedef struct cutting {
  int64_t left_most, right_most, left_unit, right_unit;
  int64_t flatness; /* wanted columns per row of a tile; 0: as few columns as possible */
  int64_t most;     /* most tasks that are wanted */
  double task_flops;
} cutting;

/* Starts from the largest tile that suits the caches and cuts the longer side until there are
 * enough tasks. */
static void choose_tiles(sn_gemm *g, const cutting *how) {
  const int64_t left_unit = how->left_unit, right_unit = how->right_unit;
  int64_t left_parts = ceil_div(g->left.width, how->left_most);
  int64_t right_parts = ceil_div(g->right.width, how->right_most);
  const int64_t wanted = g->whole_m ? 1 : wanted_tasks(g->flops, how->task_flops, how->most);
  divide(&g->left, left_parts, left_unit);
  divide(&g->right, right_parts, right_unit);
  while (g->segments * g->left.blocks * g->right.blocks < wanted) {
    const bool cut_left = g->left.block > left_unit;
    const bool cut_right = g->right.block > right_unit;
    if (cut_left && (!cut_right || g->left.block * how->flatness >= g->right.block))
      divide(&g->left, ++left_parts, left_unit);
    else if (cut_right)
      divide(&g->right, ++right_parts, right_unit);
    else
      break;
  }
  g->tasks = g->segments * g->left.blocks * g->right.blocks;
}

/* How many points are computed for rows x columns of C, with those beyond its edges. */
static double padded(int64_t rows, int64_t columns, const sn_gemm_ukr *ukr) {
  return (double)round_up(rows, ukr->mr) * (double)round_up(columns, ukr->nr);
}

/* Whether computing C^T computes clearly fewer points beyond the edges. */
static bool better_swapped(const sn_gemm *g) {
  if (g->m == 1 || g->blocks.bytes || g->ukr->together > 2) return false; /* fours: sides differ */
  if (g->n == 1) return true;
  return padded(g->n, g->m, g->ukr) * 1.5 < padded(g->m, g->n, g->ukr);
}

static bool suits_direct(const sn_gemm *g) {
  const sn_gemm_side *right = &g->right;
  if (g->always_pack || g->blocks.bytes || g->a.bounds.guards || g->b.bounds.guards) return false;
  if (g->a.small || g->b.small || g->dtype == SN_I32) return false;
  if (g->left.width == 1 && (right->width == 1 || right->ws == 1 || right->ks == 1)) return true;
  return g->k > 0 && g->flops <= 2.0 * SN_GEMM_TINY;
}

static size_t place(size_t *end, int64_t elements, size_t bytes) {
  const size_t offset = *end;
  *end = (offset + (size_t)elements * bytes + 63) & ~(size_t)63;
  return offset;
}

static void share(sn_gemm *g, sn_gemm_side *side, const sn_gemm_side *other) {
  if (!can_share(g, side)) return;
  place(&side->bytes, round_up(side->width, side->panel) * g->k, sn_gemm_bytes(g));
  side->units = side->blocks * ceil_div(g->k, g->kc);
  side->shared = g->sharing == SN_GEMM_SHARES_B || other->blocks > 1;
  if (!side->shared) return;
  side->shared_offset = g->shared_bytes;
  g->shared_bytes += side->bytes;
}

static void lay_out_scratch(sn_gemm *g) {
  const size_t bytes = sn_gemm_bytes(g);
  const int64_t tile = g->left.block * g->right.block;
  const int64_t mr = g->ukr->mr, nr = g->ukr->nr;
  size_t end = 0;
  /* a direct product has the sums of one block of k in place of the packed left block */
  if (g->left.run_bytes)
    place(&end, g->left.block / mr, g->left.run_bytes);
  else
    place(&end, g->direct ? g->right.block : g->left.shared ? 0 : g->left.block * g->kc, bytes);
  g->panel_offset =
      place(&end, g->direct || g->right.shared ? 0 : g->kc * nr * g->right.panels, bytes);
  g->edge_offset = place(&end, g->direct ? 0 : mr * nr, bytes);
  g->tile_offset = place(&end, tile, bytes);
  g->transposed_offset = place(&end, g->swapped ? tile : 0, bytes);
  g->scratch_bytes = end;
}

static sn_gemm_side side_of(int64_t width, const sn_gemm_walk *walk) {
  return (sn_gemm_side){.width = width,
                        .end = width,
                        .walk = *walk,
                        .even =
                            walk->across.rank == 1 && walk->along.rank == 1 && !walk->bounds.guards,
                        .ws = (ptrdiff_t)sn_nest_stride(&walk->across),
                        .ks = (ptrdiff_t)sn_nest_stride(&walk->along)};
}

static void set_sides(sn_gemm *g) {
  const sn_gemm_side a = side_of(g->m, &g->a), b = side_of(g->n, &g->b);
  g->flops = 2.0 * (double)g->m * (double)g->n * (double)(g->of_bytes ? g->of_bytes : g->k);
  g->to = g->k;
  g->left = g->swapped ? b : a;
  g->right = g->swapped ? a : b;
  g->left.panel = g->ukr->mr;
  g->right.panel = g->ukr->nr;
  g->left.panels = g->right.panels = 1;
  if (g->blocks.bytes) g->right.panels = (int)ceil_div(SN_PART, g->ukr->nr);
}

/* Decides which side is left, and whether the product is direct. Blocks of rows all do as the whole
 * product would: the direct way never fuses multiply-adds, and the blocks share B's panels. */
static void choose_way(sn_gemm *g) {
  const int64_t m = g->m;
  if (g->whole_m) g->m = g->whole_m;
  g->swapped = better_swapped(g);
  set_sides(g);
  g->direct = suits_direct(g);
  g->m = m;
  set_sides(g);
}

static const sn_product_costs *costs_of(const sn_gemm *g) {
  return g->costs ? g->costs : &sn_cpu_target.costs.product;
}

/* Chooses sums of about equal length, a multiple of 4 to suit the packing in registers, and blocks of
 * as many whole sums as costs.depth allows. */
static void choose_blocks(sn_gemm *g, int64_t k) {
  const int64_t limit = g->sum_limit ? g->sum_limit : SUM;
  const int64_t few = k > LONE_SUM ? 2 : 1, enough = ceil_div(k, limit);
  g->sum = sn_gemm_least(limit, round_up(ceil_div(k, enough > few ? enough : few), 4));
  g->kc = g->sum;
  g->left.run_bytes = suits_rows(g) ? run_bytes(g) : 0;
  if (g->left.run_bytes || g->direct) return;
  g->kc = ceil_div(ceil_div(k, g->sum), ceil_div(k, costs_of(g)->depth)) * g->sum;
}

void sn_gemm_plan_with(sn_gemm *g, const sn_gemm_ukr *ukr) {
  g->ukr = ukr;
  if (g->of_bytes) g->k = ceil_div(g->of_bytes, ukr->together);
  g->tasks = g->pack_units = 0;
  g->scratch_bytes = g->shared_bytes = 0;
  if (g->m == 0 || g->n == 0) return;
  choose_way(g);

  const int64_t k = g->k ? g->k : 1;
  choose_blocks(g, k);

  const int64_t bytes = (int64_t)sn_gemm_bytes(g);
  const int64_t mr = ukr->mr, nr = ukr->nr;
  const sn_product_costs *costs = costs_of(g);
  /* if both sides are packed only once, tiles may be small and flat: the post body likes long rows */
  const bool shared = (g->left.run_bytes || can_share(g, &g->left)) && can_share(g, &g->right);
  const bool whole = g->direct || (packs_once(g) && (double)g->m * (double)g->n >= WHOLE_POINTS);
  g->segments = whole || g->segments < 1 ? 1 : g->segments;
  g->segment = round_up(ceil_div(k, g->segments), g->sum);
  g->segments = ceil_div(k, g->segment);
  const cutting direct = {.left_most = g->left.width,
                          .right_most = DIRECT_COLUMNS,
                          .left_unit = g->left.width,
                          .right_unit = 16,
                          .flatness = 1,
                          .most = WANTED_TASKS,
                          .task_flops = costs->direct_task_flops};
  const int64_t right_unit = nr * g->right.panels;
  const cutting packed = {.left_most = round_up(costs->left_bytes / bytes / costs->depth, mr),
                          .right_most =
                              round_up(costs->right_bytes / bytes / (shared ? 2 : 1), right_unit),
                          .left_unit = mr,
                          .right_unit = right_unit,
                          .flatness = g->blocks.bytes         ? 0
                                      : shared && !g->swapped ? costs->flatness
                                                              : 1,
                          .most = shared ? WANTED_SHARED_TASKS : WANTED_TASKS,
                          .task_flops = shared ? costs->shared_task_flops : costs->task_flops};
  choose_tiles(g, g->direct ? &direct : &packed);
  if (g->segments == 1) { /* with more, little is packed twice */
    share(g, &g->left, &g->right);
    share(g, &g->right, &g->left);
    if (g->shared_bytes) g->pack_units = g->left.units + g->right.units;
  }
  lay_out_scratch(g);
}

void sn_gemm_limit(sn_gemm *g, bool terms, int64_t from, int64_t to) {
  sn_gemm_side *side = sn_gemm_side_b(g);
  if (terms) {
    g->from = from;
    g->to = to;
    return;
  }
  side->first = from / side->panel * side->panel;
  side->end = to;
  side->blocks = ceil_div(to - side->first, side->block);
  g->tasks = g->left.blocks * g->right.blocks;
}

/* How many points are computed for C, swapped if that is better. */
static double least_padded(const sn_gemm *g, const sn_gemm_ukr *ukr) {
  const int64_t m = g->whole_m ? g->whole_m : g->m;
  const double as_is = padded(m, g->n, ukr), swapped = padded(g->n, m, ukr);
  return as_is < swapped ? as_is : swapped;
}

/* The best micro-kernel with the same bits that can read unpacked rows: ukr itself, or one before it
 * in the table. Wider vectors must not compute many more points beyond C. */
static const sn_gemm_ukr *smaller(const sn_gemm *g, const sn_gemm_ukr *ukr) {
  const int64_t m = g->whole_m ? g->whole_m : g->m;
  const sn_gemm_ukr *best = ukr;
  if (ukr->mr <= MOST_ROWS) return ukr;
  for (size_t i = 0; i < sn_gemm_ukr_count && &sn_gemm_ukrs[i] != ukr; i++) {
    const sn_gemm_ukr *row = &sn_gemm_ukrs[i];
    if (row->mr > MOST_ROWS || row->dtype != ukr->dtype || row->fused != ukr->fused ||
        row->together != ukr->together)
      continue;
    const bool wider = best != ukr && best->isa != SN_ISA_GENERIC && row->isa != best->isa;
    if (!wider || padded(m, g->n, row) < 1.5 * padded(m, g->n, best)) best = row;
  }
  return best;
}

/* Planning again leaves g->segments as it is: rounding to whole sums is idempotent. */
void sn_gemm_plan(sn_gemm *g, const sn_gemm_ukr *ukr) {
  const sn_gemm_ukr *small = smaller(g, ukr);
  sn_gemm_plan_with(g, small);
  const bool spares_packing = g->left.run_bytes && g->right.width <= FEW_COLUMNS;
  if (small != ukr && !spares_packing && least_padded(g, ukr) < 2 * least_padded(g, small))
    sn_gemm_plan_with(g, ukr);
}
