/*
 * placement.h - the device a thread runs an operation or a plan at: outputs are made there, and kernels launched
 * there.
 */
#ifndef KILN_RUN_PLACEMENT_H
#define KILN_RUN_PLACEMENT_H

#include "array/array.h"
#include "device/device.h"

/* 0: the CPU; 1 + n: GPU n. */
extern _Thread_local uint32_t kiln__active_device_index __attribute__((tls_model("initial-exec")));

/* Sets the device and gives the one before, to be set again afterwards. On a GPU it becomes current on this
 * thread. */
kiln_status kiln__run_at(uint32_t device_index, uint32_t *before, kiln_error *err);

/* Storage for an output, here; zeroed when kernels are compiled only (KILN_MODE), since nothing will write it. */
kiln_status kiln__output_storage(size_t size, struct kiln_storage **out, kiln_error *err);
/* The same and the address of its bytes. In a dry run there is no storage, and nobody reads or writes at the address.
 */
kiln_status kiln__output_bytes(size_t size, struct kiln_storage **storage, char **data, kiln_error *err);

/* The GPU of a device that is not 0, and the device its kernels are linked for. */
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
bool kiln__all_at(struct kiln_array *const *arrays, size_t count, uint32_t device_index);

#endif
