/*
 * placement.h - the device at which a thread runs an operation or a plan: outputs are made there, and kernels launched
 * there.
 */
#ifndef KILN_RUN_PLACEMENT_H
#define KILN_RUN_PLACEMENT_H

#include "array/array.h"
#include "device/device.h"
#include "run/backend.h"

struct kiln_placement {
    const struct kiln_backend *backend;
    kiln_device *device; /* of a GPU. NULL on the CPU: kernels are for the thread's current device (device/device.h) */
    uint32_t device_index; /* 0: the CPU; 1 + n: GPU n */
};

/* Where this thread runs; the CPU, unless kiln__run_at() says otherwise. */
extern _Thread_local struct kiln_placement kiln__active __attribute__((tls_model("initial-exec")));

const struct kiln_backend *kiln__backend_of(uint32_t device_index);

/* Makes the device the active one. *before is what `kiln__active = before` restores afterwards. */
kiln_status kiln__run_at(uint32_t device_index, struct kiln_placement *before, kiln_error *err);

/* Storage for an output at the active device; host memory is zeroed when kernels are compiled only (KILN_MODE), since
 * nothing will write it. */
kiln_status kiln__output_storage(size_t size, struct kiln_storage **out, kiln_error *err);
/* The same and the address of its bytes. In a dry run there is no storage, and nobody reads or writes at the address.
 */
kiln_status kiln__output_bytes(size_t size, struct kiln_storage **storage, char **data, kiln_error *err);

/* The device that kernels of GPU `device_index` - 1 are linked for. */
kiln_status kiln__device_at_index(uint32_t device_index, kiln_device **out, kiln_error *err);

/* Returns when what makes these ready arrays is done; what a GPU could not do comes back as its driver's error. */
kiln_status kiln__wait(struct kiln_array *const *arrays, size_t count, kiln_error *err);
kiln_status kiln__wait_for_device(uint32_t device_index, kiln_error *err);

/*
 * Arrays that are moved to a device for the time of an operation. Those that are there already are borrowed, so
 * that an operation may take over storage that nobody else holds.
 */
struct kiln_moved {
    struct kiln_array **arrays;
    struct kiln_array *const *from;
    size_t count;
    struct kiln_array *few[16];
};
/* `arrays`, which must outlive it, at `device_index`. Release also after a failure. */
kiln_status kiln__move(struct kiln_moved *out, struct kiln_array *const *arrays, size_t count, uint32_t device_index,
                       kiln_error *err);
void kiln__moved_release(struct kiln_moved *moved);
/*
 * Around what runs at a GPU on one of its streams, which becomes the thread's current one: what it reads is waited for
 * before, and told to be read after; so are inputs that it may write over, since nobody else holds them. Between the
 * two the GPU is the active device. On the host, and where no stream was ever used, they do nothing.
 */
struct kiln_stream_work {
    const struct kiln_gpu *gpu; /* NULL: there is nothing to do */
    uint32_t before;            /* the current stream until then */
};
kiln_status kiln__stream_begin(struct kiln_stream_work *work, uint32_t stream, struct kiln_array *const *inputs,
                               size_t count, kiln_error *err);
/* `outputs` have storage, or failed; NULL stands for one that nobody wants. */
void kiln__stream_end(const struct kiln_stream_work *work, struct kiln_array *const *inputs, size_t count,
                      struct kiln_array *const *outputs, size_t output_count);
bool kiln__all_at(struct kiln_array *const *arrays, size_t count, uint32_t device_index);

#endif
