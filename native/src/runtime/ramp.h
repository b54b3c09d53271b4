/* arange and linspace. */
#ifndef FB_RAMP_H
#define FB_RAMP_H

#include "flambeau/flambeau.h"

fb_tensor *fb_ramp(int64_t n, fb_scalar first, fb_scalar step, fb_dtype dtype, fb_device device);
fb_tensor *fb_linspace(int64_t n, fb_scalar first, fb_scalar last, fb_dtype dtype, fb_device device);

#endif
