/*
 * json_tree.h - a JSON file as a tree of values, for config.json and the index of a sharded model.
 *
 * One owner: who reads a file frees its root, and everything below goes with it. A look-up takes any value, and NULL,
 * and answers NULL where there is nothing, so that paths need no checks in between.
 */
#ifndef EXAMPLES_LLAMA_JSON_TREE_H
#define EXAMPLES_LLAMA_JSON_TREE_H

#include <stddef.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

struct json {
    enum json_kind kind;
    double number;
    char *text;         /* of JSON_TEXT, without escapes; ends with NUL */
    size_t count;       /* of a list or an object */
    struct json *items; /* count of them */
    char **names;       /* of an object: count of them */
};

/* NULL: the file can't be read, or is no JSON; llama_fail() was told which, and where. */
struct json *json_read(const char *path);
void json_free(struct json *root); /* NULL is fine */

const struct json *json_get(const struct json *object, const char *name);

#endif
