#include "runtime/fork.h"
#include <pthread.h>
#include <stdlib.h>

enum { MAX_HANDLERS = 32 };
static struct handler {
    int order;
    void (*prepare)(void), (*parent)(void), (*child)(void);
} handlers[MAX_HANDLERS]; /* ascending by order */
static int n_handlers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void run_prepare(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_handlers; i++)
        if (handlers[i].prepare) handlers[i].prepare();
}

static void run_parent(void)
{
    for (int i = n_handlers - 1; i >= 0; i--)
        if (handlers[i].parent) handlers[i].parent();
    pthread_mutex_unlock(&lock);
}

static void run_child(void)
{
    for (int i = n_handlers - 1; i >= 0; i--)
        if (handlers[i].child) handlers[i].child();
    pthread_mutex_init(&lock, NULL);
}

void fb_at_fork(int order, void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    int at;

    pthread_mutex_lock(&lock);
    if (n_handlers == MAX_HANDLERS || (n_handlers == 0 && pthread_atfork(run_prepare, run_parent, run_child)))
        abort();
    for (at = n_handlers++; at > 0 && handlers[at - 1].order > order; at--) handlers[at] = handlers[at - 1];
    handlers[at] = (struct handler){order, prepare, parent, child};
    pthread_mutex_unlock(&lock);
}
