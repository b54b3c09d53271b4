/* The thread's last error: a kind and a message. */
#include "runtime/core.h"
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 2048 };
static _Thread_local fb_error error_kind;
static _Thread_local char error_message[MESSAGE_BYTES];

/* Formats aside first: the arguments may contain the message that is being replaced ("while ...: <old>"). */
static void set_error(fb_error kind, const char *format, va_list args)
{
    char text[MESSAGE_BYTES];
    int n = vsnprintf(text, sizeof text, format, args);

    if (n < 0) {
        snprintf(text, sizeof text, "(the error's message could not be formatted: %s)", format);
        n = (int)strlen(text);
    }
    if (n >= MESSAGE_BYTES) {
        /* Cut before a character, not inside one: the text is UTF-8 and will be decoded as such. */
        n = MESSAGE_BYTES - 4;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
        memcpy(text + n, "...", 4);
        n += 3;
    }
    memcpy(error_message, text, (size_t)n + 1);
    error_kind = kind;
}

fb_status fb_fail(fb_error kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_error(kind, format, args);
    va_end(args);
    return FB_FAIL;
}

void *fb_fail_null(fb_error kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_error(kind, format, args);
    va_end(args);
    return NULL;
}

fb_error fb_error_kind(void) { return error_kind; }

const char *fb_error_message(void) { return error_message; }

void fb_error_clear(void)
{
    error_kind = FB_ENONE;
    error_message[0] = 0;
}
