#include "check.h"
#include "runtime/alloc.h"
#include "runtime/core.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static fb_memory_stats stats(void)
{
    fb_memory_stats s;

    fb_get_memory_stats(&s);
    return s;
}

static const int64_t sizes[] = {0,     1,     63,    64,     65,     512,     513,     640,     641,      1024,     8192, 8193,
                                16384, 40960, 65536, 65537, 100000, 1 << 20, (1 << 20) + 1, 1 << 21, 3000000, 40000000};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void blocks_are_aligned_disjoint_and_hold_what_is_written(void)
{
    unsigned char *block[N_SIZES][3];

    for (int i = 0; i < N_SIZES; i++)
        for (int k = 0; k < 3; k++) {
            CHECK((block[i][k] = fb_alloc(sizes[i])) != NULL);
            CHECK((uintptr_t)block[i][k] % 64 == 0);
#ifndef FB_ALLOC_IS_MALLOC
            if (sizes[i] >= 2 << 20) CHECK((uintptr_t)block[i][k] % (2 << 20) == 0);
#endif
            memset(block[i][k], i * 3 + k + 1, (size_t)sizes[i]);
        }
    for (int i = 0; i < N_SIZES; i++)
        for (int k = 0; k < 3; k++) {
            int64_t same = 0;
            while (same < sizes[i] && block[i][k][same] == (unsigned char)(i * 3 + k + 1)) same++;
            CHECK_INT(same, sizes[i]);
            fb_free(block[i][k]);
        }
    fb_free(NULL);
}

static void zeroed_blocks_are_zero_fresh_or_kept(void)
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N_SIZES; i++) {
            unsigned char *block = fb_alloc_zeroed(sizes[i]);
            int64_t zeros = 0;
            CHECK(block != NULL);
            while (zeros < sizes[i] && block[zeros] == 0) zeros++;
            CHECK_INT(zeros, sizes[i]);
            memset(block, 0xAB, (size_t)sizes[i]);
            fb_free(block);
        }
}

#ifndef FB_ALLOC_IS_MALLOC /* a sanitizer ends the program at such sizes */

static void impossible_sizes_are_errors(void)
{
    static const int64_t bad[] = {INT64_MAX, INT64_MAX - 63, (int64_t)1 << 62, (int64_t)1 << 48, (int64_t)1 << 47};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char expected[100];
        fb_error_clear();
        CHECK(fb_alloc(bad[i]) == NULL);
        CHECK_INT(fb_error_kind(), FB_EMEMORY);
        snprintf(expected, sizeof expected, "you tried to allocate %lld bytes", (long long)bad[i]);
        CHECK(strstr(fb_error_message(), expected));
        CHECK(fb_alloc_zeroed(bad[i]) == NULL);
    }
    fb_error_clear();
    CHECK(fb_alloc(-1) == NULL);
    CHECK_INT(fb_error_kind(), FB_ERUNTIME);
    CHECK(fb_alloc_zeroed(INT64_MIN) == NULL);
    fb_error_clear();
}

#endif

static void statistics_follow_what_is_handed_out(void)
{
    fb_memory_stats before = stats(), now;
    void *small, *large;

    small = fb_alloc(1000);
    large = fb_alloc(5000000);
    now = stats();
    CHECK(now.allocated - before.allocated >= 5001000 && now.allocated - before.allocated < 5001000 * 5 / 4);
    CHECK_INT(now.allocations - before.allocations, 2);
    CHECK(now.allocated_peak >= now.allocated);
    fb_free(small);
    fb_free(large);
    now = stats();
    CHECK_INT(now.allocated, before.allocated);
    CHECK_INT(now.frees - before.frees, 2);
    CHECK(now.allocated_peak >= before.allocated + 5000000);
    fb_reset_peak_memory_stats();
    CHECK_INT(stats().allocated_peak, before.allocated);

    fb_count_live(2, 1);
    fb_count_live(-1, 0);
    CHECK_INT(stats().live_tensors - before.live_tensors, 1);
    CHECK_INT(stats().live_storages - before.live_storages, 1);
    fb_count_live(-1, -1);
}

#ifndef FB_ALLOC_IS_MALLOC /* there is no cache */

static void large_blocks_are_used_again_with_bounded_waste(void)
{
    fb_empty_cache();
    void *a = fb_alloc(40 << 20);
    int64_t reserved = stats().reserved;
    fb_free(a);
    CHECK(fb_alloc(39 << 20) == a); /* a little smaller: the same memory */
    CHECK_INT(stats().reserved, reserved);
    fb_free(a);
    void *b = fb_alloc(20 << 20); /* half of it would be wasted */
    CHECK(b != a);
    fb_free(b);
    fb_empty_cache();
}

static void the_cache_is_emptied_and_capped_oldest_first(void)
{
    void *block[4];

    fb_empty_cache();
    int64_t floor = stats().reserved;
    fb_set_cache_limit(64 << 20);
    for (int i = 0; i < 4; i++) block[i] = fb_alloc(24 << 20);
    for (int i = 0; i < 4; i++) fb_free(block[i]);
    CHECK(stats().reserved - floor <= 64 << 20);
    CHECK(stats().reserved - floor >= 48 << 20);
    CHECK(fb_alloc(24 << 20) == block[3]); /* the newest are still there */
    CHECK(fb_alloc(24 << 20) == block[2]);
    fb_free(block[2]);
    fb_free(block[3]);
    fb_empty_cache();
    CHECK_INT(stats().reserved, floor);
    fb_set_cache_limit(0);
    fb_free(fb_alloc(24 << 20));
    CHECK_INT(stats().reserved, floor);
    fb_set_cache_limit(-1);
}

static void chunks_go_back_when_all_their_blocks_are_free(void)
{
    enum { N = 20000 };
    static void *block[N];

    fb_empty_cache();
    int64_t floor = stats().reserved;
    for (int i = 0; i < N; i++) block[i] = fb_alloc(100 + i % 5000);
    CHECK(stats().reserved - floor > N * 2000);
    for (int i = 0; i < N; i++) fb_free(block[(i * 7919) % N]);
    fb_empty_cache();
    CHECK(stats().reserved - floor <= 2 << 20);
}

#endif

/* Each block carries a pattern made of its own address, so that two owners of one block would notice. */
enum { SLOTS = 256, STEPS = 20000 };
static _Atomic(uint64_t *) slots[SLOTS];

static void check_and_free(uint64_t *block)
{
    if (!block) return;
    CHECK(block[0] == ((uint64_t)(uintptr_t)block ^ 0x5555) && block[1 + block[1] % 7] != 0);
    fb_free(block);
}

static void *exchange_blocks(void *seed)
{
    uint64_t x = (uintptr_t)seed;

    for (int i = 0; i < STEPS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        int64_t bytes = 64 + (int64_t)(x >> 40) % (i % 64 == 0 ? 300000 : 3000);
        uint64_t *block = fb_alloc(bytes);
        CHECK(block != NULL);
        for (int k = 0; k < 8; k++) block[k] = 1;
        block[0] = (uint64_t)(uintptr_t)block ^ 0x5555;
        check_and_free(atomic_exchange(&slots[(x >> 33) % SLOTS], block));
        void *object = fb_small_alloc(1 + (x >> 50) % FB_SMALL_MAX);
        CHECK(object != NULL);
        *(char *)object = 1;
        fb_small_free(object, 1 + (x >> 50) % FB_SMALL_MAX);
    }
    return NULL;
}

static void threads_may_free_each_others_blocks_and_end(void)
{
    pthread_t thread[4];
    fb_memory_stats before = stats();

    for (int round = 0; round < 3; round++) {
        for (uintptr_t i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, exchange_blocks, (void *)(i + 1)));
        for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < SLOTS; i++) check_and_free(atomic_exchange(&slots[i], NULL));
    CHECK_INT(stats().allocated, before.allocated);
    CHECK_INT(stats().allocations - before.allocations, 3 * 4 * STEPS);
    CHECK_INT(stats().frees - before.frees, 3 * 4 * STEPS);
}

static void *free_it(void *object)
{
    fb_small_free(object, 200);
    return NULL;
}

static void objects_are_distinct_aligned_and_cross_threads(void)
{
    enum { N = 5000 };
    static unsigned char *object[N];
    pthread_t thread;

    for (int i = 0; i < N; i++) {
        CHECK((object[i] = fb_small_alloc(200)) != NULL);
        CHECK((uintptr_t)object[i] % 16 == 0);
        memset(object[i], i & 255, 200);
    }
    for (int i = 0; i < N; i++) CHECK(object[i][0] == (i & 255) && object[i][199] == (i & 255));
    CHECK(!pthread_create(&thread, NULL, free_it, object[0]));
    pthread_join(thread, NULL);
    for (int i = 1; i < N; i++) fb_small_free(object[i], 200);
    fb_small_free(NULL, 200);
}

static void *allocate_all_the_time(void *stop)
{
    while (!atomic_load((_Atomic int *)stop)) {
        fb_free(fb_alloc(200000));
        fb_free(fb_alloc(4000000));
    }
    return NULL;
}

__attribute__((unused)) static void a_child_can_allocate_while_the_parent_did(void)
{
    _Atomic int stop = 0;
    pthread_t thread;

    CHECK(!pthread_create(&thread, NULL, allocate_all_the_time, &stop));
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20); /* a lock that nobody will release would hang here */
            void *a = fb_alloc(300000), *b = fb_alloc(3000000), *c = fb_alloc(64);
            fb_free(a);
            fb_free(b);
            fb_free(c);
            _exit(!(a && b && c));
        }
        int status = -1;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
}

static void errors_are_a_kind_and_a_message(void)
{
    char text[3000];

    fb_error_clear();
    CHECK(fb_error_kind() == FB_ENONE && fb_error_message()[0] == 0);
    CHECK_INT(fb_fail(FB_EVALUE, "n=%d", 3), FB_FAIL);
    CHECK(fb_error_kind() == FB_EVALUE && !strcmp(fb_error_message(), "n=3"));
    CHECK(fb_fail_null(FB_ETYPE, "while adding: %s", fb_error_message()) == NULL);
    CHECK(fb_error_kind() == FB_ETYPE && !strcmp(fb_error_message(), "while adding: n=3"));
    for (int lead = 0; lead < 2; lead++) { /* two-byte characters, at both parities of the cut */
        memset(text, 'a', sizeof text);
        for (int i = lead; i + 1 < 2998; i += 2) memcpy(text + i, "\xC3\xA9", 2);
        text[2998] = 0;
        fb_fail(FB_EVALUE, "%s", text);
        size_t n = strlen(fb_error_message());
        CHECK(n > 2000 && n < 2048 && !strcmp(fb_error_message() + n - 3, "..."));
        CHECK((unsigned char)fb_error_message()[n - 4] == 0xA9);
    }
    fb_error_clear();
}

int main(void)
{
    RUN(errors_are_a_kind_and_a_message);
    RUN(blocks_are_aligned_disjoint_and_hold_what_is_written);
    RUN(zeroed_blocks_are_zero_fresh_or_kept);
    RUN(statistics_follow_what_is_handed_out);
#ifndef FB_ALLOC_IS_MALLOC
    RUN(impossible_sizes_are_errors);
    RUN(large_blocks_are_used_again_with_bounded_waste);
    RUN(the_cache_is_emptied_and_capped_oldest_first);
    RUN(chunks_go_back_when_all_their_blocks_are_free);
#endif
    RUN(threads_may_free_each_others_blocks_and_end);
    RUN(objects_are_distinct_aligned_and_cross_threads);
#ifndef CHECK_NO_BUSY_FORK
    RUN(a_child_can_allocate_while_the_parent_did);
#endif
    return check_end();
}
