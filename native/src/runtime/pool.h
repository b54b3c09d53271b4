/* The pool's internal side; fb_parallel and friends are public. */
#ifndef FB_POOL_H
#define FB_POOL_H

#include <stdbool.h>

/* Around long work in a thread that may hold the host's lock (Python's GIL): calls the host's save hook and
 * remembers that it did. NULL, and nothing done, without hooks, in a pool thread, inside a chunk of fb_parallel, or
 * where this thread has given the lock up already. fb_reblock(NULL) does nothing. */
void *fb_unblock(void);
void fb_reblock(void *state);

bool fb_in_parallel(void); /* is this thread running a chunk? (fb_parallel would run serially) */

#endif
