/*
 * attention_kernels.c - scaled dot product attention with an online softmax: scores never lie in memory.
 *
 * A row is one query of one head; the rows of all heads that share keys and values are numbered by head, then query.
 * `across` lanes have the features of a key and of its value, eight each, for `rows` rows; the other lanes of the warp
 * have the next keys. With `shared_rows` the warps of a block have the same rows and take keys in turn; else each has
 * rows of its own and sees all keys, which it finds in the caches after the first warp. In the end the parts are put
 * together: those of lanes, of warps, and, by a second kernel, of ranges of keys.
 *
 * Masked scores are the lowest finite number, as in the formula of ops/attention.c, so that a row whose keys are all
 * masked has equal weights; keys behind the query of a causal call are not looked at.
 */
#include "codegen/runtime/gpu/elements.h"

enum { MOST_ROWS = 4, EIGHT = 8, STATE = 2 };
enum { MASK_NONE, MASK_BOOL, MASK_FLOAT }; /* a float's type is added */

#define LOWEST (-0x1.fffffep127f)

/* What rows have seen so far: the largest score, the sum of exponentials relative to it, and that of values. */
struct seen {
    float top, sum, values[EIGHT];
};

/* exp(x) for x up to 0. A NaN stays one. */
static inline float weight_below(float x)
{
    float weight = x < -86.0f ? 0.0f : kiln_exp_near_f32(x);
    return x == x ? weight : x;
}

/* Both sides relative to the larger of the two tops. */
static inline void join_lanes(struct seen *seen, uint32_t bit)
{
    float other = swap_lanes(seen->top, bit), top = other > seen->top ? other : seen->top;
    float mine = weight_below(seen->top - top), its = weight_below(other - top);
    seen->sum = seen->sum * mine + swap_lanes(seen->sum, bit) * its;
    EACH(i, EIGHT) seen->values[i] = seen->values[i] * mine + swap_lanes(seen->values[i], bit) * its;
    seen->top = top;
}

static inline void load_features(uint32_t *words, const char *from, int type, int64_t left, int wide)
{
    if (wide && left <= 0) {
        EACH(i, EIGHT) words[i] = 0;
    } else {
        load_eight(words, from, type, left, wide);
    }
}

static inline float mask_score(float score, const char *mask, int kind, int type)
{
    if (kind == MASK_BOOL) return *(const uint8_t *)mask ? score : LOWEST;
    return kind == MASK_FLOAT ? score + load_element(mask, type) : score;
}

static inline void see_key(struct seen *seen, float score, const uint32_t *value, int type)
{
    if (score > seen->top) {
        float scale = weight_below(seen->top - score);
        seen->sum *= scale;
        EACH(i, EIGHT) seen->values[i] *= scale;
        seen->top = score;
    }
    float weight = weight_below(score - seen->top);
    seen->sum += weight;
    EACH(i, EIGHT) seen->values[i] = f32_fma(weight, element_of(value, i, type), seen->values[i]);
}

/* A sink is one more score, which has no value. */
static inline void see_sink(float *top, float *sum, float *scale, float sink)
{
    float higher = sink > *top ? sink : *top;
    *scale = weight_below(*top - higher);
    *sum = *sum * *scale + weight_below(sink - higher);
    *top = higher;
}

void kiln_gpu_attention(char *out, const char *q, const char *k, const char *v, const char *mask, const char *sinks,
                        char *partial, float *shared, int64_t heads, int64_t group, int64_t queries, int64_t keys,
                        int64_t features, int64_t width, int64_t q_batch, int64_t q_head, int64_t q_row,
                        int64_t k_batch, int64_t k_head, int64_t k_row, int64_t v_batch, int64_t v_head, int64_t v_row,
                        int64_t mask_batch, int64_t mask_head, int64_t mask_row, int64_t mask_key, int64_t scale_bits,
                        int64_t row_blocks, int64_t ranges, int64_t range, int type, int rows, int across,
                        int shared_rows, int is_partial, int is_causal, int mask_kind, int mask_type, int has_sinks,
                        int wide)
{
    const uint32_t thread = this_thread(), warp = thread / WARP, lane = thread % WARP;
    const uint32_t beside = WARP / (uint32_t)across; /* keys that a warp has at a time */
    const uint32_t block = this_block(), rest = block / (uint32_t)ranges, range_at = block - rest * (uint32_t)ranges;
    const uint32_t whole = rest / (uint32_t)row_blocks, row_block = rest - whole * (uint32_t)row_blocks;
    const uint32_t batch = whole / (uint32_t)heads, head = whole - batch * (uint32_t)heads;
    const int64_t row_count = group * queries, bytes = type_bytes(type),
                  place = (int64_t)(lane % (uint32_t)across) * EIGHT;
    const int64_t first_row = ((int64_t)row_block * (shared_rows ? 1 : WARPS) + (shared_rows ? 0 : warp)) * rows;
    const int64_t first_key = (int64_t)range_at * range;
    const int64_t end = first_key + range < keys ? first_key + range : keys;
    const char *keys_at = k + batch * k_batch + head * k_head + place * bytes;
    const char *values_at = v + batch * v_batch + head * v_head + place * bytes;
    const float scale = f32_of_bits((uint32_t)scale_bits);
    struct seen seen[MOST_ROWS];
    float query[MOST_ROWS * EIGHT];
    const char *masks[MOST_ROWS];
    int64_t limits[MOST_ROWS], last = first_key; /* keys that a row sees; that any of the rows does */

    EACH(r, rows)
    {
        int64_t row = first_row + r < row_count ? first_row + r : row_count - 1;
        int64_t of_group = row / queries, at = row - of_group * queries, q_at = head * group + of_group;
        uint32_t words[EIGHT];
        load_features(words, q + batch * q_batch + q_at * q_head + at * q_row + place * bytes, type, features - place,
                      wide);
        EACH(i, EIGHT) query[r * EIGHT + i] = element_of(words, i, type) * scale;
        masks[r] = mask + batch * mask_batch + q_at * mask_head + at * mask_row;
        limits[r] = is_causal && keys - queries + at + 1 < end ? keys - queries + at + 1 : end;
        last = limits[r] > last ? limits[r] : last;
        seen[r].top = LOWEST, seen[r].sum = 0;
        EACH(i, EIGHT) seen[r].values[i] = 0;
    }

    const int64_t step = (shared_rows ? WARPS : 1) * (int64_t)beside;
    const int64_t own = (shared_rows ? (int64_t)warp * beside : 0) + lane / (uint32_t)across;
    /* All lanes of a warp go round equally often: they exchange sums. */
    for (int64_t base = first_key; base < last; base += step) {
        const int64_t key = base + own, at = key < end ? key : end - 1;
        uint32_t key_words[EIGHT], value_words[EIGHT];
        load_features(key_words, keys_at + at * k_row, type, features - place, wide);
        load_features(value_words, values_at + at * v_row, type, width - place, wide);
        float scores[MOST_ROWS];
        EACH(r, rows) scores[r] = 0;
        EACH(i, EIGHT)
        {
            float feature = element_of(key_words, i, type);
            EACH(r, rows) scores[r] = f32_fma(query[r * EIGHT + i], feature, scores[r]);
        }
        EACH(r, rows)
        {
            if (across > 16) scores[r] += swap_lanes(scores[r], 16);
            if (across > 8) scores[r] += swap_lanes(scores[r], 8);
            if (across > 4) scores[r] += swap_lanes(scores[r], 4);
            scores[r] += swap_lanes(scores[r], 2);
            scores[r] += swap_lanes(scores[r], 1);
        }
        EACH(r, rows)
        {
            if (key < limits[r])
                see_key(&seen[r], mask_score(scores[r], masks[r] + key * mask_key, mask_kind, mask_type), value_words,
                        type);
        }
    }
    EACH(r, rows)
    {
        if (across <= 4) join_lanes(&seen[r], 4);
        if (across <= 8) join_lanes(&seen[r], 8);
        if (across <= 16) join_lanes(&seen[r], 16);
    }

    const int64_t first_of_all = (int64_t)whole * row_count;
    if (!shared_rows) {
        EACH(r, rows)
        {
            const int64_t row = first_row + r;
            float top = seen[r].top, sum = seen[r].sum, sunk = 1;
            if (has_sinks && row < row_count)
                see_sink(&top, &sum, &sunk, *(const float *)(sinks + (head * group + row / queries) * 4));
            if (lane < (uint32_t)across && row < row_count) {
                EACH(i, EIGHT)
                if (place + i < width)
                    store_element(out + ((first_of_all + row) * width + place + i) * bytes,
                                  seen[r].values[i] * sunk / sum, type);
            }
        }
        return;
    }

    /* For each warp and row: its state, then its values. */
    const uint32_t length = STATE + (uint32_t)across * EIGHT;
    EACH(r, rows)
    {
        float *mine = shared + (warp * (uint32_t)rows + (uint32_t)r) * length;
        if (lane == 0) mine[0] = seen[r].top, mine[1] = seen[r].sum;
        if (lane < (uint32_t)across) {
            EACH(i, EIGHT) mine[STATE + place + i] = seen[r].values[i];
        }
    }
    wait_for_block();
    for (uint32_t i = thread; i < (uint32_t)(rows * across * EIGHT); i += BLOCK) {
        const uint32_t r = i / (uint32_t)(across * EIGHT), feature = i % (uint32_t)(across * EIGHT);
        const int64_t row = first_row + r;
        const float *of_row = shared + r * length;
        const uint32_t next = (uint32_t)rows * length; /* from one warp to the next */
        float top = of_row[0], sum = 0, value = 0, sunk = 1;
        EACH(w, WARPS - 1)
        {
            float other = of_row[(uint32_t)(w + 1) * next];
            top = other > top ? other : top;
        }
        EACH(w, WARPS)
        {
            float weight = weight_below(of_row[(uint32_t)w * next] - top);
            sum += of_row[(uint32_t)w * next + 1] * weight;
            value += of_row[(uint32_t)w * next + STATE + feature] * weight;
        }
        if (row >= row_count || feature >= width) continue;
        if (is_partial) {
            float *to = (float *)partial + ((first_of_all + row) * ranges + range_at) * (STATE + width);
            if (feature == 0) to[0] = top, to[1] = sum;
            to[STATE + feature] = value;
            continue;
        }
        if (has_sinks) see_sink(&top, &sum, &sunk, *(const float *)(sinks + (head * group + row / queries) * 4));
        store_element(out + ((first_of_all + row) * width + feature) * bytes, value * sunk / sum, type);
    }
}

/* A warp for each row: what the ranges of keys gave, in their order. */
void kiln_gpu_attention_join(char *out, const char *partial, const char *sinks, float *shared, int64_t row_count,
                             int64_t heads, int64_t queries, int64_t width, int64_t ranges, int type, int has_sinks)
{
    const uint32_t lane = this_thread() % WARP;
    const int64_t row = (int64_t)this_block() * WARPS + this_thread() / WARP, bytes = type_bytes(type);
    (void)shared;
    if (row >= row_count) return;
    const float *of_row = (const float *)partial + row * ranges * (STATE + width);
    float top = of_row[0], sum = 0, sunk = 1;
    for (int64_t i = 1; i < ranges; i++) {
        float other = of_row[i * (STATE + width)];
        top = other > top ? other : top;
    }
    for (int64_t i = 0; i < ranges; i++) {
        const float *part = of_row + i * (STATE + width);
        sum += part[1] * weight_below(part[0] - top);
    }
    const float before = top;
    if (has_sinks) see_sink(&top, &sum, &sunk, *(const float *)(sinks + row / queries % heads * 4));
    for (int64_t feature = lane; feature < width; feature += WARP) {
        float value = 0;
        for (int64_t i = 0; i < ranges; i++) {
            const float *part = of_row + i * (STATE + width);
            value += part[STATE + feature] * weight_below(part[0] - before);
        }
        store_element(out + (row * width + feature) * bytes, value * sunk / sum, type);
    }
}
