/* Generators of random numbers. An operator's `generator` argument NULL means the default one. */
#ifndef FLAMBEAU_RANDOM_H
#define FLAMBEAU_RANDOM_H

#include "flambeau/flambeau.h"

#ifdef __cplusplus
extern "C" {
#endif

FB_API fb_generator *fb_generator_default(void); /* borrowed; NULL with the error set */
FB_API void fb_generator_manual_seed(fb_generator *g, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
