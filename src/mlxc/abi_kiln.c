/*
 * abi_kiln.c - the functions of kiln/compile.h as symbols: each passes its function on with its arity.
 */
#include "kiln/compile.h"

int mlx_kiln_compile(mlx_closure *res, const char *name,
                     int (*fun)(mlx_vector_array *res, const mlx_vector_array inputs, void *payload), void *payload,
                     void (*dtor)(void *), bool shapeless)
{
    return _mlx_kiln_compile(res, name, 0, (void (*)(void))fun, payload, dtor, shapeless);
}

int mlx_kiln_compile_unary(mlx_closure *res, const char *name,
                           int (*fun)(mlx_array *res, const mlx_array x, void *payload), void *payload,
                           void (*dtor)(void *), bool shapeless)
{
    return _mlx_kiln_compile(res, name, 1, (void (*)(void))fun, payload, dtor, shapeless);
}

int mlx_kiln_compile_binary(mlx_closure *res, const char *name,
                            int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y, void *payload),
                            void *payload, void (*dtor)(void *), bool shapeless)
{
    return _mlx_kiln_compile(res, name, 2, (void (*)(void))fun, payload, dtor, shapeless);
}

int mlx_kiln_compile_ternary(mlx_closure *res, const char *name,
                             int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y, const mlx_array z,
                                        void *payload),
                             void *payload, void (*dtor)(void *), bool shapeless)
{
    return _mlx_kiln_compile(res, name, 3, (void (*)(void))fun, payload, dtor, shapeless);
}

int mlx_kiln_call(mlx_array *res, const mlx_closure fun, const mlx_array *inputs, size_t count)
{
    mlx_vector_array in = mlx_vector_array_new_data(inputs, count), out = mlx_vector_array_new();
    int code = !in.ctx || mlx_closure_apply(&out, fun, in) || mlx_vector_array_get(res, out, 0);
    mlx_vector_array_free(in);
    mlx_vector_array_free(out);
    return code;
}

int mlx_kiln_call_unary(mlx_array *res, const mlx_closure fun, const mlx_array x)
{
    return mlx_kiln_call(res, fun, &x, 1);
}

int mlx_kiln_call_binary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y)
{
    const mlx_array inputs[] = {x, y};
    return mlx_kiln_call(res, fun, inputs, 2);
}

int mlx_kiln_call_ternary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y,
                          const mlx_array z)
{
    const mlx_array inputs[] = {x, y, z};
    return mlx_kiln_call(res, fun, inputs, 3);
}
