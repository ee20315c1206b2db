/* recipes.h - random valid programs of up to 40 steps, each made from a seed. They run compiled or eager,
 * with passes on and off, against the reference interpreter: every output has to have equal bits. */
#ifndef SN_TESTS_RECIPES_H
#define SN_TESTS_RECIPES_H

#include "twin.h"

#define RECIPE_STEPS 40

typedef struct recipe {
  uint64_t seed;
  size_t n_steps;
  bool dropped[RECIPE_STEPS];
  sn_op planted, planted_as; /* a fault to be found; equal: none */
} recipe;

recipe recipe_of(uint64_t seed);

/* Programs that have run within less memory than they take otherwise. */
extern size_t recipe_budgets_met;

/* Whether the program agrees with the reference; if not, text says where. A compiled one runs
 * twice, the second time within a part of the memory that it took, where it can. shown (or NULL): how it
 * ran and its graph. */
bool recipe_cook(const recipe *given, sn_context *ctx, char text[TWIN_TEXT], char *shown,
                 size_t shown_bytes);

/* Drops steps, last first, as long as the recipe still fails; returns how many are left. */
size_t recipe_shrink(recipe *given, sn_context *ctx);

#endif
