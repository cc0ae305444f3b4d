/*
 * file_looks.c - see file_looks.h. Invariant: a collection has one look for each path, the first.
 */
#include "key/file_looks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/process/gate.h"

/* ---- collecting ----------------------------------------------------------------------------------------------- */

void kiln__looks_init(struct kiln_file_looks *looks)
{
    memset(looks, 0, sizeof *looks);
    pthread_mutex_init(&looks->lock, NULL);
}

void kiln__looks_release(struct kiln_file_looks *looks)
{
    for (size_t i = 0; i < looks->count; i++) kiln__tracked_unref(looks->data[i].file);
    free(looks->data);
    kiln__table_release(&looks->table);
    pthread_mutex_destroy(&looks->lock);
}

struct wanted {
    const struct kiln_file_looks *looks;
    const struct kiln_tracked_file *file;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct wanted *wanted = context;
    return wanted->looks->data[index].file == wanted->file;
}

/* There is one record for each path, so its address is the file. */
static const struct kiln_file_look *find(const struct kiln_file_looks *looks, const struct kiln_tracked_file *file)
{
    const struct wanted wanted = {looks, file};
    uint32_t index = kiln__table_find(&looks->table, kiln__hash(&file, sizeof file), is_wanted, &wanted);
    return index == KILN_TABLE_EMPTY ? NULL : &looks->data[index];
}

static bool make_room(struct kiln_file_looks *looks)
{
    if (looks->count < looks->cap) return true;
    size_t cap = looks->cap ? looks->cap * 2 : 16;
    struct kiln_file_look *grown = realloc(looks->data, cap * sizeof *grown);
    if (!grown) return false;
    looks->data = grown;
    looks->cap = cap;
    return true;
}

/* With the lock held. Takes the reference of a look that is new. */
static const struct kiln_file_look *add(struct kiln_file_looks *looks, struct kiln_file_look *look)
{
    const struct wanted wanted = {looks, look->file};
    if (!make_room(looks)) return NULL;
    uint32_t *slot = kiln__table_slot(&looks->table, kiln__hash(&look->file, sizeof look->file), is_wanted, &wanted);
    if (!slot) return NULL;
    if (*slot == KILN_TABLE_EMPTY) {
        *slot = (uint32_t)looks->count;
        looks->data[looks->count++] = *look;
        look->file = NULL;
    }
    return &looks->data[*slot];
}

static bool is_known(struct kiln_file_looks *looks, const struct kiln_tracked_file *file, struct kiln_file_look *out)
{
    kiln__mutex_lock(&looks->lock);
    const struct kiln_file_look *known = find(looks, file);
    if (known) *out = *known;
    kiln__mutex_unlock(&looks->lock);
    return known;
}

kiln_status kiln__looks_take(struct kiln_file_looks *looks, const char *path, struct kiln_file_look *out)
{
    struct kiln_file_look look = {.file = kiln__tracked_ref(path)};
    if (!look.file) return KILN_NO_MEMORY;
    bool is_taken = is_known(looks, look.file, out);
    if (!is_taken) {
        look.error = kiln__tracked_look(look.file, &look.value, &look.stamp);
        kiln__mutex_lock(&looks->lock);
        const struct kiln_file_look *taken = look.error == ENOMEM ? NULL : add(looks, &look);
        if ((is_taken = taken)) *out = *taken;
        kiln__mutex_unlock(&looks->lock);
    }
    kiln__tracked_unref(look.file);
    return is_taken ? KILN_OK : KILN_NO_MEMORY;
}

/* ---- meanwhile ------------------------------------------------------------------------------------------------ */

static bool is_so_still(const struct kiln_file_look *look)
{
    struct kiln_file_value value;
    struct kiln_file_stamp stamp;
    kiln__tracked_look(look->file, &value, &stamp);
    return kiln__file_values_equal(&value, &look->value) &&
           (value.kind != KILN_FILE_CONTENT || kiln__file_stamps_equal(&stamp, &look->stamp));
}

/* On another host's clock, or one that was set back: a change that comes now has another time. */
static bool is_in_the_future(const struct kiln_file_stamp *stamp, int64_t now)
{
    enum { GRAIN_NS = 50000000 };
    return stamp->changed_ns - now > GRAIN_NS;
}

static bool was_so_before(const struct kiln_file_look *look, const struct kiln_file_looks *earlier, int64_t since_ns)
{
    if (kiln__tracked_precedes(look->file, &look->stamp, since_ns)) return true;
    const struct kiln_file_look *before = earlier ? find(earlier, look->file) : NULL;
    if (!before || !kiln__file_values_equal(&before->value, &look->value)) return false;
    return look->value.kind != KILN_FILE_CONTENT ||
           (kiln__file_stamps_equal(&before->stamp, &look->stamp) && is_in_the_future(&look->stamp, since_ns));
}

bool kiln__looks_stand(const struct kiln_file_looks *looks, const struct kiln_file_looks *earlier, int64_t since_ns)
{
    bool stand = true;
    for (size_t i = 0; stand && i < looks->count; i++)
        stand = is_so_still(&looks->data[i]) && was_so_before(&looks->data[i], earlier, since_ns);
    return stand;
}

void kiln__looks_settle(const struct kiln_file_looks *looks)
{
    for (size_t i = 0; i < looks->count; i++) kiln__tracked_settle(looks->data[i].file);
}

/* ---- contents ------------------------------------------------------------------------------------------------- */

struct kiln_file_contents *kiln__contents_new(size_t count)
{
    struct kiln_file_contents *contents = malloc(sizeof *contents + count * sizeof *contents->items);
    if (!contents) return NULL;
    contents->is_unsure = false;
    contents->count = 0;
    return contents;
}

void kiln__contents_add(struct kiln_file_contents *contents, const struct kiln_file_look *look)
{
    kiln__tracked_share(look->file);
    contents->items[contents->count++] = (struct kiln_file_content){look->file, look->value};
}

void kiln__contents_free(struct kiln_file_contents *contents)
{
    for (size_t i = 0; contents && i < contents->count; i++) kiln__tracked_unref(contents->items[i].file);
    free(contents);
}

bool kiln__contents_hold(const struct kiln_file_contents *contents)
{
    bool hold = !contents->is_unsure;
    for (size_t i = 0; hold && i < contents->count; i++) {
        struct kiln_file_value now;
        kiln__tracked_look(contents->items[i].file, &now, NULL);
        hold = kiln__file_values_equal(&now, &contents->items[i].value);
    }
    return hold;
}
