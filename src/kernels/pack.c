#include "kernels/pack.h"

#include "kernels/vec128.h"

#define TYPE f32
#include "kernels/pack_type.h"
#undef TYPE
#define TYPE f64
#include "kernels/pack_type.h"
#undef TYPE

void sn_pack_panel(sn_dtype dtype, void *panel_out, const void *source, int64_t width, int64_t k,
                   ptrdiff_t ws, ptrdiff_t ks, int panel) {
  if (dtype == SN_F64)
    pack_panel_f64(panel_out, source, (ptrdiff_t)width, (ptrdiff_t)k, ws, ks, panel);
  else
    pack_panel_f32(panel_out, source, (ptrdiff_t)width, (ptrdiff_t)k, ws, ks, panel);
}
