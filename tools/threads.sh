#!/bin/sh
# Checks docs/threads.md against the sources: all files with thread-local state are listed, and the parts of a thread's
# state and the stages around fork, in order. One file makes a pthread key, one registers fork handlers.
cd "$(dirname "$0")/.." || exit 1
page=docs/threads.md
failed=0

# same WHAT EXPECTED FOUND
same()
{
    [ "$2" = "$3" ] && return
    echo "$page: $1 differ; the sources have:"
    echo "$2" | sed 's/^/    /'
    echo "the page has:"
    echo "$3" | sed 's/^/    /'
    failed=1
}

section()
{
    sed -n "/^## $1/,/^## /p" $page
}

same "files with thread-local state" \
    "$(grep -rlE '^ *(static )?_Thread_local ' src --include='*.c' | sed 's,^src/,,' | LC_ALL=C sort)" \
    "$(section 'Thread-local state' | sed -n 's/^| `[^|]* | \([^ ]*\) |.*/\1/p' | LC_ALL=C sort -u)"

for list in 'The end of a thread:thread_state.h:THREAD' 'Around fork:fork.h:FORK'; do
    IFS=: read -r title header prefix <<END
$list
END
    same "names KILN_${prefix}_*" \
        "$(sed -n "s,^ *\(KILN_${prefix}_[A-Z_]*\)\, *\/\* \([^:]*\):.*,\1 \2,p" "src/base/process/$header")" \
        "$(section "$title" | sed -n "s,^| .\(KILN_${prefix}_[A-Z_]*\). | \([^ ]*\) |.*,\1 \2,p")"
done

# alone FUNCTION FILE
alone()
{
    others=$(grep -rlE "$1\(" src --include='*.[ch]' | grep -vxE "src/base/process/$2\.[ch]")
    [ -z "$others" ] && return
    echo "$1() belongs into src/base/process/$2.c alone; it is also in:"
    echo "$others" | sed 's/^/    /'
    failed=1
}
alone pthread_key_create thread_state
alone pthread_atfork fork
exit $failed
