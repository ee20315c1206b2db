// The wasm module as TypeScript sees it: what wasm/bridge.h exports, and its functions on tensors. Addresses are 32-bit
// numbers, negative above 2 GiB: use >>> before indexing.

import type { FunctionExports } from './exports.gen.js';

/** Functions of the module; all arguments and results are numbers. */
export interface Exports extends FunctionExports, DeviceExports {
  sinter_scratch(words: number): number;
  sinter_worker_memory(bytes: number): number;

  sinter_create(
    threads: number,
    deterministic: number,
    jit: number,
    relaxedSimd: number,
    memoryLimitBytes: number,
  ): number;
  sinter_pool(): number;
  sinter_revive(): void;
  sinter_isa(): number;
  sinter_version(): number;
  sinter_error_info(): number;
  sinter_error_clear(): void;
  sinter_call(number: number): void;
  sinter_memory(): void;
  sinter_tensor_bytes(): number;
  sinter_caches(): void;
  sinter_set_debug(level: number): void;
  sinter_set_precision(dtype: number): number;
  sinter_set_poison(on: number): void;
  sinter_pass_count(): number;
  sinter_pass_name(index: number): number;
  sinter_pass_enable(index: number, on: number): number;

  sinter_empty(dtype: number, rank: number): number;
  sinter_scalar(value: number): number;
  sinter_placeholder(dtype: number, rank: number): number;
  sinter_copy(t: number): number;
  sinter_retain(t: number): void;
  sinter_release(t: number): void;
  sinter_describe(t: number): void;
  sinter_data(t: number): number;
  sinter_is_computed(t: number): number;
  sinter_eval(count: number): number;
  sinter_eval_async(count: number): number;
  sinter_ticket_done(ticket: number): number;
  sinter_take_turns(): void;
  sinter_turn(ms: number): number;
  sinter_synchronize(): number;

  sinter_unary(op: number, x: number): number;
  sinter_binary(op: number, x: number, y: number): number;
  sinter_binary_scalar(op: number, x: number, y: number): number;
  sinter_scalar_binary(op: number, x: number, y: number): number;
  sinter_ternary(op: number, x: number, y: number, z: number): number;

  sinter_variable(x: number): number;
  sinter_untracked(t: number): number;
  sinter_gradients(y: number, count: number): number;
  sinter_scan(inputs: number, outputs: number, carries: number): number;
  sinter_while(carries: number): number;
  sinter_cond(operands: number, outputs: number): number;
  sinter_checkpoint(operands: number, outputs: number, names: number): number;
  sinter_custom(args: number, outputs: number, reverse: number): number;
  sinter_named(x: number, name: number): number;
  sinter_vjp(outputs: number, count: number): number;
  sinter_jvp(outputs: number, count: number): number;
  sinter_vmap(outputs: number, count: number): number;
  sinter_compile(inputs: number, outputs: number): number;
  sinter_compile_continue(program: number, ms: number): number;
  sinter_program_run(program: number, inputs: number): number;
  sinter_program_run_async(program: number, inputs: number, outputs: number): number;
  sinter_program_watch(program: number, inputs: number, outputs: number): number;
  sinter_program_release(program: number): void;
  sinter_program_prelude(program: number): number;
  sinter_program_save(program: number): number;
  sinter_program_load(bytes: number): number;
  sinter_program_note(program: number): number;
  sinter_step_save(program: number): number;
  sinter_step_init(program: number): number;
  sinter_program_inspection(program: number): number;
  sinter_program_tuning(program: number): number;
  sinter_tuned(): number;
  sinter_use_tuned(): number;
  sinter_program_wat(program: number, kernel: number): number;
  sinter_program_c_source(program: number): number;
  sinter_program_graph(program: number): number;
  sinter_program_captured(program: number, number: number): number;

  sinter_profile_start(maxSpans: number): number;
  sinter_profile_stop(): void;
  sinter_profile_kernels(): number;
  sinter_profile_spans(): number;
  sinter_profile_now(): number;
}

/** Exports that only modules with a graphics processor have: wasm/gpu/bridge_gpu.h. */
export interface DeviceExports {
  sinter_gpu_create(buffers: number, sharedBytes: number): number;
  sinter_gpu_enter(device: number): number;
  sinter_gpu_device(t: number): number;
  sinter_gpu_copy(t: number, device: number): number;
  sinter_gpu_buffer(t: number): number;
  sinter_gpu_bytes(): number;
}

/** Exports that only modules with threads have. */
export interface ThreadExports {
  sn_worker_enter(pool: number, seat: number): void;
  sn_worker_driver(pool: number): void;
  sn_worker_dead(pool: number, seat: number): void;
  sn_wait_set_patience(ms: number): void;
  __wasm_init_tls(address: number): void;
  __stack_pointer: WebAssembly.Global;
  __tls_size: WebAssembly.Global;
}

// A seat is a place of the pool that a Web Worker (in Node a thread of worker_threads) takes. Seats 1 and
// up are the core's workers of these numbers; worker 0 is the thread that calls.

/** The seat of the driver; SN_POOL_DRIVER. */
export const DRIVER_SEAT = -1;
/** The seat of the watch, a page's worker that only watches the others. */
export const WATCH_SEAT = -2;
