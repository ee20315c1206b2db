#include "gpu/bridge_gpu.h"

#include "api.h"
#include "backend/backend_gpu.h"
#include "tensor/tensor.h"
#include "wgsl/wgsl.h"

sn_status sinter_gpu_create(uint32_t buffers, uint32_t shared_bytes) {
  const sn_target target = sn_wgsl_target(buffers, shared_bytes);
  if (sinter_contexts[1]) return SN_ERR_ARGUMENT;
  return sn_context_create_on(NULL, &sn_gpu_backend, &target, &sinter_contexts[1]);
}

uint32_t sinter_gpu_enter(uint32_t device) { return sinter_enter(device); }
uint32_t sinter_gpu_device(const sn_tensor *t) { return t->ctx != sinter_contexts[0]; }

sn_tensor *sinter_gpu_copy(sn_tensor *t, uint32_t device) {
  return sn_copy_to(sinter_contexts[device], t);
}

uint32_t sinter_gpu_buffer(sn_tensor *t) { return (uint32_t)(uintptr_t)sn_value_handle(t); }

size_t sinter_gpu_bytes(void) {
  sn_memory_info info;
  sn_memory(sinter_contexts[1], &info);
  return info.tensor_bytes;
}
