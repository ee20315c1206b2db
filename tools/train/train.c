/* train.c - sinter-train: trains an exported step on arrays. In the order of main: arguments, the programs, their data,
 * the checkpoint to go on from, the steps, what is left behind. Several processes go the same way (group.h). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "batches.h"
#include "checkpoint.h"
#include "group.h"
#include "losses.h"
#include "options.h"
#include "safetensors.h"
#include "state.h"
#include "steps.h"
#include "stop.h"

typedef struct training {
  const options *options;
  group group;
  bool checkpoints, out; /* somebody writes them: process 0 */
  steps steps;
  sn_context *ctx;               /* of the steps */
  const sn_step_info *info;      /* of the one for whole batches; both have one state */
  sn_tensor **inputs, **results; /* of a run: sn_step_info says how they lie */
  batches data;
  checkpoints kept;
  losses csv;
  place at;
  uint64_t first_step; /* that this process does */
  double first_loss, loss;
  double begin, shown; /* seconds */
  int ended;           /* the signal that ends it, or 0: the same in all processes */
} training;

static volatile sig_atomic_t caught; /* the signal, or 0 */
static void catch_signal(int number) { caught = number; }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void open_steps(training *t) {
  const int asked = t->options->threads;
  t->steps = steps_open(t->options, asked ? asked : t->group.threads);
  t->ctx = t->steps.ctx;
  t->info = t->steps.whole.info;
  const size_t n = t->info->n_state + t->info->n_rates;
  size_t others = t->info->n_others;
  if (t->steps.last.program && t->steps.last.info->n_others > others)
    others = t->steps.last.info->n_others;
  t->inputs = allocate(n + t->info->n_batch, sizeof *t->inputs);
  t->results = allocate(others + 1 + t->info->n_state, sizeof *t->results);
  if (sn_step_init(t->steps.whole.program, t->inputs))
    stop_for(EXIT_TRAINING, "the first state", t->ctx);
}

static double read_loss(sn_context *ctx, sn_tensor *t) {
  sn_tensor *wide = sn_astype(t, SN_F64);
  double loss = NAN;
  if (sn_read(wide, &loss, sizeof loss)) stop_for(EXIT_TRAINING, "the loss", ctx);
  sn_release(wide);
  return loss;
}

static void do_step(training *t) {
  const size_t n_state = t->info->n_state, n_batch = t->info->n_batch;
  sn_tensor **batch = t->inputs + n_state + t->info->n_rates;
  const bool is_last = batches_next(&t->data, t->ctx, &t->at, batch);
  const step *next = is_last ? &t->steps.last : &t->steps.whole;
  const size_t n_others = next->info->n_others;
  group_next_step(is_last);
  if (sn_program_run(next->program, t->inputs, t->results))
    stop_for(EXIT_TRAINING, "a step", t->ctx);
  t->loss = read_loss(t->ctx, t->results[n_others]);
  t->at.steps++;
  t->at.loss_sum += t->loss;
  for (size_t i = 0; i < n_batch; i++) sn_release(batch[i]);
  for (size_t i = 0; i <= n_others; i++) sn_release(t->results[i]);
  for (size_t i = 0; i < n_state; i++) {
    sn_release(t->inputs[i]);
    t->inputs[i] = t->results[n_others + 1 + i];
  }
}

/* ---- around it ------------------------------------------------------------------------------- */

/* What may not change while a training goes on. */
static char *describe_run(const options *o, const steps *s, const npy_array *arrays) {
  uint32_t data = 0;
  char last[20] = "";
  for (size_t i = 0; i < o->n_arrays; i++)
    data = checksum(&arrays[i].hash, sizeof arrays[i].hash, data);
  if (s->last.program) snprintf(last, sizeof last, ", last %08x", s->last.hash);
  char *text = allocate(100, 1);
  snprintf(text, 100, "step %08x, data %08x, seed %" PRIu32 "%s", s->whole.hash, data, o->seed,
           last);
  return text;
}

static void save(training *t) {
  losses_sync(&t->csv); /* rows before the checkpoint that needs them */
  if (!t->checkpoints) return;
  sn_tensor **whole = state_collect(t->ctx, t->info, t->group.rank, t->inputs);
  if (whole) checkpoints_write(&t->kept, whole, &t->at);
  state_release(t->info, whole);
}

/* What all have to be given alike. */
static void check_alike(const training *t, const char *run) {
  const options *o = t->options;
  const uint64_t numbers[] = {o->steps,       o->every, o->rounds,   o->split_state,
                              t->checkpoints, t->out,   o->drop_last};
  const int other =
      group_differing(checksum(numbers, sizeof numbers, checksum(run, strlen(run), 0)));
  if (other)
    stop(EXIT_INPUT, "process %d has another step, other data or other arguments than process 0",
         other);
}

/* All have made the same of it. */
static void check_state(const training *t) {
  if (t->group.ranks == 1) return;
  const int other = group_differing(state_checksum(t->info, t->inputs));
  if (other)
    stop(EXIT_TRAINING,
         "process %d has another state than process 0 after step %" PRIu64
         ": their machines compute differently; a step exported with deterministic: true has the "
         "same bits on all",
         other, t->at.steps);
}

/* The state of the newest checkpoint, or NULL. */
static sn_tensor **read_checkpoint(training *t, const char *run) {
  const options *o = t->options;
  if (!o->checkpoint) return NULL;
  t->kept = checkpoints_open(o->checkpoint, run, t->info);
  if (!o->resume) {
    if (checkpoints_exist(&t->kept))
      stop(EXIT_CHECKPOINT,
           "%s has checkpoints: --resume goes on from them, another folder begins anew",
           o->checkpoint);
    return NULL;
  }
  sn_tensor **state = allocate(t->info->n_state, sizeof *state);
  const bool found = checkpoints_read(&t->kept, t->ctx, state, &t->at);
  if (t->at.steps > o->steps)
    stop(EXIT_CHECKPOINT, "%s is at step %" PRIu64 " already, --steps is %" PRIu64, o->checkpoint,
         t->at.steps, o->steps);
  if (found) return state;
  free(state);
  return NULL;
}

/* From where the training begins: that of the file, or of a checkpoint, which process 0 gives to all. */
static void find_start(training *t, const char *run) {
  sn_tensor **state = read_checkpoint(t, run);
  bool found = state;
  group_share(&found, sizeof found);
  if (!found) return;
  group_share(&t->at, sizeof t->at);
  for (size_t i = 0; i < t->info->n_state; i++) sn_release(t->inputs[i]);
  state_give(t->ctx, t->info, t->group.rank, state, t->inputs);
  state_release(t->info, state);
}

/* A line on a terminal that is written anew twice a second. */
static void show_progress(training *t, bool last) {
  static int is_terminal = -1;
  if (is_terminal < 0) is_terminal = !t->group.rank && isatty(STDERR_FILENO);
  const double time = now(), since = time - t->begin;
  if (!is_terminal || (!last && time - t->shown < 0.5)) return;
  t->shown = time;
  const double rate = since > 0 ? (double)(t->at.steps - t->first_step) / since : 0;
  const uint64_t left = rate > 0 ? (uint64_t)((double)(t->options->steps - t->at.steps) / rate) : 0;
  fprintf(stderr,
          "\r\033[Kstep %" PRIu64 " of %" PRIu64 "  loss %.6g  %.1f steps/s  %" PRIu64 ":%02" PRIu64
          " left%s",
          t->at.steps, t->options->steps, t->loss, rate, left / 60, left % 60, last ? "\n" : "");
}

static void train(training *t) {
  t->begin = t->shown = now();
  t->first_step = t->at.steps;
  uint64_t saved = t->at.steps;
  while (t->at.steps < t->options->steps && !(t->ended = group_largest(caught))) {
    do_step(t);
    if (t->at.steps == t->first_step + 1) t->first_loss = t->loss;
    losses_add(&t->csv, t->at.steps, t->loss);
    if (t->at.steps % t->options->every == 0) {
      check_state(t);
      save(t);
      saved = t->at.steps;
    }
    show_progress(t, false);
  }
  check_state(t);
  if (t->at.steps > t->first_step) show_progress(t, true);
  if (t->at.steps > saved || !t->kept.generation) save(t);
}

/* Named as in safetensors.encode(step.params(state)): "params.0.weight" is 0.weight. */
static void write_params(const training *t, sn_tensor *const *state) {
  const sn_step_info *info = t->info;
  stored *list = allocate(info->n_state, sizeof *list);
  size_t n = 0;
  for (size_t i = 0; i < info->n_state; i++) {
    const sn_step_input *input = &info->inputs[i];
    const char *name = input->path + strlen("params");
    if (strncmp(input->path, "params", strlen("params")) || (*name && *name != '.')) continue;
    const file_view data = {sn_data(state[i]), sn_size_bytes(state[i])};
    list[n++] = (stored){*name ? name + 1 : name, input->dtype, input->rank, input->dims, data, i};
  }
  safetensors_sort(list, n);
  file_view head = safetensors_head(list, n, NULL);
  safetensors_write(t->options->out, head, list, n);
  free((void *)(uintptr_t)head.bytes);
  free(list);
}

static void leave_params(const training *t) {
  sn_tensor **whole = state_collect(t->ctx, t->info, t->group.rank, t->inputs);
  if (whole) write_params(t, whole);
  state_release(t->info, whole);
}

/* Of the state each process holds some whole, and parts of some. */
static void print_held(const training *t) {
  double held = 0, all = 0;
  for (size_t i = 0; i < t->info->n_state; i++) {
    const double bytes = (double)sn_size_bytes(t->inputs[i]);
    held += bytes;
    all += bytes * t->info->inputs[i].parts;
  }
  printf("each holds %.1f of %.1f MB of the state\n", held / 1e6, all / 1e6);
}

static void summarise(const training *t) {
  const double seconds = now() - t->begin;
  const uint64_t done = t->at.steps - t->first_step;
  if (t->group.rank) return;
  printf("%" PRIu64 " steps in %.1f s, %.1f a second, on %d threads with %s; %" PRIu64
         " steps altogether\n",
         done, seconds, seconds > 0 ? (double)done / seconds : 0, sn_threads(t->ctx),
         sn_isa(t->ctx), t->at.steps);
  if (t->group.ranks > 1) {
    const group_times times = group_measured();
    const double hidden = times.under_way - times.waited;
    print_held(t);
    printf("%d processes exchanged %.1f MB each in %.2f s, %.0f %% of it behind work\n",
           t->group.ranks, times.bytes / 1e6, times.under_way,
           times.under_way > 0 && hidden > 0 ? 100 * hidden / times.under_way : 0);
  }
  if (done) printf("loss %.6g at first, %.6g at last\n", t->first_loss, t->loss);
  if (t->data.over)
    printf(t->data.has_last
               ? "a pass ends with a batch of %" PRIu64 " rows, the others have %" PRIu64 "\n"
               : "a pass leaves out its last %" PRIu64 " rows, which fill no batch of %" PRIu64
                 "\n",
           t->data.over, t->data.size);
  if (t->options->checkpoint) printf("checkpoint in %s\n", t->options->checkpoint);
  if (t->options->out && !t->ended) printf("parameters in %s\n", t->options->out);
}

static void close_training(training *t) {
  for (size_t i = 0; i < t->info->n_state + t->info->n_rates; i++) sn_release(t->inputs[i]);
  if (t->csv.file) fclose(t->csv.file);
  free(t->inputs);
  free(t->results);
  free(t->data.order);
  steps_close(&t->steps);
}

/* Process 0 alone leaves something behind. */
static void leave_nothing(options *o) { o->checkpoint = o->out = o->losses = NULL; }

int main(int argc, char **argv) {
  options o = {0};
  training t = {.options = &o, .group = group_open(&argc, &argv)};
  o = options_read(argc, argv);
  npy_array arrays[MOST_ARRAYS];
  open_steps(&t);
  for (size_t i = 0; i < o.n_arrays; i++) arrays[i] = npy_open(o.arrays[i]);
  t.data = batches_of(arrays, &o, &t.steps);
  char *run = describe_run(&o, &t.steps, arrays);
  t.checkpoints = o.checkpoint;
  t.out = o.out;
  check_alike(&t, run);
  if (o.rounds) group_round_sums();
  if (t.group.rank) leave_nothing(&o);
  find_start(&t, run);
  t.csv = losses_open(o.losses, t.at.steps);
  signal(SIGINT, catch_signal);
  signal(SIGTERM, catch_signal);
  train(&t);
  if (t.out && !t.ended) leave_params(&t);
  summarise(&t);
  close_training(&t);
  for (size_t i = 0; i < o.n_arrays; i++) npy_close(&arrays[i]);
  free(run);
  group_close();
  return t.ended ? EXIT_SIGNAL + t.ended : EXIT_SUCCESS;
}
