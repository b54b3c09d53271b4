/* Generators of random numbers: the CPU's, whose streams for a seed equal PyTorch's. */
#ifndef FB_RANDOM_H
#define FB_RANDOM_H

#include "flambeau/flambeau.h"
#include "runtime/mt19937.h"
#include <stdatomic.h>

enum { FB_RNG_STATE_BYTES = 5056 };
#define FB_DEFAULT_SEED UINT64_C(67280421310721) /* of a new generator, as PyTorch's */

FB_API fb_generator *fb_generator_new(void); /* seeded with FB_DEFAULT_SEED; NULL with the error set */
FB_API fb_generator *fb_generator_clone(fb_generator *g); /* the same state, from here on independent */
FB_API fb_generator *fb_generator_retain(fb_generator *g); /* returns g */
FB_API void fb_generator_release(fb_generator *g);         /* NULL is fine */
/* borrowed; seeded from the system at first use; NULL with the error set */
FB_API fb_generator *fb_generator_default(void);
FB_API void fb_generator_manual_seed(fb_generator *g, uint64_t seed);
FB_API uint64_t fb_generator_initial_seed(fb_generator *g);
FB_API uint64_t fb_generator_seed(fb_generator *g); /* seeds it from the system, and says with what */
/* The state in the layout of torch.get_rng_state(), so that states can be exchanged. */
FB_API void fb_generator_get_state(fb_generator *g, uint8_t out[FB_RNG_STATE_BYTES]);
FB_API fb_status fb_generator_set_state(fb_generator *g, const uint8_t *state, int64_t bytes);
FB_API uint64_t fb_generator_random64(fb_generator *g); /* one draw, for a host's own use */

/* The rest is for kernels. They take the lock for as long as they draw, so that an operator's numbers are
 * consecutive in the stream. */
struct fb_generator {
    fb_mt mt;
    uint64_t seed;
    bool has_normal; /* the second value of the last pair of normal numbers */
    double normal;
    bool has_normal_f32; /* unused on the CPU, but part of the state */
    float normal_f32;
    _Atomic int32_t refs;
    struct fb_generator_lock *lock;
    fb_generator *next, *previous; /* all of them: a fork takes every lock */
};
void fb_generator_lock(fb_generator *g);
void fb_generator_unlock(fb_generator *g);

static inline uint32_t fb_draw32(fb_generator *g) { return fb_mt_draw(&g->mt); }
static inline uint64_t fb_draw64(fb_generator *g) /* the high word is drawn first */
{
    uint64_t high = fb_mt_draw(&g->mt);
    return high << 32 | fb_mt_draw(&g->mt);
}
static inline double fb_draw_double(fb_generator *g) /* [0, 1), 53 bits */
{
    return (double)(fb_draw64(g) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

#endif
