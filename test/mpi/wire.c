/*
 * wire.c - a network of limited bandwidth and added delay between network namespaces, for kernels without netem.
 *
 *   wire NAME N MBIT MS
 *
 * Namespace NAME.K, K = 1 .. N, has a tun device `wire` with the address 10.77.0.K; namespaces.sh makes them.  Each
 * namespace has a full-duplex port of MBIT Mbit/s: IP packets leave it one after the other, travel MS milliseconds, and
 * enter the port of their destination one after the other.  Packets wait in the kernel while their port is busy, as
 * with a network card.  The program ends with SIGTERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../support/worst.h"

enum { PORTS_MOST = 16, ROOM = 4096, PACKET = 2048, DESTINATION = 16 /* in an IP header */ };
static const double ahead = 1e-2; /* seconds of sending that a port takes from the kernel at once */

/* A packet on its way to a port, and when it has passed that port. */
struct packet {
    double due;
    ssize_t bytes;
    unsigned char byte[PACKET];
};

/* The port of a namespace: the device, when either direction is free again, and packets on their way to it. */
struct port {
    int device;
    double sends, receives;
    unsigned first, last;
    struct packet *way; /* ROOM of them */
};

static struct port port[PORTS_MOST];
static int ports;
static double second_per_byte, delay;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Opens the device of a namespace, in that namespace. */
static int open_device(const char *of, int k)
{
    char name[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "wire"};
    (void)snprintf(name, sizeof name, "/run/netns/%s.%d", of, k);
    const int space = open(name, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET)) fail(name);
    close(space);
    const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0 || ioctl(device, TUNSETIFF, &request)) fail("/dev/net/tun");
    return device;
}

/* Reads one packet from a port and puts it on its way; 0: there is none. */
static int take(struct port *from, double t)
{
    unsigned char byte[PACKET];
    const ssize_t n = read(from->device, byte, sizeof byte);
    if (n <= 0) return 0;
    const int to = n >= 20 && byte[0] >> 4 == 4 ? byte[DESTINATION + 3] - 1 : -1;
    const double length = second_per_byte * (double)n;
    from->sends = larger_of(from->sends, t) + length;
    if (to < 0 || to >= ports || port[to].last - port[to].first == ROOM) return 1; /* lost, as on a network */
    struct port *const p = port + to;
    p->receives = larger_of(p->receives, from->sends + delay - length) + length;
    struct packet *const at = p->way + p->last++ % ROOM;
    at->due = p->receives;
    at->bytes = n;
    memcpy(at->byte, byte, (size_t)n);
    return 1;
}

/* Delivers the packets of a port that are due; returns when the next one is. */
static double deliver(struct port *p, double t)
{
    for (; p->first != p->last; p->first++) {
        const struct packet *const at = p->way + p->first % ROOM;
        if (at->due > t) return at->due;
        if (write(p->device, at->byte, (size_t)at->bytes) < 0 && errno != EAGAIN && errno != EIO) fail("write");
    }
    return INFINITY;
}

/* Moves packets, then waits for more of them, or until something is due. */
static void turn(void)
{
    struct pollfd wait[PORTS_MOST];
    const double t = now();
    double next = t + 1;
    for (int k = 0; k < ports; k++) {
        while (port[k].sends <= t + ahead && take(port + k, t)) continue;
        wait[k] = (struct pollfd){.fd = port[k].device, .events = port[k].sends <= t + ahead ? POLLIN : 0};
        if (!wait[k].events) next = fmin(next, port[k].sends - ahead);
    }
    for (int k = 0; k < ports; k++) next = fmin(next, deliver(port + k, t));
    const double left = larger_of(next - now(), 0);
    const struct timespec limit = {.tv_sec = (time_t)left, .tv_nsec = (long)(1e9 * (left - floor(left)))};
    if (ppoll(wait, (nfds_t)ports, &limit, NULL) < 0 && errno != EINTR) fail("ppoll");
}

int main(int argc, char **argv)
{
    ports = argc > 4 ? (int)strtol(argv[2], NULL, 10) : 0;
    const double mbit = argc > 4 ? strtod(argv[3], NULL) : 0;
    if (ports < 1 || ports > PORTS_MOST || !(mbit > 0)) {
        fprintf(stderr, "usage: wire NAME N MBIT MS\n");
        return 2;
    }
    second_per_byte = 8e-6 / mbit;
    delay = 1e-3 * strtod(argv[4], NULL);
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    for (int k = 0; k < ports; k++) {
        port[k].way = calloc(ROOM, sizeof *port[k].way);
        if (!port[k].way) fail("memory");
        port[k].device = open_device(argv[1], k + 1);
    }
    for (;;) turn();
}
