#include "remote/remote_support.h"
int main(void)
{
    const struct CMUnitTest tests[] = {
        REMOTE_CASES("REMOTE_REDIS"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
