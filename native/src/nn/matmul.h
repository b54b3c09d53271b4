/* Matrix products for code that is compiled once: the copy for this machine's instruction set is chosen here. */
#ifndef FB_NN_MATMUL_H
#define FB_NN_MATMUL_H

#include "kernels/gemm.h"

fb_status fb_product_run(const fb_product *g);
const char *fb_dtype_c_name(int dtype); /* "long int": some of PyTorch's texts name dtypes so */

#endif
