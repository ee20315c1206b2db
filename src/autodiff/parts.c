/* parts.c - axis by axis: slices with the same interval of an axis make one piece, which the next
 * axes divide; pieces that do not overlap make a row, and rows are added.
 *
 *   slices      [t, 0:2]  [t, 2:4]  for each t
 *   axis 0      a piece for each t, all in one row
 *   axis 1      within each piece a row of two */
#include "autodiff/parts.h"

/* Where slices overlap, as sliding windows do, each row takes what it can; what is left after so
 * many rows is padded one by one. */
enum { MOST_ROWS = 64 };

typedef struct joining {
  sn_build *b;
  const sn_id *dy;
} joining;

static int64_t low(const joining *j, sn_id slice, int axis) {
  return sn_build_node_of(j->b, slice).attrs[axis];
}

static int64_t high(const joining *j, sn_id slice, int axis) {
  return low(j, slice, axis) + sn_build_type(j->b, slice)->dims[axis];
}

static bool same_interval(const joining *j, sn_id p, sn_id q, int axis) {
  return low(j, p, axis) == low(j, q, axis) && high(j, p, axis) == high(j, q, axis);
}

static bool is_whole(const joining *j, sn_id slice, int axis, const sn_type *type) {
  return low(j, slice, axis) == 0 && high(j, slice, axis) == type->dims[axis];
}

static bool in_order(const joining *j, sn_id p, sn_id q, int axis) {
  const int64_t from = low(j, p, axis) - low(j, q, axis);
  return from < 0 || (from == 0 && high(j, p, axis) <= high(j, q, axis));
}

/* Merge sort by where they begin, then where they end. */
static sn_status sort(const joining *j, sn_id *slices, size_t n, int axis) {
  sn_id *merged;
  SN_TRY(sn_arena_alloc(j->b->arena, n, sizeof *merged, (void **)&merged));
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t at = 0; at < n; at += 2 * run) {
      const size_t middle = at + run < n ? at + run : n, end = middle + run < n ? middle + run : n;
      size_t p = at, q = middle;
      for (size_t i = at; i < end; i++) {
        const bool first = q == end || (p < middle && in_order(j, slices[p], slices[q], axis));
        merged[i] = first ? slices[p++] : slices[q++];
      }
    }
    memcpy(slices, merged, n * sizeof *merged);
  }
  return SN_OK;
}

/* One slice's cotangent among zeros, where the axes before `axis` are its own already. */
static sn_id pad(const joining *j, sn_id slice, int axis, const sn_type *type) {
  int64_t attrs[SN_MAX_ATTRS] = {0};
  bool whole = true;
  for (int i = 0; i < type->rank; i++) {
    attrs[type->rank + i] = 1;
    attrs[i] = i < axis ? 0 : low(j, slice, i);
    whole = whole && (i < axis || is_whole(j, slice, i, type));
  }
  const sn_id dy = j->dy[slice];
  if (whole) return dy;
  return sn_build_op(j->b, SN_OP_pad, &dy, 1, attrs, 2 * (size_t)type->rank + 1, type);
}

static sn_id add(const joining *j, sn_id sum, sn_id x) {
  return sum == SN_NONE ? x : sn_build_binary(j->b, SN_OP_add, sum, x);
}

static sn_id join(const joining *j, sn_id *slices, size_t n, int axis, const sn_type *type);

/* What has the interval of slices[0], made of n slices. */
typedef struct piece {
  sn_id *slices;
  size_t n;
  bool taken;
} piece;

/* A row under way: its pieces so far, with zeros between them. */
typedef struct row {
  sn_id *parts;
  size_t n;
  int64_t end; /* where the last one ends */
} row;

static void fill_up_to(const joining *j, row *r, int axis, int64_t to, const sn_type *type) {
  if (r->end == to) return;
  sn_type gap = *type;
  gap.dims[axis] = to - r->end;
  r->parts[r->n++] = sn_build_full(j->b, &gap, 0);
}

/* A row of the pieces, in their order, that can be in one. A single piece is padded. */
static sn_id next_row(const joining *j, piece *pieces, size_t n, int axis, const sn_type *type,
                      sn_id *parts) {
  row r = {.parts = parts};
  sn_type part = *type;
  size_t n_pieces = 0, last = 0;
  for (size_t i = 0; i < n && !j->b->status; i++) {
    const sn_id first = *pieces[i].slices;
    const int64_t from = low(j, first, axis), to = high(j, first, axis);
    if (pieces[i].taken || from < r.end) continue;
    pieces[i].taken = true;
    fill_up_to(j, &r, axis, from, type);
    part.dims[axis] = to - from;
    parts[r.n++] = join(j, pieces[i].slices, pieces[i].n, axis + 1, &part);
    r.end = to;
    n_pieces++;
    last = i;
  }
  if (n_pieces == 0 || j->b->status) return SN_NONE;
  const sn_id only = *pieces[last].slices;
  const int64_t at = low(j, only, axis);
  if (n_pieces == 1 && is_whole(j, only, axis, type)) return parts[0];
  if (n_pieces == 1) return sn_build_part(j->b, SN_OP_pad, parts[r.n - 1], axis, at, 1, type);
  fill_up_to(j, &r, axis, type->dims[axis], type);
  const int64_t along = axis;
  return sn_build_op(j->b, SN_OP_concat, parts, r.n, &along, 1, type);
}

static size_t find_pieces(const joining *j, sn_id *slices, size_t n, int axis, piece *pieces) {
  size_t n_pieces = 0;
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || !same_interval(j, slices[i - 1], slices[i], axis))
      pieces[n_pieces++] = (piece){.slices = slices + i};
    pieces[n_pieces - 1].n++;
  }
  return n_pieces;
}

/* The cotangents of slices that are alike along the axes before `axis`, as one of the given type:
 * theirs along these axes, the whole along the others. As deep as a tensor has axes. */
static sn_id join(const joining *j, sn_id *slices, size_t n, int axis, const sn_type *type) {
  sn_arena *arena = j->b->arena;
  const sn_type whole = *type;
  piece *pieces;
  sn_id *parts, sum = SN_NONE;
  if (j->b->status) return SN_NONE;
  if (n == 1) return pad(j, *slices, axis, &whole);
  if (axis == whole.rank) { /* the same slice more than once */
    for (size_t i = 0; i < n; i++) sum = add(j, sum, j->dy[slices[i]]);
    return sum;
  }
  if ((j->b->status = sort(j, slices, n, axis)) ||
      (j->b->status = sn_arena_alloc(arena, n, sizeof *pieces, (void **)&pieces)) ||
      (j->b->status = sn_arena_alloc(arena, 2 * n + 1, sizeof *parts, (void **)&parts)))
    return SN_NONE;
  const size_t n_pieces = find_pieces(j, slices, n, axis, pieces);
  for (int rows = 0; rows < MOST_ROWS; rows++) {
    const sn_id dx = next_row(j, pieces, n_pieces, axis, &whole, parts);
    if (dx == SN_NONE) break;
    sum = add(j, sum, dx);
  }
  for (size_t i = 0; i < n_pieces; i++)
    for (size_t k = 0; k < pieces[i].n && !pieces[i].taken; k++)
      sum = add(j, sum, pad(j, pieces[i].slices[k], axis, &whole));
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

sn_id sn_join_parts(sn_build *b, sn_id *slices, size_t n, const sn_id *dy) {
  if (b->status) return SN_NONE;
  const joining j = {b, dy};
  sn_type type = *sn_build_type(b, sn_build_input(b, *slices, 0));
  type.dtype = sn_build_type(b, dy[*slices])->dtype;
  return join(&j, slices, n, 0, &type);
}
