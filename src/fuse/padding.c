/* padding.c - pads that are never computed: if only products read one, packing puts the zeros in.
 *
 *   x -> pad -> windows -> transpose -> reshape -> matmul      x is read where it lies
 *
 * The views behind the pad describe its result, the frame, as if it were in memory. A factor leaves
 * the frame dim by dim: a stride of n steps along one axis of the frame becomes n strides of x along
 * that axis, and a mark of n, by which packing tells whether a position is inside of x. This is right
 * for sums of dims too, since it is checked first that coordinates never carry from one axis of the
 * frame into the next. */
#include <math.h>
#include <string.h>

#include "fuse/fuse.h"

void sn_factor_of(const sn_graph *g, const sn_view *views, sn_id x, int rank, int side,
                  sn_operand *factor) {
  const sn_view *view = &views[x];
  const sn_type *type = &g->nodes[x].type;
  const int across = side ? rank - 1 : rank - 2, along = side ? rank - 2 : rank - 1;
  sn_nest batch = {.rank = 0};
  for (int i = 0; i < rank - 2; i++) {
    const sn_nest axis = sn_view_axis(type, view, i);
    for (int k = 0; k < axis.rank; k++)
      sn_nest_add(&batch, axis.dims[k], axis.strides[k]); /* a view has few enough dims */
  }
  factor->offset = view->offset;
  factor->nests->of[SN_AXIS_BATCH] = batch.rank ? batch : sn_nest_line(1, 0);
  factor->nests->of[SN_AXIS_ACROSS] = sn_view_axis(type, view, across);
  factor->nests->of[SN_AXIS_ALONG] = sn_view_axis(type, view, along);
}

typedef struct frame {
  int rank;
  int64_t dims[SN_MAX_RANK], steps[SN_MAX_RANK]; /* of the pad's result, and its strides */
  int64_t strides[SN_MAX_RANK];                  /* of x */
  int64_t mark[SN_MAX_RANK];                     /* for a step along a padded axis; else 0 */
  int64_t reach[SN_MAX_RANK];                    /* the largest coordinate so far */
} frame;

/* Makes a nest over the frame one over x; false if it cannot. A merged dim that goes through several
 * axes is taken apart again, innermost part first. */
static bool leave(frame *f, const sn_nest *in, sn_nest *out) {
  sn_nest parts = {.rank = 0}, nest = {.rank = 0};
  bool fits = sn_nest_size(in) > 0;
  for (int d = in->rank - 1; d >= 0 && fits; d--) {
    int64_t n = in->dims[d], stride = n > 1 ? in->strides[d] : 0;
    while (fits && n > 0) {
      int axis = 0;
      while (axis < f->rank - 1 && (f->dims[axis] == 1 || f->steps[axis] > stride)) axis++;
      const int64_t steps = stride / f->steps[axis];
      int64_t run = n;
      if ((n - 1) * steps >= f->dims[axis] && steps > 0) run = f->dims[axis] / steps;
      fits = stride >= 0 && stride == steps * f->steps[axis] && run > 0 && n % run == 0 &&
             (run == n || f->dims[axis] == run * steps) && parts.rank < SN_MAX_RANK;
      if (!fits) break;
      f->reach[axis] += (run - 1) * steps;
      parts.dims[parts.rank] = run;
      parts.strides[parts.rank] = steps * f->strides[axis];
      parts.marks[parts.rank++] = steps * f->mark[axis];
      stride *= run;
      n = run == n ? 0 : n / run; /* 0: the dim is done */
    }
  }
  for (int i = parts.rank - 1; i >= 0; i--)
    fits = fits && sn_nest_add_marked(&nest, parts.dims[i], parts.strides[i], parts.marks[i]);
  *out = nest;
  return fits;
}

bool sn_factor_leave_frame(const sn_graph *g, const sn_view *views, sn_id pad, sn_operand *factor) {
  if (pad == SN_NONE) return true;
  const sn_id x = *sn_graph_inputs(g, pad);
  const sn_type *inner = &g->nodes[x].type, *type = &g->nodes[pad].type;
  const int64_t *low = sn_graph_attrs(g, pad);
  frame f = {.rank = type->rank};
  int64_t place = factor->offset, offset = views[x].offset;
  int field = 0;
  sn_bounds *bounds = &factor->nests->bounds;
  sn_row_major(type, f.steps);
  for (int i = 0; i < f.rank; i++) {
    f.dims[i] = type->dims[i];
    f.strides[i] = views[x].strides[i];
    f.reach[i] = place / f.steps[i] % f.dims[i];
    offset += (f.reach[i] - low[i]) * f.strides[i];
    if (inner->dims[i] == f.dims[i]) continue;
    const int64_t unit = (int64_t)1 << SN_MARK_BITS * field++;
    f.mark[i] = unit;
    bounds->guards += unit * SN_MARK_GUARD;
    bounds->low += unit * (SN_MARK_GUARD + f.reach[i] - low[i]);
    bounds->high += unit * (SN_MARK_GUARD + low[i] + inner->dims[i] - 1 - f.reach[i]);
  }
  factor->offset = offset;
  bool fits = true;
  for (int i = 0; i < SN_PRODUCT_AXES; i++)
    fits = fits && leave(&f, &factor->nests->of[i], &factor->nests->of[i]);
  for (int i = 0; i < f.rank; i++) fits = fits && f.reach[i] < f.dims[i];
  return fits;
}

/* Whether the node is a pad of zeros around a value in memory. A scalar has no axis along which a
 * factor could leave the frame. */
static bool is_frame(const sn_graph *g, const sn_view *views, sn_id id) {
  const sn_node *node = sn_graph_node(g, id);
  if (node->op != SN_OP_pad || sn_type_size(&node->type) == 0) return false;
  const sn_id x = *sn_graph_inputs(g, id);
  const sn_op base = g->nodes[views[x].base].op;
  const int rank = node->type.rank;
  const int64_t *attrs = sn_graph_attrs(g, id);
  const double fill = sn_attr_double(attrs[2 * rank]);
  bool is = rank > 0 && fill == 0 && !signbit(fill) && !views[x].nests && base != SN_OP_constant &&
            base != SN_OP_iota;
  int padded = 0;
  for (int i = 0; i < rank; i++) {
    is = is && attrs[rank + i] == 1 && node->type.dims[i] < SN_MARK_LIMIT;
    padded += node->type.dims[i] != g->nodes[x].type.dims[i];
  }
  return is && padded <= SN_MARKS;
}

/* Whether packing can read x in the frame of the pad, and does so fast: it checks positions at both
 * ends of each row of x next to the padding, so runs along k, and rows of them, have to be long
 * enough. Only one product may read a pad in this way, once: each packing would check again, but a
 * copy is padded only once. */
static bool suits(const sn_graph *g, const sn_target *target, const sn_view *views, sn_id x,
                  int rank, int side) {
  sn_nests nests = {.bounds = {0}};
  sn_operand factor = {.form = SN_FORM_NESTS, .nests = &nests};
  sn_factor_of(g, views, x, rank, side, &factor);
  if (!sn_factor_leave_frame(g, views, views[x].base, &factor)) return false;
  const sn_nest *across = &nests.of[SN_AXIS_ACROSS], *along = &nests.of[SN_AXIS_ALONG];
  const int64_t run = along->dims[along->rank - 1];
  return !along->marks[along->rank - 1] && run >= target->costs.pad_run &&
         across->dims[across->rank - 1] >= target->costs.pad_row / run;
}

sn_status sn_view_padding(const sn_graph *g, const sn_target *target, sn_view *views) {
  enum { NEVER = 2 };
  uint8_t *products; /* per node that is a frame: how many read it; NEVER: or something else */
  SN_TRY(sn_arena_alloc(g->arena, g->n_nodes, 1, (void **)&products));
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_op op = g->nodes[id].op;
    const sn_id *x = sn_graph_inputs(g, id);
    if (!is_frame(g, views, id)) products[id] = NEVER;
    for (uint32_t k = 0; k < g->nodes[id].n_inputs; k++) {
      uint8_t *count = &products[views[x[k]].base];
      if (sn_op_describe(op)->kind == SN_CLASS_VIEW || *count == NEVER) continue;
      const bool fits =
          op == SN_OP_matmul && suits(g, target, views, x[k], g->nodes[id].type.rank, (int)k);
      *count = fits && !*count ? 1 : NEVER;
    }
  }
  for (size_t i = 0; i < g->n_outputs; i++) products[views[g->outputs[i]].base] = NEVER;
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_id pad = views[id].base;
    if (products[pad] != 1) continue;
    views[id].frame = pad;
    views[id].base = views[*sn_graph_inputs(g, pad)].base;
  }
  return SN_OK;
}
