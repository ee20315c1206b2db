#include "csource/csource.h"

#include <string.h>

#include "base/find.h"
#include "csource/spell.h"
#include "csource/write_control.h"
#include "csource/write_kernel.h"
#include "fuse/chain.h"

/* One function of plain C: a group of a kernel, which may consist of several, or a step of control flow. */
typedef struct part {
  const sn_group *group;
  size_t number;       /* in the name of its function */
  const sn_step *step; /* the step if it is control flow, else NULL */
  uint32_t regions[SN_MAX_REGIONS];
} part;

/* The functions written so far, of a program and its regions. */
typedef struct functions {
  sn_text text;
  size_t n_kernels;
  uint32_t n_regions;
} functions;

typedef struct source {
  sn_text *t;
  const sn_program_code *program;
  const sn_groups *groups;
  uint32_t *argument; /* per argument of the program its value, or SN_NONE if it is not used */
  size_t n_arguments;
  uint32_t *output; /* per value the first output that it is, or SN_NONE */
  part *parts;
  size_t n_parts;
} source;

static void add_parts(source *s, const sn_group *list, size_t n) {
  for (size_t i = 0; i < n; i++) s->parts[s->n_parts++] = (part){.group = &list[i]};
}

static sn_status add_members(source *s, sn_arena *arena, const sn_chain *chain) {
  sn_group *merged;
  SN_TRY(sn_arena_alloc(arena, chain->n_members, sizeof *merged, (void **)&merged));
  for (uint32_t m = 0; m < chain->n_members; m++) {
    SN_TRY(sn_group_copy(arena, &chain->members[m], &merged[m]));
    sn_merge_dims(&merged[m]);
  }
  add_parts(s, merged, chain->n_members);
  return SN_OK;
}

static size_t parts_of(const sn_group *g) {
  return g->kind == SN_GROUP_CHAIN ? g->chain->n_members : (size_t)1 + !!sn_group_prologue(g);
}

static sn_status list_parts(source *s, sn_arena *arena) {
  const sn_groups *groups = s->groups;
  size_t n = 0;
  for (size_t i = 0; i < groups->n_groups; i++) n += parts_of(&groups->groups[i]);
  SN_TRY(sn_arena_alloc(arena, n, sizeof *s->parts, (void **)&s->parts));
  for (size_t i = 0; i < groups->n_groups; i++) {
    const sn_group *g = &groups->groups[i];
    if (sn_group_prologue(g)) add_parts(s, sn_group_prologue(g), 1);
    if (g->kind == SN_GROUP_CHAIN)
      SN_TRY(add_members(s, arena, g->chain));
    else
      add_parts(s, g, 1);
    if (g->kind == SN_GROUP_CONTROL) s->parts[s->n_parts - 1].step = &s->program->steps[i];
  }
  return SN_OK;
}

static sn_status find_parameters(source *s, sn_arena *arena) {
  const sn_groups *groups = s->groups;
  SN_TRY(sn_arena_alloc(arena, s->n_arguments, sizeof *s->argument, (void **)&s->argument));
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *s->output, (void **)&s->output));
  for (size_t a = 0; a < s->n_arguments; a++) s->argument[a] = SN_NONE;
  for (uint32_t v = 0; v < groups->n_values; v++) {
    s->output[v] = SN_NONE;
    if (groups->values[v].kind == SN_VALUE_ARGUMENT) s->argument[groups->values[v].argument] = v;
  }
  for (size_t i = groups->n_outputs; i-- > 0;) s->output[groups->outputs[i]] = (uint32_t)i;
  return SN_OK;
}

static const sn_type *type_of(const source *s, uint32_t value) {
  return &s->groups->values[value].type;
}

/* How the function that calls the kernels names a buffer. */
static void add_buffer(void *user, uint32_t v) {
  const source *s = user;
  const sn_value *value = &s->groups->values[v];
  if (value->kind == SN_VALUE_ARGUMENT)
    sn_text_add(s->t, "a%u", value->argument);
  else if (s->output[v] != SN_NONE)
    sn_text_add(s->t, "out%u", s->output[v]);
  else
    sn_text_add(s->t, "b%u", v);
}

static void add_comment(const source *s, const char *name, size_t n_inputs) {
  char shape[SN_SHAPE_TEXT];
  sn_text_add(s->t, "/* %s: written by Sinter as C11; link with -lm. Arrays are row-major.\n *\n",
              name);
  for (size_t a = 0; a < s->n_arguments; a++) {
    if (s->argument[a] == SN_NONE) {
      sn_text_add(s->t, " *   a%zu: not used\n", a);
      continue;
    }
    const sn_type *type = type_of(s, s->argument[a]);
    sn_text_add(s->t, " *   a%zu: %s%s%s\n", a, sn_dtype_name(type->dtype),
                sn_shape_text(type, shape), a < n_inputs ? "" : ", captured");
  }
  for (size_t i = 0; i < s->groups->n_outputs; i++) {
    const sn_type *type = type_of(s, s->groups->outputs[i]);
    sn_text_add(s->t, " *   out%zu: %s%s\n", i, sn_dtype_name(type->dtype),
                sn_shape_text(type, shape));
  }
  sn_text_add(s->t, " */\n");
}

static void add_signature(const source *s, const char *name) {
  const char *comma = "";
  sn_text_add(s->t, "%s(", name);
  for (size_t a = 0; a < s->n_arguments; a++, comma = ", ") {
    const uint32_t v = s->argument[a];
    sn_text_add(s->t, "%sconst %s *a%zu", comma,
                v == SN_NONE ? "void" : sn_c_type(type_of(s, v)->dtype), a);
  }
  for (size_t i = 0; i < s->groups->n_outputs; i++, comma = ", ")
    sn_text_add(s->t, "%s%s *out%zu", comma, sn_c_type(type_of(s, s->groups->outputs[i])->dtype),
                i);
  sn_text_add(s->t, *comma ? ")" : "void)");
}

static void add_temporaries(const source *s) {
  for (uint32_t v = 0; v < s->groups->n_values; v++) {
    const sn_value *value = &s->groups->values[v];
    char shape[SN_SHAPE_TEXT];
    if (value->kind == SN_VALUE_ARGUMENT || s->output[v] != SN_NONE) continue;
    if (sn_op_is_control(s->groups->graph->nodes[value->node].op))
      continue; /* declares its own buffers */
    const int64_t size = sn_type_size(&value->type);
    sn_text_add(s->t, "  static %s b%u[%lld]; /* %s */\n", sn_c_type(value->type.dtype), v,
                (long long)(size ? size : 1), sn_shape_text(&value->type, shape));
  }
}

/* Copies outputs that are arguments, or the same value as an earlier output. */
static void add_copies(const source *s) {
  for (size_t i = 0; i < s->groups->n_outputs; i++) {
    const uint32_t v = s->groups->outputs[i];
    if (s->groups->values[v].kind != SN_VALUE_ARGUMENT && s->output[v] == i) continue;
    sn_text_add(s->t, "  memcpy(out%zu, ", i);
    add_buffer((void *)(uintptr_t)s, v);
    sn_text_add(s->t, ", %zu);\n", sn_type_bytes(type_of(s, v)));
  }
}

static void add_call(source *s, const part *k, sn_value_set *set) {
  sn_group_buffers(k->group, 1, set);
  sn_text_add(s->t, "  ");
  sn_c_add_kernel_name(s->t, k->number, k->group);
  for (size_t i = 0; i < set->n; i++) {
    sn_text_add(s->t, i ? ", " : "(");
    add_buffer(s, set->ids[i]);
  }
  sn_text_add(s->t, ");\n");
}

static sn_status add_steps(source *s, const char *name, sn_value_set *set) {
  add_signature(s, name);
  sn_text_add(s->t, " {\n");
  add_temporaries(s);
  for (size_t i = 0; i < s->n_parts; i++) {
    const part *k = &s->parts[i];
    if (!k->step) {
      add_call(s, k, set);
      continue;
    }
    sn_c_control control = {
        .program = s->program, .step = k->step, .add_buffer = add_buffer, .user = s};
    memcpy(control.regions, k->regions, sizeof control.regions);
    SN_TRY(sn_c_add_control(s->t, &control));
  }
  add_copies(s);
  sn_text_add(s->t, "}\n");
  return s->t->status;
}

static sn_status check_dtypes(const sn_groups *groups, sn_env *env) {
  for (size_t v = 0; v < groups->n_values; v++)
    SN_TRY(sn_c_check_dtype(env, groups->values[v].type.dtype));
  return SN_OK;
}

static sn_status add_functions(functions *f, const sn_program_code *program, source *s,
                               sn_value_set *set);

/* Adds a region's function behind all functions that it calls. Recursion is at most SN_MAX_NESTING deep. */
static sn_status add_region(functions *f, const sn_program_code *program, uint32_t *number) {
  sn_arena *arena = f->text.arena;
  source s;
  sn_value_set set;
  sn_text name = sn_text_in(arena);
  SN_TRY(add_functions(f, program, &s, &set));
  *number = f->n_regions++;
  sn_text_add(&name, "static void region_%u", *number);
  SN_TRY(name.status);
  s.t = &f->text;
  SN_TRY(add_steps(&s, name.data, &set));
  sn_text_add(&f->text, "\n");
  return f->text.status;
}

/* Adds the functions that the program, or a region's program, calls. */
static sn_status add_functions(functions *f, const sn_program_code *program, source *s,
                               sn_value_set *set) {
  sn_arena *arena = f->text.arena;
  *s =
      (source){.program = program, .groups = &program->groups, .n_arguments = program->n_arguments};
  SN_TRY(check_dtypes(s->groups, arena->env));
  SN_TRY(find_parameters(s, arena));
  SN_TRY(list_parts(s, arena));
  SN_TRY(sn_value_set_init(set, arena, s->groups));
  for (size_t i = 0; i < s->n_parts; i++) {
    part *k = &s->parts[i];
    for (int r = 0; k->step && r < SN_MAX_REGIONS && k->step->regions[r]; r++)
      SN_TRY(add_region(f, k->step->regions[r], &k->regions[r]));
    if (k->step) continue;
    k->number = f->n_kernels++;
    SN_TRY(sn_c_add_kernel(&f->text, s->groups->values, k->number, k->group, set));
  }
  return f->text.status;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Whether a function of C can have this name: letters and digits, and no keyword. */
static bool is_name(const char *name) {
  static const char keywords[] =
      " auto break case char const continue default do double else enum extern float for goto if "
      "inline int long register restrict return short signed sizeof static struct switch typedef "
      "union unsigned void volatile while main ";
  size_t n = 0;
  while (is_letter(name[n]) || (n && is_digit(name[n]))) n++;
  if (!n || name[n]) return false;
  for (const char *at = keywords; (at = sn_text_find(at + 1, name));)
    if (at[-1] == ' ' && at[n] == ' ') return false;
  return true;
}

sn_status sn_c_source(const sn_program_code *program, size_t n_inputs, const char *name,
                      sn_arena *arena, const char **out) {
  SN_FAIL_IF(arena->env, !name || !is_name(name), SN_ERR_ARGUMENT, "cSource",
             "'%s' cannot name a function", name ? name : "");
  functions f = {.text = sn_text_in(arena)};
  sn_text all = sn_text_in(arena), typed = all;
  source s;
  sn_value_set set;
  sn_text_add(&f.text, "%s", "");
  SN_TRY(add_functions(&f, program, &s, &set));
  sn_text_add(&typed, "void %s", name);
  SN_TRY(typed.status);
  s.t = &all;
  add_comment(&s, name, n_inputs);
  sn_text_add(&all, "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
                    "#include <string.h>\n\n");
  add_signature(&s, typed.data); /* a prototype, against -Wmissing-prototypes */
  sn_text_add(&all, ";\n\n");
  sn_c_add_helpers(&all, f.text.data);
  sn_text_add(&all, "\n%s", f.text.data);
  SN_TRY(add_steps(&s, typed.data, &set));
  *out = all.data;
  return all.status;
}
