/*
 * abi_error.c - the error handler of the process.
 *
 * The handler in force is a counted object: a call takes a reference under the lock, runs the handler without it, and
 * drops the reference. So a handler that is replaced while it runs keeps its data until it returns.
 */
#include "mlxc/abi_error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/process/callback.h"
#include "base/process/fork.h"
#include "mlx/c/error.h"

struct handler {
    unsigned refs; /* guarded by `lock` */
    mlx_error_handler_func call;
    void *data;
    void (*dtor)(void *);
};

KILN_LEAF_LOCK(lock);           /* guards `current` and every handler's refs */
static struct handler *current; /* NULL: the default */

static struct handler *take(void)
{
    pthread_mutex_lock(&lock);
    struct handler *handler = current;
    if (handler) handler->refs++;
    pthread_mutex_unlock(&lock);
    return handler;
}

static void drop(struct handler *handler)
{
    if (!handler) return;
    pthread_mutex_lock(&lock);
    bool last = --handler->refs == 0;
    pthread_mutex_unlock(&lock);
    if (!last) return;
    if (handler->dtor) handler->dtor(handler->data);
    free(handler);
}

/* What happens when nobody installed a handler. */
static void print_and_exit(const char *text)
{
    printf("MLX error: %s\n", text);
    fflush(stdout);
    exit(-1);
}

static void report(const char *text)
{
    struct handler *handler = take();
    if (!handler) print_and_exit(text);
    handler->call(text, handler->data);
    drop(handler);
}

void mlx_set_error_handler(mlx_error_handler_func handler, void *data, void (*dtor)(void *))
{
    struct handler *made = NULL;
    if (handler) {
        made = malloc(sizeof *made);
        if (!made) {
            KILN_FAIL_TEXT("out of memory: the error handler was not installed");
            return;
        }
        *made = (struct handler){.refs = 1, .call = handler, .data = dtor ? data : NULL, .dtor = dtor};
    } else if (dtor) {
        dtor(data);
    }
    pthread_mutex_lock(&lock);
    struct handler *old = current;
    current = made;
    pthread_mutex_unlock(&lock);
    drop(old);
}

__attribute__((format(printf, 3, 4))) void _mlx_error(const char *file, const int line, const char *fmt, ...)
{
    struct kiln_buffer text = {0};
    va_list list;
    va_start(list, fmt);
    if (fmt) kiln__buffer_vprintf(&text, fmt, list);
    va_end(list);
    kiln__buffer_printf(&text, " at %s:%d", file ? file : "?", line);
    report(text.failed ? "out of memory: the text of an error is lost at " __FILE__ ":0" : (const char *)text.data);
    kiln__buffer_release(&text);
}

/* A thread that is unwinding out of a callback (pthread_exit, cancellation) goes on unwinding and reports nothing. */
int kiln__mlxc_fail(const char *file, int line, const char *text)
{
    kiln__go_on_leaving();
    _mlx_error(file, line, "%s", text);
    return 1;
}

int kiln__mlxc_empty(const char *file, int line, const char *type, const char *argument, const char *function)
{
    _mlx_error(file, line, "expected a non-empty %s for %s of %s", type, argument, function);
    return 1;
}
