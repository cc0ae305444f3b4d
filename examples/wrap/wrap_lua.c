/*
 * wrap_lua.c - Lua's compiler behind Kiln: the text is Lua, the artifact its byte code (what luac writes), the
 * executable a state of Lua that has loaded it.
 *
 * Byte code is that of one release. liblua is watched as a file, so another build of it is another key. Lua loads byte
 * code without checking it: Kiln gives back only what was stored, byte for byte.
 */
#include <dlfcn.h>
#include <kiln.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

static kiln_status fail(kiln_error *err, kiln_status status, lua_State *lua)
{
    snprintf(err->text, sizeof err->text, "%s", lua ? lua_tostring(lua, -1) : "no memory for a state of Lua");
    if (lua) lua_close(lua);
    return status;
}

static int append(lua_State *lua, const void *piece, size_t size, void *buffer)
{
    return luaL_addlstring(buffer, piece, size), 0;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    luaL_Buffer buffer;
    lua_State *lua = luaL_newstate();
    if (!lua || luaL_loadbufferx(lua, text.data, text.size, "=kernel", "t")) return fail(err, KILN_COMPILE_FAILED, lua);
    lua_State *bytes = luaL_newstate(); /* has the buffer: lua_dump wants the function on top of its own stack */
    if (!bytes) return lua_close(lua), fail(err, KILN_NO_MEMORY, NULL);
    luaL_buffinit(bytes, &buffer);
    lua_dump(lua, append, &buffer, true);
    luaL_pushresult(&buffer);
    size_t size;
    const char *data = lua_tolstring(bytes, -1, &size);
    kiln_status status = kiln_artifact_put(out, "bytecode", data, size);
    return lua_close(lua), lua_close(bytes), status;
}

static kiln_status link_state(void *self, const kiln_artifact *artifact, kiln_device *device, void **out,
                              kiln_error *err)
{
    kiln_bytes code = kiln_artifact_get(artifact, "bytecode");
    lua_State *lua = luaL_newstate();
    if (!lua || luaL_loadbufferx(lua, code.data, code.size, "=kernel", "b")) return fail(err, KILN_LINK_FAILED, lua);
    return *out = lua, KILN_OK;
}

static void unlink_state(void *self, void *executable)
{
    lua_close(executable);
}

int main(void)
{
    static const char text[] = "local x = ... return 2 * x + 1";
    static const kiln_compiler lua_compiler = {sizeof lua_compiler, "lua",        LUA_RELEASE, compile,
                                               link_state,          unlink_state, NULL};
    kiln_function_options options = {sizeof options, "line", &lua_compiler, {text, sizeof text - 1}};
    kiln_cache *cache = kiln_cache_default();
    kiln_function *line = NULL;
    kiln_error err = {0};
    lua_State *lua;
    Dl_info library; /* whose code compiles: a shared liblua, or this program */
    if (!dladdr((void *)lua_dump, &library)) return 1;
    kiln_status status = kiln_function_new(cache, &options, &line, &err);
    if (!status) status = kiln_watch_file(line, library.dli_fname, &err);
    if (!status) status = kiln_get(line, NULL, 0, NULL, (void **)&lua, &err);
    if (!status) {
        lua_pushvalue(lua, -1), lua_pushnumber(lua, 10), lua_call(lua, 1, 1);
        printf("2 * 10 + 1 = %g\n", lua_tonumber(lua, -1)), lua_pop(lua, 1);
    }
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    if (status) fprintf(stderr, "%s\n", err.text);
    printf("compiles %d, disk hits %d\n", (int)counters.compiles, (int)counters.disk_hits);
    return kiln_function_free(line), status != 0;
}
