#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sinter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "stop.h"

static const char usage[] =
    "sinter-train FILE [options]: trains a step that step.export(state, ...batch) has written\n"
    "\n"
    "  --data FILE        an array of the batch as .npy; again for each further one\n"
    "  --labels FILE      the last one\n"
    "  --steps N          steps altogether, those before --resume too\n"
    "  --seed S           random.key(S) shuffles the rows; default 0\n"
    "  --batch N          rows of a batch, which the step has to be made for\n"
    "  --last FILE        the same step, exported for the smaller batch that a pass ends with\n"
    "  --drop-last        leaves out the rows at the end of a pass that fill no batch\n"
    "  --checkpoint DIR   keeps the training there, while it runs and at its end\n"
    "  --every N          steps from checkpoint to checkpoint; default 100\n"
    "  --resume           goes on from the newest checkpoint, or begins where there is none\n"
    "  --out FILE         the parameters at the end, as .safetensors\n"
    "  --losses FILE      the loss of each step, as .csv\n"
    "  --threads N        default: one per core\n"
    "  --isa NAME         instruction set, such as avx2; default: the best that the machine has\n"
    "  --gradients TYPE   how they travel between processes: float32 (default) or bfloat16\n"
    "  --split-state      each process has a part of the optimizer's state, and updates that\n"
    "  --help, --version\n"
    "\n"
    "Exit codes: 0 done, 1 no memory, 2 arguments, 3 the step or the data, 4 checkpoints, 5 a file "
    "that cannot be\n"
    "written, 130 and 143 interrupted, with a checkpoint where there is a folder for it. "
    "docs/train.md has more.\n";

enum {
  DATA = 1,
  LABELS,
  STEPS,
  SEED,
  BATCH,
  LAST,
  DROP_LAST,
  CHECKPOINT,
  EVERY,
  RESUME,
  OUT,
  LOSSES,
  THREADS,
  ISA,
  GRADIENTS,
  SPLIT_STATE,
  HELP,
  VERSION
};

static const struct option table[] = {{"data", required_argument, NULL, DATA},
                                      {"labels", required_argument, NULL, LABELS},
                                      {"steps", required_argument, NULL, STEPS},
                                      {"seed", required_argument, NULL, SEED},
                                      {"batch", required_argument, NULL, BATCH},
                                      {"last", required_argument, NULL, LAST},
                                      {"drop-last", no_argument, NULL, DROP_LAST},
                                      {"checkpoint", required_argument, NULL, CHECKPOINT},
                                      {"every", required_argument, NULL, EVERY},
                                      {"resume", no_argument, NULL, RESUME},
                                      {"out", required_argument, NULL, OUT},
                                      {"losses", required_argument, NULL, LOSSES},
                                      {"threads", required_argument, NULL, THREADS},
                                      {"isa", required_argument, NULL, ISA},
                                      {"gradients", required_argument, NULL, GRADIENTS},
                                      {"split-state", no_argument, NULL, SPLIT_STATE},
                                      {"help", no_argument, NULL, HELP},
                                      {"version", no_argument, NULL, VERSION},
                                      {0}};

/* A whole number from least to most. */
static int64_t number(const char *name, const char *text, int64_t least, int64_t most) {
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most)
    stop(EXIT_USAGE, "--%s is %s, expected a whole number from %" PRId64 " to %" PRId64, name, text,
         least, most);
  return value;
}

/* Largest whole number that JavaScript counts to. */
static const int64_t MOST = INT64_C(1) << 53;

static bool is_rounded(const char *type) {
  const bool rounded = !strcmp(type, "bfloat16");
  if (!rounded && strcmp(type, "float32"))
    stop(EXIT_USAGE, "--gradients is %s, expected float32 or bfloat16", type);
  return rounded;
}

static _Noreturn void answer(const char *text) {
  fputs(text, stdout);
  group_close();
  exit(EXIT_SUCCESS);
}

static void set(options *o, int option, const char **labels) {
  switch (option) {
  case DATA:
    if (o->n_arrays == MOST_ARRAYS - 1)
      stop(EXIT_USAGE, "--data is given more than %d times", MOST_ARRAYS - 1);
    o->arrays[o->n_arrays++] = optarg;
    break;
  case LABELS: *labels = optarg; break;
  case STEPS: o->steps = (uint64_t)number("steps", optarg, 0, MOST); break;
  case SEED: o->seed = (uint32_t)number("seed", optarg, -MOST, MOST); break;
  case BATCH: o->batch = (uint64_t)number("batch", optarg, 1, MOST); break;
  case LAST: o->last = optarg; break;
  case DROP_LAST: o->drop_last = true; break;
  case CHECKPOINT: o->checkpoint = optarg; break;
  case EVERY: o->every = (uint64_t)number("every", optarg, 1, MOST); break;
  case RESUME: o->resume = true; break;
  case OUT: o->out = optarg; break;
  case LOSSES: o->losses = optarg; break;
  case THREADS: o->threads = (int)number("threads", optarg, 1, 1024); break;
  case ISA: o->isa = optarg; break;
  case GRADIENTS: o->rounds = is_rounded(optarg); break;
  case SPLIT_STATE: o->split_state = true; break;
  case HELP: answer(usage);
  case VERSION: answer("sinter-train " SN_VERSION "\n");
  default: /* getopt_long has said why */ group_end_all(EXIT_USAGE); exit(EXIT_USAGE);
  }
}

options options_read(int argc, char **argv) {
  options o = {.steps = UINT64_MAX, .every = 100};
  const char *labels = NULL;
  for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;)
    set(&o, option, &labels);
  if (labels) o.arrays[o.n_arrays++] = labels;
  if (optind != argc - 1) stop(EXIT_USAGE, "expected one file with a step; --help says more");
  o.step = argv[optind];
  if (o.steps == UINT64_MAX) stop(EXIT_USAGE, "--steps is missing");
  if (o.resume && !o.checkpoint) stop(EXIT_USAGE, "--resume needs --checkpoint");
  if (o.last && o.drop_last)
    stop(EXIT_USAGE, "--last trains the batch that --drop-last leaves out: give one of them");
  return o;
}
