/* test_tune.c - programs that tune themselves: whatever form a call runs, its results are those of a program that does not
 * tune, bit for bit; and what a program has found is kept, written and read. Which form is the quickest is not tested, since
 * that depends on the machine. test_target.c compares the bits knob by knob. */
#include "support.h"

#include "base/format.h"
#include "base/host.h"
#include "tensor/program.h"
#include "tensor/tuned.h"

/* By the clock: a form with code of its own waits for the machine's compiler, which may be busy. */
static const double MOST_MS = 120000;

/* ---- a training step ------------------------------------------------------------------------- */

enum { ROWS = 24, IN = 40, WIDTH = 32, VALUES = IN * WIDTH + WIDTH };

/* w, b, x -> w, b, loss; the first two in the memory of the old ones */
static sn_program *step_with(sn_context *ctx, bool tune, bool record) {
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  sn_tensor *in[] = {sn_placeholder(ctx, SN_F32, DIMS(IN, WIDTH)),
                     sn_placeholder(ctx, SN_F32, DIMS(WIDTH)),
                     sn_placeholder(ctx, SN_F32, DIMS(ROWS, IN))};
  sn_tensor *p[] = {sn_variable(in[0]), sn_variable(in[1])}, *grads[2], *out[3];
  sn_tensor *y = sn_tanh(sn_add(sn_matmul(in[2], p[0]), p[1]));
  out[2] = sn_mean(sn_square(sn_sub(sn_softmax(y, -1), sn_scalar(ctx, 0.1))), SN_ALL_AXES, false);
  assert_int_equal(sn_gradients(out[2], p, 2, grads), SN_OK);
  for (int i = 0; i < 2; i++) out[i] = sn_sub(in[i], sn_mul(grads[i], sn_scalar(ctx, 0.5)));
  const bool donate[] = {true, true, false};
  const sn_program_options options = {.donate = donate, .tune = tune, .record = record};
  sn_program *program = NULL;
  assert_int_equal(sn_compile_with(ctx, in, 3, out, 3, &options, &program), SN_OK);
  sn_scope_end(ctx);
  return program;
}

static sn_program *step_in(sn_context *ctx, bool tune) { return step_with(ctx, tune, false); }

typedef struct training {
  sn_program *program;
  sn_tensor *tensors[3]; /* w, b, x; then w, b, loss in place of the first three */
  sn_tensor *loss;
} training;

static training begin(sn_context *ctx, bool tune) {
  return (training){.program = step_in(ctx, tune),
                    .tensors = {ramp(ctx, DIMS(IN, WIDTH), 0x1p-9f),
                                ramp(ctx, DIMS(WIDTH), 0x1p-5f),
                                ramp(ctx, DIMS(ROWS, IN), 0x1p-8f)}};
}

static void take_step(training *t, bool later) {
  sn_tensor *out[3];
  uint32_t ticket;
  const sn_status status = later ? sn_program_run_async(t->program, t->tensors, out, &ticket)
                                 : sn_program_run(t->program, t->tensors, out);
  assert_int_equal(status, SN_OK);
  for (int i = 0; i < 2; i++) sn_release(t->tensors[i]);
  sn_release(t->loss);
  for (int i = 0; i < 2; i++) t->tensors[i] = out[i];
  t->loss = out[2];
}

static void end(training *t) {
  for (int i = 0; i < 3; i++) sn_release(t->tensors[i]);
  sn_release(t->loss);
  sn_program_release(t->program);
}

static void read_values(const training *t, float out[VALUES + 1]) {
  assert_int_equal(sn_read(t->tensors[0], out, IN * WIDTH * sizeof *out), SN_OK);
  assert_int_equal(sn_read(t->tensors[1], out + IN * WIDTH, WIDTH * sizeof *out), SN_OK);
  assert_int_equal(sn_read(t->loss, out + VALUES, sizeof *out), SN_OK);
}

static bool is_done(sn_program *program) {
  const char *json = NULL;
  assert_int_equal(sn_program_tuning(program, &json), SN_OK);
  assert_non_null(json);
  return strstr(json, "{\"done\":true") == json;
}

static void step_until_tuned(training *t) {
  const double begun = sn_host_now_ms();
  while (!is_done(t->program)) {
    assert_true(sn_host_now_ms() < begun + MOST_MS);
    take_step(t, false);
  }
}

/* Steps until it is tuned, each beside one that is not. */
static void train_beside(sn_context *ctx, bool later) {
  static float plain[VALUES + 1], tuned[VALUES + 1];
  training a = begin(ctx, false), b = begin(ctx, true);
  const char *json = "";
  const double begun = sn_host_now_ms();
  int calls = 0;
  assert_int_equal(sn_program_tuning(a.program, &json), SN_OK);
  assert_null(json);
  for (bool done = false; !done; calls++) {
    assert_true(sn_host_now_ms() < begun + MOST_MS);
    take_step(&a, false);
    take_step(&b, later);
    done = is_done(b.program);
    if (later && !done && calls % 7) continue; /* several are under way */
    read_values(&a, plain);
    read_values(&b, tuned);
    if (memcmp(plain, tuned, sizeof plain)) fail_msg("other bits after %d steps", calls + 1);
  }
  take_step(&a, false);
  take_step(&b, later);
  read_values(&a, plain);
  read_values(&b, tuned);
  assert_memory_equal(plain, tuned, sizeof plain);
  assert_int_equal(sn_program_tuning(b.program, &json), SN_OK);
  for (int k = 0; k < SN_KNOBS; k++) { /* each was tried */
    char name[64];
    sn_format(name, sizeof name, "{\"knob\":\"%s\",", sn_knobs[k].name);
    if (!strstr(json, name)) fail_msg("%s was not tried", name);
  }
  end(&a);
  end(&b);
}

static void every_call_has_the_same_bits(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads += 2) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = threads});
    train_beside(f.ctx, false);
    fixture_close(&f);
  }
}

static void calls_in_the_background_too(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  train_beside(f.ctx, true);
  fixture_close(&f);
}

/* At any time: with a form half compiled, runs under way. */
static void a_program_may_go_while_it_tunes(void **state) {
  (void)state;
  for (int calls = 0; calls < 60; calls += 3) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = 2});
    training t = begin(f.ctx, true);
    for (int i = 0; i < calls; i++) take_step(&t, i % 5 != 0);
    end(&t);
    assert_int_equal(sn_synchronize(f.ctx), SN_OK);
    fixture_close(&f);
  }
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static const char *text_of(sn_context *ctx) {
  const char *text = NULL;
  assert_int_equal(sn_tuned(ctx, &text), SN_OK);
  return text;
}

static void what_was_found_is_used(void **state) {
  (void)state;
  char text[1024];
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  assert_string_equal(text_of(f.ctx), "sinter tuned 1\n");
  training t = begin(f.ctx, true);
  step_until_tuned(&t);
  end(&t);
  sn_format(text, sizeof text, "%s", text_of(f.ctx));
  fixture_close(&f);

  static float plain[VALUES + 1], tuned[VALUES + 1];
  const char *json = text;
  fixture_open(&f, (sn_options){.threads = 2});
  assert_int_equal(sn_use_tuned(f.ctx, text), SN_OK);
  assert_int_equal(sn_use_tuned(f.ctx, text), SN_OK);
  assert_string_equal(text_of(f.ctx), text);
  training a = begin(f.ctx, false), b = begin(f.ctx, true);
  assert_true(is_done(b.program)); /* nothing is to be found out; a text has no times */
  assert_int_equal(sn_program_tuning(b.program, &json), SN_OK);
  assert_null(strstr(json, "\"ms\":"));
  for (int i = 0; i < 3; i++) {
    take_step(&a, false);
    take_step(&b, false);
  }
  read_values(&a, plain);
  read_values(&b, tuned);
  assert_memory_equal(plain, tuned, sizeof plain);
  end(&a);
  end(&b);
  fixture_close(&f);
}

/* With the times of what lost; before, there is nothing to tell. */
static void a_program_on_record_is_the_form_that_was_found(void **state) {
  (void)state;
  char told[8192];
  const char *json = NULL;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  sn_program *record = step_with(f.ctx, true, true);
  assert_int_equal(sn_program_tuning(record, &json), SN_OK);
  assert_null(json);
  sn_program_release(record);

  training t = begin(f.ctx, true);
  step_until_tuned(&t);
  assert_int_equal(sn_program_tuning(t.program, &json), SN_OK);
  sn_format(told, sizeof told, "%s", json);
  const sn_tuning tuning = t.program->compiled->tuning;
  end(&t);

  record = step_with(f.ctx, true, true);
  assert_true(sn_tuning_equal(&record->compiled->tuning, &tuning));
  assert_non_null(strstr(sn_program_inspection(record), "\"kernels\""));
  assert_int_equal(sn_program_tuning(record, &json), SN_OK);
  assert_string_equal(json, told);
  assert_non_null(strstr(json, "\"bestMs\":"));
  sn_program_release(record);
  record = step_with(f.ctx, false, true); /* unless it is not asked for */
  assert_true(sn_tuning_is_plain(&record->compiled->tuning));
  assert_int_equal(sn_program_tuning(record, &json), SN_OK);
  assert_null(json);
  sn_program_release(record);

  const sn_status status = sn_use_tuned(f.ctx, text_of(f.ctx)); /* which forgets no time */
  assert_int_equal(status, SN_OK);
  record = step_with(f.ctx, true, true);
  assert_int_equal(sn_program_tuning(record, &json), SN_OK);
  assert_string_equal(json, told);
  sn_program_release(record);
  fixture_close(&f);
}

/* A text of everything that could be chosen otherwise, for the program that is asked for. */
static void any_choice_that_was_kept_gives_the_same_bits(void **state) {
  (void)state;
  static float plain[VALUES + 1], tuned[VALUES + 1];
  fixture f;
  fixture_open(&f, (sn_options){.threads = 2});
  training a = begin(f.ctx, false);
  take_step(&a, false);
  read_values(&a, plain);
  for (int factor = 0; factor < SN_MOST_FACTORS; factor++) {
    char text[1024];
    size_t at = 0;
    const sn_compiled *c = a.program->compiled;
    at += sn_format(text, sizeof text, "sinter tuned 1\n%s 2 %u %zu %u 0", sn_isa(f.ctx), c->hash,
                    c->key.n_nodes, c->switches);
    for (int k = 0; k < SN_KNOBS; k++)
      if (factor < sn_knobs[k].n_factors)
        at += sn_format(text + at, sizeof text - at, " %s*%g", sn_knobs[k].name,
                        sn_knobs[k].factors[factor]);
    sn_format(text + at, sizeof text - at, "\n");
    assert_int_equal(sn_use_tuned(f.ctx, text), SN_OK);
    training b = begin(f.ctx, true);
    assert_false(sn_tuning_is_plain(&b.program->compiled->tuning));
    take_step(&b, false);
    read_values(&b, tuned);
    assert_memory_equal(plain, tuned, sizeof plain);
    end(&b);
  }
  end(&a);
  fixture_close(&f);
}

static void damaged_texts_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "tuned: this is no text of tuned"},
      {"sinter tuned 2\n", "tuned: this is no text of tuned"},
      {"sinter tuned 1\navx2 2 17 3 5", "tuned: line 2 of the text is damaged"},
      {"sinter tuned 1\nsse2 2 17 3 5 0\nsse2 2 17 3\n", "tuned: line 3 of the text is damaged"},
      {"sinter tuned 1\nsse2 2 4294967296 3 5 0\n", "tuned: line 2 of the text is damaged"},
      {"sinter tuned 1\nsse2 2 -1 3 5 0\n", "tuned: line 2 of the text is damaged"},
      {"sinter tuned 1\nsse2 2 17 3 5 99999999999999999999999\n",
       "tuned: line 2 of the text is damaged"},
      {"sinter tuned 1\n\n", "tuned: line 2 of the text is damaged"},
  };
  fixture f;
  fixture_open(&f, (sn_options){.threads = 1});
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(sn_use_tuned(f.ctx, bad[i].text), SN_ERR_ARGUMENT);
    expect_error(f.ctx, SN_ERR_ARGUMENT, bad[i].message);
  }
  assert_string_equal(text_of(f.ctx), "sinter tuned 1\nsse2 2 17 3 5 0\n"); /* before the damage */
  const char *later =
      "sinter tuned 1\nrisc9 2 1 3 5 0 lanes*4\nsse2 2 18 3 5 0 lanes*7 new*2 lanes*4\n";
  assert_int_equal(sn_use_tuned(f.ctx, later), SN_OK); /* of other machines and versions */
  assert_string_equal(text_of(f.ctx), "sinter tuned 1\nsse2 2 17 3 5 0\nsse2 2 18 3 5 0 lanes*4\n");
  fixture_close(&f);
}

/* ---- the instruction set --------------------------------------------------------------------- */

static void an_instruction_set_can_be_forced(void **state) {
  (void)state;
  fixture best;
  fixture_open(&best, (sn_options){.threads = 1});
  const char *isa = sn_isa(best.ctx);
  sn_context *ctx = NULL;
  assert_int_equal(sn_context_create(&(sn_options){.threads = 1, .isa = "vax"}, &ctx),
                   SN_ERR_ARGUMENT);
  assert_null(ctx);
  for (int i = SN_ISA_GENERIC; i <= SN_ISA_NEON; i++) {
    const char *name = sn_isa_name((sn_isa_id)i);
    const sn_status status = sn_context_create(&(sn_options){.threads = 1, .isa = name}, &ctx);
    assert_true(status == SN_OK || (status == SN_ERR_ARGUMENT && strcmp(name, isa)));
    if (i == SN_ISA_SSE2 && !strncmp(isa, "avx", 3)) assert_int_equal(status, SN_OK);
    if (status) continue;
    assert_string_equal(sn_isa(ctx), name);
    sn_context_destroy(ctx);
    ctx = NULL;
  }
  fixture_close(&best);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_has_the_same_bits),
      cmocka_unit_test(calls_in_the_background_too),
      cmocka_unit_test(a_program_may_go_while_it_tunes),
      cmocka_unit_test(what_was_found_is_used),
      cmocka_unit_test(a_program_on_record_is_the_form_that_was_found),
      cmocka_unit_test(any_choice_that_was_kept_gives_the_same_bits),
      cmocka_unit_test(damaged_texts_are_refused),
      cmocka_unit_test(an_instruction_set_can_be_forced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
