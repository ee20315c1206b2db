/* bridge_gpu.h - what the modules with a graphics processor export besides (bridge.h). Device 0 is the CPU, device 1 the graphics
 * processor: a context of its own. */
#ifndef SINTER_BRIDGE_GPU_H
#define SINTER_BRIDGE_GPU_H

#include "bridge.h"

/* Once, behind sinter_create; as sn_wgsl_target has it. */
sn_status SN_EXPORT(sinter_gpu_create)(uint32_t buffers, uint32_t shared_bytes);

/* New tensors, and programs, are for this device from now on; the device before. */
uint32_t SN_EXPORT(sinter_gpu_enter)(uint32_t device);

uint32_t SN_EXPORT(sinter_gpu_device)(const sn_tensor *t); /* that the tensor is for */

/* The value of a tensor of the CPU, evaluated, as one of the device. */
sn_tensor *SN_EXPORT(sinter_gpu_copy)(sn_tensor *t, uint32_t device);

/* The buffer that the value of a tensor lies in, evaluated: a number as in gpu_host.h. */
uint32_t SN_EXPORT(sinter_gpu_buffer)(sn_tensor *t);

size_t SN_EXPORT(sinter_gpu_bytes)(void); /* of values on the device */

#endif
