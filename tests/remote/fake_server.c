/*
 * fake_server.c - see fake_server.h.
 */
#include "remote/fake_server.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"

enum { MOST_CONNECTIONS = 256 };

struct fake_connection {
    struct fake_inside *inside;
    pthread_t thread;
    int fd;
};

struct fake_inside {
    struct fake_server server;
    int fd;
    pthread_t thread;
    fake_talk *talk;
    void *context;
    pthread_mutex_t lock; /* guards what follows */
    struct fake_connection connections[MOST_CONNECTIONS];
    unsigned count;
};

static void *talk(void *context)
{
    struct fake_connection *connection = context;
    connection->inside->talk(connection->fd, connection->inside->context);
    shutdown(connection->fd, SHUT_RDWR); /* closed by fake_stop(), so that its number is not given to another */
    return NULL;
}

static void *accept_all(void *context)
{
    struct fake_inside *inside = context;
    for (int fd; (fd = accept4(inside->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        pthread_mutex_lock(&inside->lock);
        if (inside->count == MOST_CONNECTIONS) abort();
        struct fake_connection *connection = &inside->connections[inside->count++];
        *connection = (struct fake_connection){.inside = inside, .fd = fd};
        atomic_fetch_add(&inside->server.connections, 1);
        if (pthread_create(&connection->thread, NULL, talk, connection)) abort();
        pthread_mutex_unlock(&inside->lock);
    }
    return NULL;
}

struct fake_server *fake_start(fake_talk *function, void *context)
{
    struct fake_inside *inside = calloc(1, sizeof *inside);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CHECK_NOT_NULL(inside);
    inside->talk = function;
    inside->context = context;
    pthread_mutex_init(&inside->lock, NULL);
    inside->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(inside->fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(listen(inside->fd, 64), 0);
    CHECK_EQ(getsockname(inside->fd, (struct sockaddr *)&address, &size), 0);
    inside->server.port = ntohs(address.sin_port);
    inside->server.inside = inside;
    CHECK_EQ(pthread_create(&inside->thread, NULL, accept_all, inside), 0);
    return &inside->server;
}

void fake_stop(struct fake_server *server)
{
    struct fake_inside *inside = server->inside;
    shutdown(inside->fd, SHUT_RDWR);
    pthread_join(inside->thread, NULL);
    for (unsigned i = 0; i < inside->count; i++) shutdown(inside->connections[i].fd, SHUT_RDWR);
    for (unsigned i = 0; i < inside->count; i++) {
        pthread_join(inside->connections[i].thread, NULL);
        close(inside->connections[i].fd);
    }
    close(inside->fd);
    pthread_mutex_destroy(&inside->lock);
    free(inside);
}

bool fake_send(int fd, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t now = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (now <= 0) return false;
        sent += (size_t)now;
    }
    return true;
}

bool fake_say(int fd, const char *text)
{
    return fake_send(fd, text, strlen(text));
}

/* A line without its end, as far as it fits. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t used = 0;
    for (char letter; recv(fd, &letter, 1, 0) == 1;) {
        if (letter == '\n') {
            line[used] = '\0';
            return true;
        }
        if (letter != '\r' && used + 1 < size) line[used++] = letter;
    }
    return false;
}

static bool skip_bytes(int fd, size_t size)
{
    char part[4096];
    while (size) {
        ssize_t got = recv(fd, part, size < sizeof part ? size : sizeof part, 0);
        if (got <= 0) return false;
        size -= (size_t)got;
    }
    return true;
}

/* A word in between (Expect: 100-continue) is not given: a server may not know of it. */
bool fake_read_http(int fd, char *head, size_t size)
{
    char line[4096];
    size_t used = 0, body = 0;
    head[0] = '\0';
    do {
        if (!read_line(fd, line, sizeof line)) return false;
        used += (size_t)snprintf(head + used, size - used, "%s\n", line);
        if (used >= size) used = size - 1;
        sscanf(line, "Content-Length: %zu", &body);
    } while (*line);
    return skip_bytes(fd, body);
}

bool fake_read_command(int fd, char *last, size_t size)
{
    char line[64];
    unsigned count = 0;
    if (!read_line(fd, line, sizeof line) || sscanf(line, "*%u", &count) != 1) return false;
    for (unsigned i = 0; i < count; i++) {
        size_t bytes;
        if (!read_line(fd, line, sizeof line) || sscanf(line, "$%zu", &bytes) != 1) return false;
        if (bytes < size) {
            if (recv(fd, last, bytes, MSG_WAITALL) != (ssize_t)bytes || !skip_bytes(fd, 2)) return false;
            last[bytes] = '\0';
        } else if (!skip_bytes(fd, bytes + 2))
            return false;
    }
    return true;
}

void fake_wait_for_end(int fd)
{
    char part[4096];
    while (recv(fd, part, sizeof part, 0) > 0) {
    }
}
