// The wasm module as TypeScript sees it: what wasm/bridge.h exports. Addresses are 32-bit numbers,
// negative above 2 GiB: use >>> before indexing.

/** Functions of the module; all arguments and results are numbers. */
export interface Exports {
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
  sinter_error_status(): number;
  sinter_error_message(): number;
  sinter_error_clear(): void;
  sinter_memory(): void;
  sinter_tensor_bytes(): number;
  sinter_largest_kinds(count: number): number;
  sinter_caches(): void;
  sinter_set_debug(level: number): void;
  sinter_set_poison(on: number): void;
  sinter_pass_count(): number;
  sinter_pass_name(index: number): number;
  sinter_pass_enable(index: number, on: number): number;

  sinter_empty(dtype: number, rank: number): number;
  sinter_full(dtype: number, rank: number, value: number): number;
  sinter_scalar(value: number): number;
  sinter_iota(dtype: number, rank: number, axis: number): number;
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
  sinter_reduce(which: number, x: number, axes: number, keepdims: number): number;
  sinter_var(x: number, axes: number, keepdims: number, correction: number): number;
  sinter_std(x: number, axes: number, keepdims: number, correction: number): number;
  sinter_norm(x: number, axes: number, keepdims: number, order: number): number;
  sinter_argmax(x: number, axis: number, keepdims: number): number;
  sinter_argmin(x: number, axis: number, keepdims: number): number;
  sinter_matmul(x: number, y: number): number;
  sinter_conv(x: number, filter: number, axes: number, transposed: number): number;
  sinter_pool_windows(kind: number, x: number, axes: number): number;
  sinter_einsum(count: number): number;
  sinter_clip(x: number, lo: number, hi: number): number;
  sinter_leaky_relu(x: number, alpha: number): number;
  sinter_elu(x: number, alpha: number): number;
  sinter_selu(x: number): number;
  sinter_hardswish(x: number): number;
  sinter_gelu_tanh(x: number): number;
  sinter_softmax(x: number, axis: number): number;
  sinter_log_softmax(x: number, axis: number): number;
  sinter_attention(q: number, k: number, v: number, mask: number, causal: number, scale: number): number;
  sinter_layer_norm(x: number, weight: number, bias: number, eps: number): number;
  sinter_batch_norm(
    x: number,
    axis: number,
    mean: number,
    variance: number,
    weight: number,
    bias: number,
    eps: number,
  ): number;
  sinter_rms_norm(x: number, weight: number, eps: number): number;
  sinter_softmax_cross_entropy(logits: number, labels: number): number;
  sinter_reshape(x: number, rank: number): number;
  sinter_broadcast(x: number, rank: number): number;
  sinter_transpose(x: number): number;
  sinter_slice(x: number): number;
  sinter_pad(x: number, value: number): number;
  sinter_concat(count: number, axis: number): number;
  sinter_take(x: number, indices: number, axis: number): number;
  sinter_take_along_axis(x: number, indices: number, axis: number): number;
  sinter_scatter(mode: number, x: number, indices: number, updates: number, axis: number): number;
  sinter_one_hot(indices: number, classes: number, dtype: number): number;
  sinter_sort(x: number, axis: number, descending: number, places: number): number;
  sinter_cumsum(x: number, axis: number, reverse: number, exclusive: number): number;
  sinter_cumprod(x: number, axis: number, reverse: number, exclusive: number): number;
  sinter_astype(x: number, dtype: number): number;
  sinter_bitcast(x: number, dtype: number): number;

  sinter_variable(x: number): number;
  sinter_untrack(t: number): void;
  sinter_gradients(y: number, count: number): number;
  sinter_compile(inputs: number, outputs: number): number;
  sinter_program_run(program: number, inputs: number): number;
  sinter_program_run_async(program: number, inputs: number, outputs: number): number;
  sinter_program_release(program: number): void;
  sinter_program_inspection(program: number): number;
  sinter_program_wat(program: number, kernel: number): number;
  sinter_program_c_source(program: number): number;

  sinter_profile_start(maxSpans: number): number;
  sinter_profile_stop(): void;
  sinter_profile_kernels(): number;
  sinter_profile_spans(): number;
  sinter_profile_now(): number;
}

/** What only the module with threads has besides. */
export interface ThreadExports {
  sn_worker_lane(pool: number, lane: number): void;
  sn_worker_driver(pool: number): void;
  sn_worker_dead(pool: number, lane: number): void;
  sn_wait_set_patience(ms: number): void;
  __wasm_init_tls(address: number): void;
  __stack_pointer: WebAssembly.Global;
  __tls_size: WebAssembly.Global;
}

/** Where the driver is named among the lanes; SN_DRIVER_LANE. */
export const DRIVER_LANE = -1;
/** The worker of a page that only watches the others. */
export const WATCH_LANE = -2;
