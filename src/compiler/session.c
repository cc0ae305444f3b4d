/*
 * session.c - a fresh LLVM context and the handlers that keep LLVM from printing or ending the process.
 *
 * Ordinary diagnostics belong to a context and are kept as text. A fatal error has one handler per process, which must
 * not return: it jumps to the guard of the thread that is compiling. On a thread that is not compiling for us (another
 * user of libLLVM in this process) it does what LLVM would have done: say it and abort.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/ErrorHandling.h>

#include "compiler/internal.h"

static _Thread_local struct kiln_session *current;

static void fatal(const char *reason)
{
    struct kiln_session *session = current;
    if (!session) {
        fprintf(stderr, "LLVM ERROR: %s\n", reason);
        abort();
    }
    snprintf(session->diagnostic, sizeof session->diagnostic, "%s", reason);
    longjmp(session->escape, 1);
}

static void install(void)
{
    LLVMInstallFatalErrorHandler(fatal);
}

static void diagnose(LLVMDiagnosticInfoRef info, void *data)
{
    struct kiln_session *session = data;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || session->diagnostic[0]) return;
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(session->diagnostic, sizeof session->diagnostic, "%s", text);
    LLVMDisposeMessage(text);
}

kiln_status kiln__session_open(struct kiln_session *session, kiln_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    session->diagnostic[0] = 0;
    session->context = LLVMContextCreate();
    if (!session->context) return kiln__no_memory(err, "an LLVM context");
    LLVMContextSetDiagnosticHandler(session->context, diagnose, session);
    return KILN_OK;
}

void kiln__session_close(struct kiln_session *session)
{
    if (session->context) LLVMContextDispose(session->context);
    session->context = NULL;
}

kiln_status kiln__session_guard(struct kiln_session *session, kiln_status (*work)(void *data, kiln_error *err),
                                void *data, kiln_error *err)
{
    if (setjmp(session->escape)) {
        current = NULL;
        session->context = NULL; /* in an unknown state: lost, not freed */
        return kiln__session_fail(session, "LLVM gave up", NULL, err);
    }
    current = session;
    kiln_status status = work(data, err);
    current = NULL;
    return status;
}

kiln_status kiln__session_fail(struct kiln_session *session, const char *what, char *message, kiln_error *err)
{
    const char *why = message && message[0] ? message : session->diagnostic;
    kiln__fail(err, KILN_COMPILE_FAILED, "%s%s%s", what, why[0] ? ": " : "", why);
    if (message) LLVMDisposeMessage(message);
    return KILN_COMPILE_FAILED;
}
