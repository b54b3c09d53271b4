/* Template: normal numbers by Box and Muller (Ann. Math. Statist. 29, 1958) in rows of 16. Needs T, S (name suffix)
 * and UNIFORM(g, out, n). In a row the first 8 uniform numbers give radii, the other 8 angles; the cosines go to
 * the first half, the sines to the second. */

/* Turns whole rows of uniform numbers into normal ones. */
static void FB_CAT(rows, S)(T *x, int64_t rows, T mean, T std)
{
    enum { ROWS = 32 };
    T radius[ROWS * 8], angle[ROWS * 8], cosine[ROWS * 8], sine[ROWS * 8];
    const bool plain = mean == 0 && std == 1;

    for (; rows > 0; rows -= ROWS, x += ROWS * 16) {
        int k = rows < ROWS ? (int)rows : ROWS;
        for (int r = 0; r < k; r++)
            for (int j = 0; j < 8; j++) {
                radius[r * 8 + j] = 1 - x[r * 16 + j]; /* (0, 1]: has a logarithm */
                angle[r * 8 + j] = (T)6.283185307179586476925 * x[r * 16 + 8 + j];
            }
        for (int i = 0; i < k * 8; i++) radius[i] = fbm_sqrt(-2 * fbm_log(radius[i]));
        for (int i = 0; i < k * 8; i++) {
            cosine[i] = radius[i] * fbm_cos(angle[i]);
            sine[i] = radius[i] * fbm_sin(angle[i]);
        }
        if (!plain)
            for (int i = 0; i < k * 8; i++) {
                cosine[i] = FMA(cosine[i], std, mean);
                sine[i] = FMA(sine[i], std, mean);
            }
        for (int r = 0; r < k; r++)
            for (int j = 0; j < 8; j++) {
                x[r * 16 + j] = cosine[r * 8 + j];
                x[r * 16 + 8 + j] = sine[r * 8 + j];
            }
    }
}

/* n >= 16. All uniform numbers are drawn before any is used; where n is no multiple of 16, the last 16 elements
 * are drawn anew for a row of their own. */
static void FB_CAT(normal_rows, S)(fb_generator *g, T *x, int64_t n, T mean, T std)
{
    UNIFORM(g, x, n);
    FB_CAT(rows, S)(x, n / 16, mean, std);
    if (n % 16) {
        UNIFORM(g, x + n - 16, 16);
        FB_CAT(rows, S)(x + n - 16, 1, mean, std);
    }
}
#undef T
#undef S
#undef UNIFORM
#undef FMA
