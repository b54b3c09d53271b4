/* The Mersenne Twister MT19937 (Matsumoto and Nishimura, ACM TOMACS 8(1), 1998), inline so that kernels compile the
 * bulk loops for their instruction set. */
#ifndef FB_MT19937_H
#define FB_MT19937_H

#include <stdint.h>

enum { FB_MT_N = 624, FB_MT_M = 397 };

/* `left` - 1 words of `state` are still to be given out, from `next` on; a fresh seed has left = 1. PyTorch counts
 * the same way in the states that it saves. */
typedef struct fb_mt {
    uint32_t state[FB_MT_N];
    int32_t left;
    uint32_t next;
} fb_mt;

static inline void fb_mt_seed(fb_mt *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t i = 1; i < FB_MT_N; i++)
        mt->state[i] = 1812433253u * (mt->state[i - 1] ^ mt->state[i - 1] >> 30) + i;
    mt->left = 1;
    mt->next = 0;
}

static inline uint32_t fb_mt_mix(uint32_t u, uint32_t v)
{
    return ((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1 ^ (-(v & 1) & 0x9908b0dfu);
}

/* The next 624 words. The loops are cut where a word starts to depend on new ones; within each, the nearest new
 * word it needs lies 227 back, so that they become vector code. */
static inline void fb_mt_twist(fb_mt *mt)
{
    uint32_t *s = mt->state;

    for (int i = 0; i < FB_MT_N - FB_MT_M; i++) s[i] = s[i + FB_MT_M] ^ fb_mt_mix(s[i], s[i + 1]);
    for (int i = FB_MT_N - FB_MT_M; i < FB_MT_N - 1; i++) s[i] = s[i + FB_MT_M - FB_MT_N] ^ fb_mt_mix(s[i], s[i + 1]);
    s[FB_MT_N - 1] = s[FB_MT_M - 1] ^ fb_mt_mix(s[FB_MT_N - 1], s[0]);
    mt->left = FB_MT_N + 1;
    mt->next = 0;
}

static inline uint32_t fb_mt_temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static inline uint32_t fb_mt_draw(fb_mt *mt)
{
    if (mt->left <= 1) fb_mt_twist(mt);
    mt->left--;
    return fb_mt_temper(mt->state[mt->next++]);
}

static inline void fb_mt_fill(fb_mt *mt, uint32_t *restrict out, int64_t n)
{
    while (n > 0) {
        if (mt->left <= 1) fb_mt_twist(mt);
        int64_t k = mt->left - 1 < n ? mt->left - 1 : n;
        const uint32_t *restrict s = mt->state + mt->next;
        for (int64_t i = 0; i < k; i++) out[i] = fb_mt_temper(s[i]);
        mt->left -= (int32_t)k;
        mt->next += (uint32_t)k;
        out += k;
        n -= k;
    }
}

#endif
