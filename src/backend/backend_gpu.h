/* backend_gpu.h - a graphics processor. Its own header, so that programs that do not use it do not link it. */
#ifndef SN_BACKEND_BACKEND_GPU_H
#define SN_BACKEND_BACKEND_GPU_H

#include "backend/backend.h"

extern const sn_backend sn_gpu_backend;

#endif
