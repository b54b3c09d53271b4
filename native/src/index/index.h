/* Shared by the kernels that move elements by index. */
#ifndef FB_INDEX_H
#define FB_INDEX_H

#include "params.gen.h"
#include "runtime/frame.h"

typedef struct { uint64_t half[2]; } fb_b16;

/* Runs a statement with T as a type of `size` bytes: moving elements needs no more than their size. */
#define FB_BY_SIZE(size, T, ...)                                                                                       \
    switch (size) {                                                                                                    \
    case 1: { typedef uint8_t T; __VA_ARGS__; } break;                                                                 \
    case 2: { typedef uint16_t T; __VA_ARGS__; } break;                                                                \
    case 4: { typedef uint32_t T; __VA_ARGS__; } break;                                                                \
    case 8: { typedef uint64_t T; __VA_ARGS__; } break;                                                                \
    default: { typedef fb_b16 T; __VA_ARGS__; } break;                                                                 \
    }

/* Runs a statement with T as the C type of a real dtype that kernels compute in; complex ones take `components` = 2
 * reals (their sums are sums of components). Halves are staged to float32 by the operator's flag. Other dtypes set the
 * error and go to the caller's label `failed`. */
#define FB_BY_TYPE(dtype, T, ...)                                                                                      \
    switch (dtype) {                                                                                                   \
    case FB_BOOL: case FB_U8: { typedef uint8_t T; __VA_ARGS__; } break;                                               \
    case FB_I8: { typedef int8_t T; __VA_ARGS__; } break;                                                              \
    case FB_I16: { typedef int16_t T; __VA_ARGS__; } break;                                                            \
    case FB_I32: { typedef int32_t T; __VA_ARGS__; } break;                                                            \
    case FB_I64: { typedef int64_t T; __VA_ARGS__; } break;                                                            \
    case FB_U16: { typedef uint16_t T; __VA_ARGS__; } break;                                                           \
    case FB_U32: { typedef uint32_t T; __VA_ARGS__; } break;                                                           \
    case FB_U64: { typedef uint64_t T; __VA_ARGS__; } break;                                                           \
    case FB_F32: { typedef float T; __VA_ARGS__; } break;                                                              \
    case FB_F64: { typedef double T; __VA_ARGS__; } break;                                                             \
    case FB_C64: { typedef float T; __VA_ARGS__; } break;                                                              \
    case FB_C128: { typedef double T; __VA_ARGS__; } break;                                                            \
    default: fb_fail(FB_ENOTIMPL, "\"%s\" not implemented for '%s'", f->op->name, fb_dtype_label((fb_dtype)(dtype))); goto failed; \
    }

/* An index tensor as contiguous int64 (a new reference), or NULL with the error set: IndexError for other dtypes than int32, int64. */
fb_tensor *fb_index_values(const fb_frame *f, fb_tensor *index);
/* Checks every value against size (negative ones count from the end where `wrap`); what the message calls the index. */
fb_status fb_index_check(const fb_frame *f, const int64_t *v, int64_t n, int64_t size, int64_t dim);
/* The tensor as (outer, size of dim, inner). A 0-d tensor is (1, 1, 1). */
void fb_three_parts(const fb_tensor *t, int64_t dim, int64_t *outer, int64_t *size, int64_t *inner);
/* Fails where a given out[0] shares memory with the index or the source: an element written would change what is read next, and a
 * place checked before would no longer be one. Called by infer, before fb_out. */
fb_status fb_refuse_overlap(const fb_frame *f);
/* out[0] = in[0] where they are not the same tensor already. */
fb_status fb_start_from_input(fb_frame *f);

#endif
