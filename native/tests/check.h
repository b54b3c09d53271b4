/* Checks for the C tests: CHECK(x) reports and counts a failure, RUN(test) names the test, `return check_end();`
 * ends main. */
#ifndef FB_CHECK_H
#define FB_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static _Atomic int check_failures; /* atomic: chunks of parallel jobs check too */

#define CHECK(...)                                                                                         \
    do {                                                                                                   \
        if (!(__VA_ARGS__)) {                                                                              \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                    \
            check_failures++;                                                                              \
        }                                                                                                  \
    } while (0)

#define CHECK_INT(got, want)                                                                               \
    do {                                                                                                   \
        long long got_ = (long long)(got), want_ = (long long)(want);                                      \
        if (got_ != want_) {                                                                               \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_);       \
            check_failures++;                                                                              \
        }                                                                                                  \
    } while (0)

#define RUN(test)                                                                                          \
    do {                                                                                                   \
        int before_ = check_failures;                                                                      \
        test();                                                                                            \
        printf("%s %s\n", check_failures == before_ ? "ok  " : "FAIL", #test);                             \
    } while (0)

static inline int check_end(void)
{
    if (check_failures) fprintf(stderr, "%d checks failed\n", (int)check_failures);
    return check_failures != 0;
}

/* These sanitizers keep locks of their own that a fork amid other threads' work may leave held in the child. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CHECK_NO_BUSY_FORK 1
#endif

#endif
