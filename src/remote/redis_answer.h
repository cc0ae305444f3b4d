/*
 * redis_answer.h - why a Redis server refuses a command, and what would be right.
 */
#ifndef KILN_REMOTE_REDIS_ANSWER_H
#define KILN_REMOTE_REDIS_ANSWER_H

#include "remote/redis_connection.h"

/* KILN_IO and the text for a reply that is none of those that the command has. */
kiln_status kiln__redis_refused(const struct kiln_redis_reply *reply, kiln_error *err);
/* The same for AUTH and SELECT. Servers may repeat what they were sent, so nothing of the reply is told. */
kiln_status kiln__redis_greeting_refused(const struct kiln_redis_server *server, const struct kiln_redis_reply *reply,
                                         kiln_error *err);
kiln_status kiln__redis_too_large(kiln_error *err);

#endif
