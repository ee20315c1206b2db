/* test_extents.c - the tree of free memory (base/extents.h) against a plain map of used memory. */
#include "support.h"

#include "base/extents.h"
#include "op_cases.h"

enum { UNITS = 4096, SLOTS = 512 };

static _Alignas(SN_EXTENT) char memory[UNITS * SN_EXTENT];

typedef struct model {
  sn_extent *root;
  bool used[UNITS];
  struct {
    size_t first, n; /* units; n = 0: empty */
  } slot[SLOTS];
} model;

static size_t longest_free_run(const model *m) {
  size_t longest = 0, run = 0;
  for (size_t i = 0; i < UNITS; i++) {
    run = m->used[i] ? 0 : run + 1;
    if (run > longest) longest = run;
  }
  return longest;
}

static void mark(model *m, size_t first, size_t n, bool used) {
  for (size_t i = first; i < first + n; i++) {
    assert_int_equal(m->used[i], !used);
    m->used[i] = used;
  }
}

/* The units where a block of n belongs: the lowest or the highest that are free. */
static size_t place_of(const model *m, size_t n, bool high) {
  size_t run = 0;
  for (size_t k = 0; k < UNITS; k++) {
    const size_t i = high ? UNITS - 1 - k : k;
    run = m->used[i] ? 0 : run + 1;
    if (run == n) return high ? i : i + 1 - n;
  }
  return UNITS;
}

static void take(model *m, size_t slot, size_t n, bool high) {
  char *block = high ? sn_extents_take_high(&m->root, n * SN_EXTENT, memory)
                     : sn_extents_take_low(&m->root, n * SN_EXTENT);
  if (!block) {
    assert_true(longest_free_run(m) < n);
    return;
  }
  assert_ptr_equal(block, memory + place_of(m, n, high) * SN_EXTENT);
  assert_true(block >= memory && block + n * SN_EXTENT <= memory + sizeof memory);
  assert_int_equal((block - memory) % SN_EXTENT, 0);
  m->slot[slot].first = (size_t)(block - memory) / SN_EXTENT;
  m->slot[slot].n = n;
  mark(m, m->slot[slot].first, n, true);
  memset(block, 0xa5, n * SN_EXTENT); /* nothing of the tree may stand in it */
}

static void give(model *m, size_t slot) {
  const size_t first = m->slot[slot].first, n = m->slot[slot].n;
  mark(m, first, n, false);
  sn_extents_give(&m->root, memory + first * SN_EXTENT, n * SN_EXTENT);
  m->slot[slot].n = 0;
}

/* Sizes from one up to `most` units, in a random order of taking and giving back. */
static void walk(uint64_t seed, int64_t most, int steps) {
  static model m;
  case_random r = {seed};
  m = (model){0};
  sn_extents_give(&m.root, memory, sizeof memory);
  for (int i = 0; i < steps; i++) {
    const size_t slot = (size_t)case_below(&r, SLOTS);
    if (m.slot[slot].n)
      give(&m, slot);
    else
      take(&m, slot, 1 + (size_t)case_below(&r, most), case_one_in(&r, 2));
  }
  for (size_t slot = 0; slot < SLOTS; slot++)
    if (m.slot[slot].n) give(&m, slot);
  assert_ptr_equal(m.root, memory); /* all of it is one block again */
  assert_int_equal(m.root->bytes, sizeof memory);
  assert_null(m.root->left);
  assert_null(m.root->right);
}

static void blocks_never_overlap_and_none_is_lost(void **state) {
  (void)state;
  walk(1, 1, 20000); /* all of one size */
  walk(2, 16, 20000);
  walk(3, 200, 20000); /* memory is short */
}

/* How deep the tree is. */
static size_t depth_of(const sn_extent *block) {
  size_t deepest = 0, depth = 0;
  const sn_extent *path[UNITS], *at = block;
  while (at || depth) {
    while (at) {
      path[depth++] = at;
      if (depth > deepest) deepest = depth;
      at = at->left;
    }
    at = path[--depth]->right;
  }
  return deepest;
}

static void equal_blocks_make_no_list(void **state) {
  (void)state;
  sn_extent *root = NULL;
  for (size_t i = 0; i < UNITS; i += 2) sn_extents_give(&root, memory + i * SN_EXTENT, SN_EXTENT);
  assert_true(depth_of(root) < 100);
}

static void nothing_is_taken_below_the_floor(void **state) {
  (void)state;
  sn_extent *root = NULL;
  sn_extents_give(&root, memory, sizeof memory);
  const char *floor = memory + sizeof memory / 2;
  assert_null(sn_extents_take_high(&root, sizeof memory / 2 + SN_EXTENT, floor));
  assert_ptr_equal(sn_extents_take_high(&root, sizeof memory / 2, floor), floor);
  assert_null(sn_extents_take_high(&root, SN_EXTENT, floor));
  assert_ptr_equal(sn_extents_take_low(&root, SN_EXTENT), memory);
}

/* Small blocks that stay, from below, among large ones, from above, that fill the memory. */
static void large_blocks_leave_one_piece(void **state) {
  enum { LARGE = 200, SMALL = 2 };
  (void)state;
  sn_extent *root = NULL;
  char *large[UNITS / LARGE];
  size_t n = 0;
  sn_extents_give(&root, memory, sizeof memory);
  for (char *block;
       (block = sn_extents_take_high(&root, LARGE * SN_EXTENT, memory + 64 * SN_EXTENT));) {
    large[n++] = block;
    assert_non_null(sn_extents_take_low(&root, SMALL * SN_EXTENT));
  }
  assert_true(n >= (size_t)(UNITS / LARGE) - 1);
  for (size_t i = 0; i < n; i++)
    sn_extents_give(&root, large[(i * 7) % n], LARGE * SN_EXTENT); /* in another order */
  assert_true(root->bytes >= (UNITS - n * SMALL) * SN_EXTENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_never_overlap_and_none_is_lost),
      cmocka_unit_test(equal_blocks_make_no_list),
      cmocka_unit_test(nothing_is_taken_below_the_floor),
      cmocka_unit_test(large_blocks_leave_one_piece),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
