#include "nn/matmul.h"

fb_status product_run_base(const fb_product *g);
fb_status product_run_avx2(const fb_product *g);
fb_status product_run_avx512(const fb_product *g);

fb_status fb_product_run(const fb_product *g)
{
    switch (fb_isa()) {
#ifdef FB_HAVE_ISA_avx512
    case 2: return product_run_avx512(g);
#endif
#ifdef FB_HAVE_ISA_avx2
    case 1: return product_run_avx2(g);
#endif
    default: return product_run_base(g);
    }
}
