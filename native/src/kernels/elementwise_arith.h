/* Arithmetic of real numbers, a line an operator: for floats, for integers whatever their sign, and where the sign
 * counts. */
#ifndef FB_KERNELS_ELEMENTWISE_ARITH_H
#define FB_KERNELS_ELEMENTWISE_ARITH_H

#include "kernels/elementwise_body.h"

/* The larger, NaN if either is; fmax prefers a number. */
/* In this order the comparison is the machine's max(y, x), which gives x where either is NaN: one test for y is left. */
#define EW_LARGER(x, y) ({ __typeof__(x) most_ = (y) > (x) ? (y) : (x); (y) != (y) ? (y) : most_; })
#define EW_LESSER(x, y) ({ __typeof__(x) least_ = (y) < (x) ? (y) : (x); (y) != (y) ? (y) : least_; })

#define EW_FLOAT_UNARY(OP)                                                                                 \
    OP(neg, -x)                                                                                            \
    OP(abs, fbm_abs(x))                                                                                    \
    OP(square, x * x)                                                                                      \
    OP(sign, (T)(x > 0) - (T)(x < 0)) /* of NaN: 0 */                                                      \
    OP(relu, x < 0 ? 0 : x)           /* NaN and -0 stay */                                                \
    OP(reciprocal, 1 / x)

#define EW_FLOAT_BINARY(OP)                                                                                \
    OP(mul, x * y)                                                                                         \
    OP(div, x / y)                                                                                         \
    OP(maximum, EW_LARGER(x, y))                                                                           \
    OP(minimum, EW_LESSER(x, y))                                                                           \
    OP(fmax, x >= y || y != y ? x : y)                                                                     \
    OP(fmin, x <= y || y != y ? x : y)

#define EW_SCALED(OP) /* floats and integers */                                                            \
    OP(add, alpha, x + alpha * y)                                                                          \
    OP(sub, alpha, x - alpha * y)                                                                          \
    OP(rsub, alpha, y - alpha * x)

#define EW_COMPARE_SIGNLESS(OP)                                                                            \
    OP(eq, x == y)                                                                                         \
    OP(ne, x != y)                                                                                         \
    OP(logical_and, (x != 0) & (y != 0))                                                                   \
    OP(logical_or, (x != 0) | (y != 0))                                                                    \
    OP(logical_xor, (x != 0) ^ (y != 0))
#define EW_COMPARE_ORDER(OP)                                                                               \
    OP(lt, x < y)                                                                                          \
    OP(le, x <= y)                                                                                         \
    OP(gt, x > y)                                                                                          \
    OP(ge, x >= y)

#define EW_FLOAT_TERNARY(OP) OP(addcmul, value, x + value * (y * z)) OP(addcdiv, value, x + value * (y / z))

/* W: an unsigned type at least as wide as T and as int, in which overflow wraps */
#define EW_WRAP_UNARY(OP)                                                                                  \
    OP(neg, 0 - (W)x)                                                                                      \
    OP(square, (W)x * (W)x)                                                                                \
    OP(bitwise_not, ~(W)x)
#define EW_WRAP_BINARY(OP)                                                                                 \
    OP(mul, (W)x * (W)y)                                                                                   \
    OP(bitwise_and, x & y)                                                                                 \
    OP(bitwise_or, x | y)                                                                                  \
    OP(bitwise_xor, x ^ y)
#define EW_WRAP_SCALED(OP)                                                                                 \
    OP(add, alpha, (W)x + (W)alpha * (W)y)                                                                 \
    OP(sub, alpha, (W)x - (W)alpha * (W)y)                                                                 \
    OP(rsub, alpha, (W)y - (W)alpha * (W)x)
#define EW_WRAP_TERNARY(OP) OP(addcmul, value, (W)x + (W)value * ((W)y * (W)z))

#define EW_SIGNED_UNARY(OP)                                                                                \
    OP(abs, x > 0 ? (W)x : 0 - (W)x)                                                                       \
    OP(sign, x > 0 ? 1 : -(int)(x != 0))                                                                   \
    OP(relu, x > 0 ? x : 0)
#define EW_SIGNED_BINARY(OP)                                                                               \
    OP(maximum, x > y ? x : y)                                                                             \
    OP(minimum, x < y ? x : y)

#endif
