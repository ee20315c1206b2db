/* backend_cc_posix.c - the CPU's kernels, with code that the machine's compiler makes for them. The kernels keep their
 * schedule; the code takes over only what happens to the points of a range (kernels/code.h). */
#include "backend/backend_cpu.h"
#include "cc/compiled.h"
#include "cc/kernel_text.h"
#include "cc/loop_text.h"

/* Has a loop over tiny programs made as one function. */
static sn_status make_loop(const sn_device *device, sn_arena *arena, sn_control_step *step) {
  sn_cc_program *loop;
  SN_TRY(sn_cc_make_loop(device->code, arena, &step->described, &loop));
  step->owner = loop;
  if (!loop) return SN_OK;
  step->module = sn_cc_module_of(loop);
  step->ready = sn_cc_is_ready;
  step->code = sn_cc_loop_of(loop);
  return SN_OK;
}

/* Has code made for a program, and for each of its regions. */
static sn_status hang_in(const sn_device *device, sn_executable *exe) {
  sn_cc_program *code;
  SN_TRY(sn_cc_attach(device->code, &exe->program->arena, exe->kernels, exe->n_kernels, &code));
  exe->backend = &sn_code_backend;
  exe->code = code;
  for (size_t i = 0; i < exe->n_kernels; i++) {
    sn_control_step *step = exe->controls[i];
    if (step && step->serial) SN_TRY(make_loop(device, &exe->program->arena, step));
    for (uint32_t r = 0; step && !step->owner && r < step->n_regions; r++)
      SN_TRY(hang_in(device, step->regions[r]));
  }
  return SN_OK;
}

static void drop(sn_executable *exe) {
  for (size_t i = 0; i < exe->n_kernels; i++) {
    const sn_control_step *step = exe->controls[i];
    for (uint32_t r = 0; step && r < step->n_regions; r++) drop(step->regions[r]);
    if (step) sn_cc_release(step->owner);
  }
  sn_cc_release(exe->code);
}

static sn_status compile(const sn_device *device, sn_program_code *program, sn_executable **out) {
  return sn_cpu_compile_with(device, program, hang_in, drop, out);
}

static void release(sn_executable *exe) {
  drop(exe);
  sn_cpu_release(exe);
}

static sn_status list_control(sn_arena *arena, const sn_executable *exe, size_t k,
                              const char **out) {
  const sn_control_step *step = exe->controls[k];
  sn_text text = sn_text_in(arena);
  bool able = false;
  sn_text_add(&text, "/* in the words of cc/loop_words.h */\n");
  if (step->owner)
    SN_TRY(sn_cc_add_loop(&text, exe->program->groups.target->fused, &step->described, &able));
  *out = able ? text.data
              : "/* control flow: its regions are programs, with kernels of their own */\n";
  return text.status;
}

static sn_status listing(sn_arena *arena, const sn_executable *exe, size_t k, const char **out) {
  const sn_kernel *kernel = &exe->kernels[k];
  if (kernel->group->kind == SN_GROUP_CONTROL) return list_control(arena, exe, k, out);
  sn_cc_functions *functions;
  uint8_t *blocks;
  SN_TRY(sn_arena_alloc(arena, SN_CC_BLOCKS, 1, (void **)&blocks));
  SN_TRY(sn_arena_alloc(arena, sn_cc_count_parts(kernel), sizeof *functions, (void **)&functions));
  sn_text text = sn_text_in(arena);
  sn_text_add(&text, "/* on the vectors of kernels/simd.h and the words of cc/kernel_words.h */\n");
  SN_TRY(sn_cc_add_kernel(&text, k, kernel, blocks, functions));
  *out = text.data;
  return text.status;
}

static sn_status open_code(sn_device *device) {
  sn_cc *cc;
  SN_TRY(sn_cc_open(device->env, device->machine.isa, device->machine.target->fused, &cc));
  device->code = cc;
  return SN_OK;
}

static void close_code(sn_device *device) { sn_cc_close(device->code); }

static void wait_code(const sn_device *device) { sn_cc_wait(device->code); }

static const char *code_state(const sn_device *device) { return sn_cc_state(device->code); }

static bool code_coming(const sn_device *device) { return sn_cc_is_compiling(device->code); }

const sn_backend sn_code_backend = {.name = "cc",
                                    .compile = compile,
                                    .release = release,
                                    .listing = listing,
                                    .open_code = open_code,
                                    .close_code = close_code,
                                    .wait_code = wait_code,
                                    .code_state = code_state,
                                    .code_coming = code_coming,
                                    SN_CPU_ALL_BUT_CODE};
