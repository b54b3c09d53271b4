/* What a fork must do with the core's locks. Each file that has one registers it here, once, from a constructor. */
#ifndef FB_FORK_H
#define FB_FORK_H

/* Before a fork the `prepare` functions run in this order, which is therefore the order in which locks nest:
 * who holds a lock may take only later ones. In the parent and the child it is the other way round. */
enum {
    FB_FORK_REGISTRY = 10, /* tables of operators, layers, callbacks */
    FB_FORK_AUTOGRAD = 20,
    FB_FORK_RANDOM = 30,
    FB_FORK_POOL = 40,
    FB_FORK_ALLOC = 50, /* last: anyone may allocate while holding a lock of theirs */
};

/* prepare takes the lock, parent releases it, child makes it anew (a lock held across fork belongs to a thread
 * that the child doesn't have). Each may be NULL. At most 32 registrations; more abort, since they are all ours. */
void fb_at_fork(int order, void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif
