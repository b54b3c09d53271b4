/* What a kernel file knows of the instruction set it is being compiled for. Files in kernels/ are compiled once
 * an instruction set, with FB_ISA = base, avx2 or avx512: FB_K(add) names add_base, add_avx2 or add_avx512. */
#ifndef FB_KERNELS_ISA_H
#define FB_KERNELS_ISA_H

#ifndef FB_ISA
#define FB_ISA base
#endif

#define FB_CAT_(a, b) a##_##b
#define FB_CAT(a, b)  FB_CAT_(a, b)
#define FB_K(name)    FB_CAT(name, FB_ISA)

/* Bytes of a vector register. */
#if defined(__AVX512F__)
#define FB_VECTOR 64
#elif defined(__AVX2__)
#define FB_VECTOR 32
#else
#define FB_VECTOR 16
#endif

#define FB_INLINE static inline __attribute__((always_inline, unused))

#endif
