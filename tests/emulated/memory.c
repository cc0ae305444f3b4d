/*
 * memory.c - the emulated GPU's memory, and copies to and from it.
 *
 * One range of addresses, closed to everybody but between emulated_memory_open() and close(): a host that reads a GPU's
 * pointer dies of it at once. Allocations are a list in the order of their addresses; behind each is a margin of
 * known bytes, so that a kernel that writes beyond one is found. Every copy must lie in one allocation.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulated/driver.h"

enum {
    ALIGNMENT = 512,
    MARGIN = 512,
    FRESH = 0xA5,
    UNTOUCHED = 0x5A,
    PAGE = 2 << 20, /* large ones: opening and closing takes time for each */
};
#define RANGE  ((size_t)8 << 30)
#define MEMORY ((size_t)4 << 30)

struct allocation {
    struct allocation *next;
    char *data;
    size_t size, room; /* room: with what aligns it, and the margin */
};

static struct allocation *allocations; /* by address */
static size_t used;
static char *range;
static size_t reached; /* bytes of the range that were ever used */

size_t emulated_memory_total(void)
{
    const char *wanted = getenv("KILN_TEST_CUDA_MEMORY");
    size_t bytes = wanted ? strtoull(wanted, NULL, 10) : MEMORY;
    return bytes < RANGE / 2 ? bytes : RANGE / 2;
}

void emulated_memory_open(void)
{
    if (reached) mprotect(range, reached, PROT_READ | PROT_WRITE);
}

void emulated_memory_close(void)
{
    if (reached) mprotect(range, reached, PROT_NONE);
}

static struct allocation *find(uint64_t address)
{
    for (struct allocation *at = allocations; at; at = at->next)
        if (address - (uint64_t)(uintptr_t)at->data < at->size) return at;
    return NULL;
}

bool emulated_memory_has(uint64_t address, size_t size)
{
    const struct allocation *found = find(address);
    return found && size <= found->size - (address - (uint64_t)(uintptr_t)found->data);
}

bool emulated_memory_is_sound(void)
{
    for (const struct allocation *at = allocations; at; at = at->next)
        for (size_t i = at->size; i < at->room; i++)
            if ((unsigned char)at->data[i] != UNTOUCHED) return false;
    return true;
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

/* The first gap that is large enough; NULL: there is none. *link is where the allocation goes into the list. */
static char *find_gap(size_t room, struct allocation ***link)
{
    char *gap = range;
    for (*link = &allocations; **link; *link = &(**link)->next) {
        if ((size_t)((**link)->data - gap) >= room) return gap;
        gap = (**link)->data + (**link)->room;
    }
    return (size_t)(range + RANGE - gap) >= room ? gap : NULL;
}

static bool reserve(void)
{
    if (range) return true;
    char *mapped = mmap(NULL, RANGE + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return false;
    range = mapped + (PAGE - (uintptr_t)mapped % PAGE) % PAGE;
    madvise(range, RANGE, MADV_HUGEPAGE);
    return true;
}

static int allocate(uint64_t *address, size_t size)
{
    struct allocation **link, *made;
    if (!size) return INVALID_VALUE;
    if (used + size > emulated_memory_total() || !reserve()) return OUT_OF_MEMORY;
    size_t room = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + MARGIN;
    char *data = find_gap(room, &link);
    if (!data || !(made = malloc(sizeof *made))) return OUT_OF_MEMORY;
    *made = (struct allocation){*link, data, size, room};
    *link = made;
    used += size;
    size_t end = (size_t)(data + room - range);
    reached = reached < end ? (end + PAGE - 1) / PAGE * PAGE : reached;
    emulated_memory_open();
    memset(data, FRESH, size);
    memset(data + size, UNTOUCHED, room - size);
    emulated_memory_close();
    *address = (uint64_t)(uintptr_t)data;
    return SUCCESS;
}

static int release(uint64_t address)
{
    struct allocation **link = &allocations;
    while (*link && (uint64_t)(uintptr_t)(*link)->data != address) link = &(*link)->next;
    struct allocation *found = *link;
    if (!found) return emulated_refuse(INVALID_VALUE, "memory is freed that is not allocated");
    uintptr_t first = ((uintptr_t)found->data + PAGE - 1) / PAGE * PAGE;
    uintptr_t last = ((uintptr_t)found->data + found->room) / PAGE * PAGE;
    if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
    *link = found->next;
    used -= found->size;
    free(found);
    return SUCCESS;
}

int emulated_memory_new(uint64_t *address, size_t size)
{
    int result = emulated_enter(CALL_memory_new);
    if (!result) result = allocate(address, size);
    return emulated_leave(result);
}

/* Memory of the host that kernels see: nobody closes it. */
int emulated_host_new(void **address, size_t size, unsigned flags)
{
    (void)flags;
    int result = emulated_enter(CALL_host_new);
    *address = result ? NULL : aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return emulated_leave(result || *address ? result : OUT_OF_MEMORY);
}

int emulated_memory_info(size_t *free_bytes, size_t *bytes)
{
    int result = emulated_enter(CALL_memory_info);
    *bytes = emulated_memory_total();
    *free_bytes = used < *bytes ? *bytes - used : 0;
    return emulated_leave(result);
}

int emulated_memory_free(uint64_t address)
{
    int result = emulated_enter(CALL_memory_free);
    if (!result) result = emulated_run_all();
    if (!result) result = release(address);
    return emulated_leave(result);
}

/* ---- copies --------------------------------------------------------------------------------------------------------
 */

int emulated_copy_to_device(uint64_t to, const void *from, size_t size)
{
    int result = emulated_enter(CALL_copy_to_device);
    if (!result) result = emulated_run_default_stream();
    if (!result && size && !emulated_memory_has(to, size))
        result = emulated_refuse(INVALID_VALUE, "a copy of %zu bytes to the GPU leaves its allocation", size);
    if (!result && size) {
        emulated_memory_open();
        memcpy((void *)(uintptr_t)to, from, size);
        emulated_memory_close();
    }
    return emulated_leave(result);
}

int emulated_copy_to_host(void *to, uint64_t from, size_t size)
{
    int result = emulated_enter(CALL_copy_to_host);
    if (!result) result = emulated_run_default_stream();
    if (!result && size && !emulated_memory_has(from, size))
        result = emulated_refuse(INVALID_VALUE, "a copy of %zu bytes from the GPU leaves its allocation", size);
    if (!result && size) {
        emulated_memory_open();
        memcpy(to, (const void *)(uintptr_t)from, size);
        emulated_memory_close();
    }
    return emulated_leave(result);
}
