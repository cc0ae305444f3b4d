/*
 * attributes.c - attributes of every function that is compiled: which CPU it is for, and that it never unwinds, so that
 * no unwind table is made for it.
 */
#include <string.h>

#include "compiler/internal.h"

static const char *const removed_strings[] = {"target-cpu",    "target-features",        "tune-cpu",
                                              "frame-pointer", "min-legal-vector-width", "stack-protector-buffer-size"};
static const char *const removed_kinds[] = {"uwtable", "noinline", "optnone", "ssp", "sspstrong"};

static unsigned kind_of(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

void kiln__attribute_add_text(LLVMContextRef context, LLVMValueRef function, const char *name, const char *value)
{
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
}

void kiln__attribute_add(LLVMContextRef context, LLVMValueRef function, const char *name)
{
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(context, kind_of(name), 0));
}

/*
 * Instructions that a text asks for beyond its target, so that they are in the key of what it is compiled to: only a
 * machine that has them asks for such a text.
 */
static void add_features(LLVMContextRef context, LLVMValueRef function)
{
    static const char asked[] = "kiln-features";
    unsigned size;
    LLVMAttributeRef found =
        LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, asked, sizeof asked - 1);
    if (found)
        kiln__attribute_add_text(context, function, "target-features", LLVMGetStringAttributeValue(found, &size));
}

void kiln__attributes_set(LLVMContextRef context, LLVMValueRef function, const char *target)
{
    for (size_t i = 0; i < sizeof removed_strings / sizeof removed_strings[0]; i++)
        LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, removed_strings[i],
                                         (unsigned)strlen(removed_strings[i]));
    for (size_t i = 0; i < sizeof removed_kinds / sizeof removed_kinds[0]; i++)
        LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind_of(removed_kinds[i]));
    kiln__attribute_add_text(context, function, "target-cpu", target);
    add_features(context, function);
    kiln__attribute_add_text(context, function, "no-trapping-math", "true");
    kiln__attribute_add_text(context, function, "no-builtins", "");
    kiln__attribute_add(context, function, "nounwind");
}
