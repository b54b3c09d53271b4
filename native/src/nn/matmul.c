#include "nn/matmul.h"

fb_status matmul_run_base(const fb_matmul *g);
fb_status matmul_run_avx2(const fb_matmul *g);
fb_status matmul_run_avx512(const fb_matmul *g);

fb_status fb_matmul_run(const fb_matmul *g)
{
    switch (fb_isa()) {
#ifdef FB_HAVE_ISA_avx512
    case 2: return matmul_run_avx512(g);
#endif
#ifdef FB_HAVE_ISA_avx2
    case 1: return matmul_run_avx2(g);
#endif
    default: return matmul_run_base(g);
    }
}
