/* Warnings: to the host's hook, or to stderr. */
#include "runtime/core.h"
#include <stdarg.h>
#include <stdio.h>

static void (*_Atomic hook)(const char *);

void fb_set_warning_hook(void (*h)(const char *)) { atomic_store(&hook, h); }

void fb_warn(const char *format, ...)
{
    char text[1024];
    void (*h)(const char *) = atomic_load(&hook);
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (h)
        h(text);
    else
        fprintf(stderr, "flambeau: warning: %s\n", text);
}
