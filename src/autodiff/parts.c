/* parts.c - works axis by axis: slices with the same interval along an axis make one piece, which the next
 * axes divide further; pieces that do not overlap make a row, a concat along the axis; rows are added.
 *
 *   slices      [t, 0:2]  [t, 2:4]  for each t
 *   axis 0      a piece for each t, all in one row
 *   axis 1      within each piece a row of two */
#include "autodiff/parts.h"

/* If slices overlap, like sliding windows, each row takes as many as fit; those that are left after so
 * many rows are padded one by one. */
enum { MOST_ROWS = 64 };

static int64_t low(const sn_build *b, const sn_part *p, int axis) {
  return sn_build_node_of(b, p->slice).attrs[axis];
}

static int64_t high(const sn_build *b, const sn_part *p, int axis) {
  return low(b, p, axis) + sn_build_type(b, p->slice)->dims[axis];
}

static bool same_interval(const sn_build *b, const sn_part *p, const sn_part *q, int axis) {
  return low(b, p, axis) == low(b, q, axis) && high(b, p, axis) == high(b, q, axis);
}

static bool is_whole(const sn_build *b, const sn_part *p, int axis, const sn_type *type) {
  return low(b, p, axis) == 0 && high(b, p, axis) == type->dims[axis];
}

static bool in_order(const sn_build *b, const sn_part *p, const sn_part *q, int axis) {
  const int64_t from = low(b, p, axis) - low(b, q, axis);
  return from < 0 || (from == 0 && high(b, p, axis) <= high(b, q, axis));
}

/* Merge sort by where the parts begin along the axis, then by where they end. */
static sn_status sort(sn_build *b, sn_part *parts, size_t n, int axis) {
  sn_part *merged;
  SN_TRY(sn_arena_alloc(b->arena, n, sizeof *merged, (void **)&merged));
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t at = 0; at < n; at += 2 * run) {
      const size_t middle = at + run < n ? at + run : n, end = middle + run < n ? middle + run : n;
      size_t p = at, q = middle;
      for (size_t i = at; i < end; i++) {
        const bool first = q == end || (p < middle && in_order(b, &parts[p], &parts[q], axis));
        merged[i] = first ? parts[p++] : parts[q++];
      }
    }
    memcpy(parts, merged, n * sizeof *merged);
  }
  return SN_OK;
}

/* One slice's cotangent, padded with zeros to `type`. Along axes before `axis` it has that size already. */
static sn_id pad(sn_build *b, const sn_part *p, int axis, const sn_type *type) {
  int64_t attrs[SN_MAX_ATTRS] = {0};
  bool whole = true;
  for (int i = 0; i < type->rank; i++) {
    attrs[type->rank + i] = 1;
    attrs[i] = i < axis ? 0 : low(b, p, i);
    whole = whole && (i < axis || is_whole(b, p, i, type));
  }
  if (whole) return p->dy;
  return sn_build_op(b, SN_OP_pad, &p->dy, 1, attrs, 2 * (size_t)type->rank + 1, type);
}

static sn_id add(sn_build *b, sn_id sum, sn_id x) {
  return sum == SN_NONE ? x : sn_build_binary(b, SN_OP_add, sum, x);
}

static sn_id join(sn_build *b, sn_part *parts, size_t n, int axis, const sn_type *type);

/* The n parts that have the same interval along the axis as parts[0]. */
typedef struct piece {
  sn_part *parts;
  size_t n;
  bool taken;
} piece;

/* A row being made: the operands of its concat, pieces with zeros between them. */
typedef struct row {
  sn_id *laid;
  size_t n;
  int64_t end; /* where the last one ends */
} row;

static void fill_up_to(sn_build *b, row *r, int axis, int64_t to, const sn_type *type) {
  if (r->end == to) return;
  sn_type gap = *type;
  gap.dims[axis] = to - r->end;
  r->laid[r->n++] = sn_build_full(b, &gap, 0);
}

/* Takes, in order, all pieces that fit into one row and returns the row. A single piece is padded. */
static sn_id next_row(sn_build *b, piece *pieces, size_t n, int axis, const sn_type *type,
                      sn_id *laid) {
  row r = {.laid = laid};
  sn_type part = *type;
  size_t n_pieces = 0, last = 0;
  for (size_t i = 0; i < n && !b->status; i++) {
    const sn_part *first = pieces[i].parts;
    const int64_t from = low(b, first, axis), to = high(b, first, axis);
    if (pieces[i].taken || from < r.end) continue;
    pieces[i].taken = true;
    fill_up_to(b, &r, axis, from, type);
    part.dims[axis] = to - from;
    laid[r.n++] = join(b, pieces[i].parts, pieces[i].n, axis + 1, &part);
    r.end = to;
    n_pieces++;
    last = i;
  }
  if (n_pieces == 0 || b->status) return SN_NONE;
  const sn_part *only = pieces[last].parts;
  const int64_t at = low(b, only, axis);
  if (n_pieces == 1 && is_whole(b, only, axis, type)) return laid[0];
  if (n_pieces == 1) return sn_build_part(b, SN_OP_pad, laid[r.n - 1], axis, at, 1, type);
  fill_up_to(b, &r, axis, type->dims[axis], type);
  const int64_t along = axis;
  return sn_build_op(b, SN_OP_concat, laid, r.n, &along, 1, type);
}

static size_t find_pieces(sn_build *b, sn_part *parts, size_t n, int axis, piece *pieces) {
  size_t n_pieces = 0;
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || !same_interval(b, &parts[i - 1], &parts[i], axis))
      pieces[n_pieces++] = (piece){.parts = parts + i};
    pieces[n_pieces - 1].n++;
  }
  return n_pieces;
}

/* Joins the cotangents of slices that have equal intervals along the axes before `axis`. The result, of
 * the given type, has their size along these axes and the tensor's along the others. The recursion is as
 * deep as the tensor has axes. */
static sn_id join(sn_build *b, sn_part *parts, size_t n, int axis, const sn_type *type) {
  sn_arena *arena = b->arena;
  const sn_type whole = *type;
  piece *pieces;
  sn_id *laid, sum = SN_NONE;
  if (b->status) return SN_NONE;
  if (n == 1) return pad(b, parts, axis, &whole);
  if (axis == whole.rank) { /* the same slice more than once */
    for (size_t i = 0; i < n; i++) sum = add(b, sum, parts[i].dy);
    return sum;
  }
  if ((b->status = sort(b, parts, n, axis)) ||
      (b->status = sn_arena_alloc(arena, n, sizeof *pieces, (void **)&pieces)) ||
      (b->status = sn_arena_alloc(arena, 2 * n + 1, sizeof *laid, (void **)&laid)))
    return SN_NONE;
  const size_t n_pieces = find_pieces(b, parts, n, axis, pieces);
  for (int rows = 0; rows < MOST_ROWS; rows++) {
    const sn_id dx = next_row(b, pieces, n_pieces, axis, &whole, laid);
    if (dx == SN_NONE) break;
    sum = add(b, sum, dx);
  }
  for (size_t i = 0; i < n_pieces; i++)
    for (size_t k = 0; k < pieces[i].n && !pieces[i].taken; k++)
      sum = add(b, sum, pad(b, &pieces[i].parts[k], axis, &whole));
  return sum;
}

bool sn_is_part(const sn_build *b, sn_id slice) {
  const sn_build_node node = sn_build_node_of(b, slice);
  const sn_type *type = sn_build_type(b, slice);
  bool is = node.op == SN_OP_slice && sn_type_size(type) > 0;
  for (int i = 0; is && i < type->rank; i++)
    is = type->dims[i] == 1 || node.attrs[type->rank + i] == 1;
  return is;
}

sn_id sn_join_parts(sn_build *b, sn_part *parts, size_t n) {
  if (b->status) return SN_NONE;
  sn_type type = *sn_build_type(b, sn_build_input(b, parts->slice, 0));
  type.dtype = sn_build_type(b, parts->dy)->dtype;
  return join(b, parts, n, 0, &type);
}
