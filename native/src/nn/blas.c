#include "nn/blas.h"
#include <stdatomic.h>

#ifdef FB_HAVE_BLAS
/* Weak: a system BLAS that isn't OpenBLAS has no such function. */
__attribute__((weak)) void FB_BLAS(openblas_set_num_threads)(int n);
#endif

void fb_blas_init(void)
{
#ifdef FB_HAVE_BLAS
    static _Atomic int done;
    if (atomic_load_explicit(&done, memory_order_relaxed)) return;
    if (FB_BLAS(openblas_set_num_threads)) FB_BLAS(openblas_set_num_threads)(1);
    atomic_store_explicit(&done, 1, memory_order_relaxed);
#endif
}
