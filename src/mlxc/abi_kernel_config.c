/*
 * abi_kernel_config.c - fast.h of the ABI: how kernels in source form are launched. Metal's and CUDA's configurations
 * are the same. A handle's ctx is the configuration.
 */
#include <stdlib.h>

#include "mlxc/handle.h"
#include "run/source/kernel_config.h"

static struct kiln_kernel_config *new_config(void)
{
    struct kiln_kernel_config *config = calloc(1, sizeof *config);
    if (!config) KILN_FAIL_TEXT("out of memory: the configuration of a kernel");
    return config;
}

static void free_config(struct kiln_kernel_config *config)
{
    if (config) kiln__config_release(config);
    free(config);
}

static int add_output(struct kiln_kernel_config *config, const int *shape, size_t size, mlx_dtype dtype)
{
    kiln_error err;
    if (KILN_NO_ELEMENTS(shape, size) || KILN_NO_DTYPE("kernel_config", dtype)) return 1;
    return kiln__config_add_output(config, shape, size, (enum kiln_dtype)dtype, &err) ? KILN_FAIL(&err) : 0;
}

static int add_template(struct kiln_kernel_config *config, const char *name, enum kiln_template_kind kind, int value)
{
    kiln_error err;
    if (KILN_NO_POINTER(name)) return 1;
    return kiln__config_add_template(config, name, kind, value, &err) ? KILN_FAIL(&err) : 0;
}

static int set_size(int to[3], int x, int y, int z)
{
    if (x < 1 || y < 1 || z < 1) return KILN_FAIL_TEXT("[kernel_config] expected three sizes of 1 or more");
    to[0] = x, to[1] = y, to[2] = z;
    return 0;
}

#define KILN_CONFIG(kind)                                                                                              \
    mlx_fast_##kind##_kernel_config mlx_fast_##kind##_kernel_config_new(void)                                          \
    {                                                                                                                  \
        return (mlx_fast_##kind##_kernel_config){new_config()};                                                        \
    }                                                                                                                  \
    void mlx_fast_##kind##_kernel_config_free(mlx_fast_##kind##_kernel_config cls)                                     \
    {                                                                                                                  \
        free_config(cls.ctx);                                                                                          \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_add_output_arg(mlx_fast_##kind##_kernel_config cls, const int *shape,          \
                                                       size_t size, mlx_dtype dtype)                                   \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        return add_output(cls.ctx, shape, size, dtype);                                                                \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_set_grid(mlx_fast_##kind##_kernel_config cls, int grid1, int grid2, int grid3) \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        return set_size(((struct kiln_kernel_config *)cls.ctx)->grid, grid1, grid2, grid3);                            \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_set_thread_group(mlx_fast_##kind##_kernel_config cls, int thread1,             \
                                                         int thread2, int thread3)                                     \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        return set_size(((struct kiln_kernel_config *)cls.ctx)->block, thread1, thread2, thread3);                     \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_set_init_value(mlx_fast_##kind##_kernel_config cls, float value)               \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        ((struct kiln_kernel_config *)cls.ctx)->init_value = value;                                                    \
        ((struct kiln_kernel_config *)cls.ctx)->has_init_value = true;                                                 \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_set_verbose(mlx_fast_##kind##_kernel_config cls, bool verbose)                 \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        ((struct kiln_kernel_config *)cls.ctx)->is_verbose = verbose;                                                  \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_add_template_arg_dtype(mlx_fast_##kind##_kernel_config cls, const char *name,  \
                                                               mlx_dtype dtype)                                        \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        if (KILN_NO_DTYPE("kernel_config", dtype)) return 1;                                                           \
        return add_template(cls.ctx, name, KILN_TEMPLATE_DTYPE, (int)dtype);                                           \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_add_template_arg_int(mlx_fast_##kind##_kernel_config cls, const char *name,    \
                                                             int value)                                                \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        return add_template(cls.ctx, name, KILN_TEMPLATE_INT, value);                                                  \
    }                                                                                                                  \
    int mlx_fast_##kind##_kernel_config_add_template_arg_bool(mlx_fast_##kind##_kernel_config cls, const char *name,   \
                                                              bool value)                                              \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(cls, "mlx_fast_" #kind "_kernel_config")) return 1;                                         \
        return add_template(cls.ctx, name, KILN_TEMPLATE_BOOL, value);                                                 \
    }

KILN_CONFIG(metal)
KILN_CONFIG(cuda)
