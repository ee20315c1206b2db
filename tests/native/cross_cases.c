/* cross_cases THREADS [fast] < cases - evaluates a list of cases and prints the bytes of their
 * results. Its twin tests/cross/evaluate.mjs does the same through the JS package: the two outputs
 * must be the same text. cross_cases --ops prints the elementwise ops of the table: name, inputs,
 * dtypes, domain.
 *
 * A case is a list of lines, each one call: the result's name, the op, its arguments. A value is a
 * name that was given before, or a number; a list is written [2,3].
 *
 *   case NAME               everything that was named before is released
 *   x data float32 [2,3] 0000803f...    the elements' bytes
 *   y tanh x                any elementwise op of the table
 *   s sum y [0,1] 1         reductions over axes, keepdims
 *   begin w b               makes w and b variables
 *   end loss dw db          ends that, and names the gradients of loss by them
 *   eval w b                computes their values and drops the graph that made them
 *   out s                   prints "NAME dtype bytes", or "NAME error MESSAGE" */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sinter.h>

#include "graph/ops.h"

enum { MAX_VALUES = 128, MAX_WORDS = 64, MAX_NAME = 32 };

static const char *const dtype_names[] = {"float32", "float64", "int32", "bool"};

typedef struct named_value {
  char name[MAX_NAME];
  sn_tensor *tensor;
} named_value;

typedef struct machine {
  sn_context *ctx;
  char name[64]; /* of the case */
  named_value values[MAX_VALUES];
  size_t count;
  sn_tensor *numbers[MAX_WORDS]; /* scalars made for one line */
  size_t number_count;
  sn_tensor *variables[MAX_WORDS]; /* between begin and end */
  size_t variable_count;
} machine;

static void stop(const char *what, const char *word) {
  fprintf(stderr, "cross_cases: %s: %s\n", what, word);
  exit(2);
}

/* ---- words ----------------------------------------------------------------------------------- */

static sn_dtype read_dtype(const char *word) {
  for (int i = 0; i < 4; i++)
    if (strcmp(word, dtype_names[i]) == 0) return (sn_dtype)i;
  stop("not a dtype", word);
  return SN_F32;
}

/* "[2,3]" into list; returns its length. */
static int read_list(const char *word, int64_t *list) {
  int count = 0;
  const char *at = word + 1;
  while (*at && *at != ']') {
    char *end;
    if (count == SN_MAX_RANK) stop("too long", word);
    list[count++] = strtoll(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  return count;
}

static uint32_t read_axes(const char *word) {
  int64_t list[SN_MAX_RANK];
  uint32_t axes = 0;
  for (int i = read_list(word, list); i > 0; i--) axes |= 1U << list[i - 1];
  return axes;
}

static unsigned char read_byte(const char *digits) {
  const char pair[3] = {digits[0], digits[1], 0};
  return (unsigned char)strtoul(pair, NULL, 16);
}

/* ---- values ---------------------------------------------------------------------------------- */

static named_value *find(machine *m, const char *name) {
  for (size_t i = 0; i < m->count; i++)
    if (strcmp(m->values[i].name, name) == 0) return &m->values[i];
  return NULL;
}

/* Takes over the reference. */
static void name_value(machine *m, const char *name, sn_tensor *tensor) {
  named_value *value = find(m, name);
  if (value) {
    sn_release(value->tensor);
  } else {
    if (m->count == MAX_VALUES || strlen(name) >= MAX_NAME) stop("no room for", name);
    value = &m->values[m->count++];
    strcpy(value->name, name);
  }
  value->tensor = tensor;
}

/* Borrowed until the end of the line. */
static sn_tensor *operand(machine *m, const char *word) {
  if (isalpha((unsigned char)word[0])) {
    const named_value *value = find(m, word);
    if (!value) stop("no such value", word);
    return value->tensor;
  }
  return m->numbers[m->number_count++] = sn_scalar(m->ctx, strtod(word, NULL));
}

static void forget(machine *m) {
  for (size_t i = 0; i < m->count; i++) sn_release(m->values[i].tensor);
  m->count = 0;
  sn_error_clear(m->ctx);
}

/* ---- calls ----------------------------------------------------------------------------------- */

#define ROW(id) {#id, sn_##id},
static const struct {
  const char *name;
  sn_tensor *(*call)(sn_tensor *);
} unary[] = {SN_UNARY_OPS(ROW)};

static sn_tensor *cross_entropy(sn_tensor *logits, sn_tensor *labels) {
  return sn_softmax_cross_entropy(logits, labels, SN_DEFAULT);
}

static const struct {
  const char *name;
  sn_tensor *(*call)(sn_tensor *, sn_tensor *);
} binary[] = {SN_BINARY_OPS(ROW){"matmul", sn_matmul}, {"softmax_cross_entropy", cross_entropy}};

static const struct {
  const char *name;
  sn_tensor *(*call)(sn_tensor *, uint32_t, bool);
} reductions[] = {{"sum", sn_sum}, {"mean", sn_mean}, {"max", sn_max},
                  {"min", sn_min}, {"prod", sn_prod}, {"logsumexp", sn_logsumexp}};

static const struct {
  const char *name;
  sn_tensor *(*call)(sn_tensor *, int, bool);
} orders[] = {
    {"sort", sn_sort}, {"argsort", sn_argsort}, {"argmax", sn_argmax}, {"argmin", sn_argmin}};

static const struct {
  const char *name;
  sn_tensor *(*call)(sn_tensor *, int, bool, bool);
} scans[] = {{"cumsum", sn_cumsum}, {"cumprod", sn_cumprod}};

#define EACH(table) (size_t i = 0; i < sizeof table / sizeof table[0]; i++)

static sn_tensor *make_data(machine *m, const char *const *args) {
  int64_t dims[SN_MAX_RANK];
  const int rank = read_list(args[1], dims);
  void *data;
  sn_tensor *t = sn_empty(m->ctx, read_dtype(args[0]), rank, dims, &data);
  if (!t) return NULL;
  const size_t bytes = sn_size_bytes(t);
  if (bytes && strlen(args[2]) != 2 * bytes) stop("wrong number of bytes", args[1]);
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)data)[i] = read_byte(args[2] + 2 * i);
  return t;
}

static sn_tensor *call_shape_op(machine *m, const char *op, const char *const *args) {
  int64_t a[SN_MAX_RANK], b[SN_MAX_RANK], c[SN_MAX_RANK];
  sn_tensor *x = operand(m, args[0]);
  const int rank = args[1][0] == '[' ? read_list(args[1], a) : 0;
  if (strcmp(op, "reshape") == 0) return sn_reshape(x, rank, a);
  if (strcmp(op, "broadcast_to") == 0) return sn_broadcast_to(x, rank, a);
  if (strcmp(op, "transpose") == 0) {
    int perm[SN_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = (int)a[i];
    return sn_transpose(x, perm);
  }
  if (strcmp(op, "astype") == 0) return sn_astype(x, read_dtype(args[1]));
  if (strcmp(op, "bitcast") == 0) return sn_bitcast(x, read_dtype(args[1]));
  if (strcmp(op, "softmax") == 0) return sn_softmax(x, atoi(args[1]));
  if (strcmp(op, "take") == 0) return sn_take(x, operand(m, args[1]), atoi(args[2]));
  if (strcmp(op, "scatter_add") == 0)
    return sn_scatter_add(x, operand(m, args[1]), operand(m, args[2]), atoi(args[3]));
  if (strcmp(op, "slice") == 0) {
    read_list(args[2], b);
    read_list(args[3], c);
    return sn_slice(x, a, b, c);
  }
  if (strcmp(op, "pad") == 0) {
    read_list(args[2], b);
    return sn_pad(x, a, b, SN_PAD_CONSTANT, strtod(args[3], NULL));
  }
  stop("no such op", op);
  return NULL;
}

/* conv x filter stride padded groups, attention q k v causal */
static sn_tensor *call_network_op(machine *m, const char *op, const char *const *args) {
  sn_tensor *x = operand(m, args[0]), *y = operand(m, args[1]);
  if (strcmp(op, "attention") == 0)
    return sn_attention(x, y, operand(m, args[2]), atoi(args[3]), NULL, NULL, (double)NAN);
  const int64_t strides[] = {atoi(args[2]), atoi(args[2])};
  return sn_conv(x, y, 2,
                 &(sn_window_options){.strides = strides,
                                      .padding = atoi(args[3]) ? SN_PADDING_SAME : SN_PADDING_VALID,
                                      .groups = atoi(args[4])});
}

static sn_tensor *call_concat(machine *m, const char *const *args, size_t count) {
  sn_tensor *inputs[MAX_WORDS];
  for (size_t i = 1; i < count; i++) inputs[i - 1] = operand(m, args[i]);
  return sn_concat(inputs, count - 1, atoi(args[0]));
}

static sn_tensor *call(machine *m, const char *op, const char *const *args, size_t count) {
  if (strcmp(op, "data") == 0) return make_data(m, args);
  if (strcmp(op, "iota") == 0) {
    int64_t dims[SN_MAX_RANK];
    const int rank = read_list(args[1], dims);
    return sn_iota(m->ctx, read_dtype(args[0]), rank, dims, atoi(args[2]));
  }
  if (strcmp(op, "concat") == 0) return call_concat(m, args, count);
  if (strcmp(op, "conv") == 0 || strcmp(op, "attention") == 0) return call_network_op(m, op, args);
  if (strcmp(op, "where") == 0)
    return sn_where(operand(m, args[0]), operand(m, args[1]), operand(m, args[2]));
  for
    EACH(unary)
  if (strcmp(op, unary[i].name) == 0) return unary[i].call(operand(m, args[0]));
  for
    EACH(binary)
  if (strcmp(op, binary[i].name) == 0)
    return binary[i].call(operand(m, args[0]), operand(m, args[1]));
  for
    EACH(reductions)
  if (strcmp(op, reductions[i].name) == 0)
    return reductions[i].call(operand(m, args[0]), read_axes(args[1]), atoi(args[2]));
  for
    EACH(orders)
  if (strcmp(op, orders[i].name) == 0)
    return orders[i].call(operand(m, args[0]), atoi(args[1]), atoi(args[2]));
  for
    EACH(scans)
  if (strcmp(op, scans[i].name) == 0)
    return scans[i].call(operand(m, args[0]), atoi(args[1]), atoi(args[2]), atoi(args[3]));
  return call_shape_op(m, op, args);
}

/* ---- lines without a result ------------------------------------------------------------------ */

static void begin(machine *m, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    sn_tensor *variable = sn_variable(operand(m, names[i]));
    m->variables[i] = sn_retain(variable);
    name_value(m, names[i], variable);
  }
  m->variable_count = count;
}

static void end(machine *m, const char *const *args) {
  sn_tensor *gradients[MAX_WORDS] = {NULL};
  sn_tensor *loss = operand(m, args[0]);
  if (loss) (void)sn_gradients(loss, m->variables, m->variable_count, gradients);
  for (size_t i = 0; i < m->variable_count; i++) {
    name_value(m, args[1 + i], gradients[i]);
    sn_release(m->variables[i]);
  }
}

static void eval(machine *m, const char *const *names, size_t count) {
  sn_tensor *tensors[MAX_WORDS];
  for (size_t i = 0; i < count; i++)
    if (!(tensors[i] = operand(m, names[i]))) return;
  if (sn_eval(tensors, count)) return;
  for (size_t i = 0; i < count; i++) sn_untrack(tensors[i]);
}

static void print_value(machine *m, const char *name) {
  sn_tensor *t = operand(m, name);
  const unsigned char *bytes = t ? sn_data(t) : NULL;
  if (!bytes) {
    printf("%s error %s\n", m->name, sn_error_message(m->ctx));
    return;
  }
  printf("%s %s ", m->name, dtype_names[sn_dtype_of(t)]);
  for (size_t i = 0; i < sn_size_bytes(t); i++) printf("%02x", bytes[i]);
  putchar('\n');
}

static void run_line(machine *m, const char *const *words, size_t count) {
  if (strcmp(words[0], "case") == 0) {
    forget(m);
    snprintf(m->name, sizeof m->name, "%s", words[1]);
  } else if (strcmp(words[0], "begin") == 0) {
    begin(m, words + 1, count - 1);
  } else if (strcmp(words[0], "end") == 0) {
    end(m, words + 1);
  } else if (strcmp(words[0], "eval") == 0) {
    eval(m, words + 1, count - 1);
  } else if (strcmp(words[0], "out") == 0) {
    print_value(m, words[1]);
  } else {
    name_value(m, words[0], call(m, words[1], words + 2, count - 2));
  }
  while (m->number_count) sn_release(m->numbers[--m->number_count]);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int run_cases(int threads, bool deterministic) {
  static machine m;
  const sn_options options = {.threads = threads, .deterministic = deterministic};
  if (sn_context_create(&options, &m.ctx)) return 1;
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    const char *words[MAX_WORDS] = {NULL};
    size_t count = 0;
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
      if (count == MAX_WORDS) stop("line too long", words[0]);
      words[count++] = word;
    }
    if (count) run_line(&m, words, count);
  }
  free(line);
  forget(&m);
  sn_context_destroy(m.ctx);
  return 0;
}

static int print_ops(void) {
#define PRINT(id) SN_OP_##id,
  static const sn_op rows[] = {SN_UNARY_OPS(PRINT) SN_BINARY_OPS(PRINT) SN_TERNARY_OPS(PRINT)};
  for
    EACH(rows) {
      const sn_op_info *row = sn_op_describe(rows[i]);
      printf("%s %d ", row->name, row->arity);
      const char *separator = "";
      for (int dtype = 0; dtype < 4; dtype++) {
        if (!(row->types >> dtype & 1)) continue;
        printf("%s%s", separator, dtype_names[dtype]);
        separator = ",";
      }
      printf(" %g %g\n", sn_op_bounds_table[rows[i]].lo, sn_op_bounds_table[rows[i]].hi);
    }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--ops") == 0) return print_ops();
  if (argc >= 2 && isdigit((unsigned char)argv[1][0]))
    return run_cases(atoi(argv[1]), argc < 3 || strcmp(argv[2], "fast") != 0);
  fprintf(stderr, "usage: cross_cases THREADS [fast] | cross_cases --ops\n");
  return 2;
}
