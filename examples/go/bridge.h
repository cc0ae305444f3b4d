/*
 * bridge.h - what Go calls. Each function returns NULL, or the text of the error, malloc'ed: Go may move a goroutine to
 * another thread between two calls, so the text has to come back with the call that failed.
 */
#ifndef BRIDGE_H
#define BRIDGE_H

#include <stdint.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

char *bridge_compile(mlx_closure *res, uintptr_t function, bool shapeless); /* takes the function, also when it fails */
char *bridge_call(mlx_array *res, mlx_closure function, const mlx_array *inputs, size_t count);
char *bridge_unary(int (*operation)(mlx_array *, const mlx_array, const mlx_stream), mlx_array *res, mlx_array x);
char *bridge_binary(int (*operation)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream), mlx_array *res,
                    mlx_array x, mlx_array y);
char *bridge_sum(mlx_array *res, mlx_array x);
char *bridge_evaluate(mlx_array x);
void bridge_say(const char *text); /* why a function failed, within its call */
#endif
