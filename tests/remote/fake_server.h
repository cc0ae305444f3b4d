/*
 * fake_server.h - a server on loopback that does what a test says, so that drivers meet what no real server does.
 */
#ifndef KILN_TESTS_FAKE_SERVER_H
#define KILN_TESTS_FAKE_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct fake_server {
    unsigned port;
    atomic_uint connections; /* so far */
    struct fake_inside *inside;
};

/* Talks over one connection, which ends when it returns. Several may run at once, each in a thread of its own. */
typedef void fake_talk(int fd, void *context);

struct fake_server *fake_start(fake_talk *talk, void *context);
/* Ends all connections, waits for their threads, and frees the server. */
void fake_stop(struct fake_server *server);

/* For talks; false: the other side, or fake_stop(), ended the connection. */
bool fake_send(int fd, const void *bytes, size_t size);
bool fake_say(int fd, const char *text);
/* Reads a request of HTTP with its body, and of its beginning as much as fits. */
bool fake_read_http(int fd, char *head, size_t size);
/* Reads one command of Redis; its last argument is left in `last`. */
bool fake_read_command(int fd, char *last, size_t size);
/* Until the other side, or fake_stop(), ends the connection. */
void fake_wait_for_end(int fd);

#endif
