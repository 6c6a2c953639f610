/* Kadenz for C. Made of bindings/c/src by `KADENZ_BLESS=1 cargo test -p kadenz-c`; docs/c.md is its page. */

#ifndef KADENZ_H
#define KADENZ_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// A bus, which any number of threads may use.
typedef struct kadenz_bus kadenz_bus;

// A camera.
typedef struct kadenz_camera kadenz_camera;

// A log that is read: LCM's event log, MCAP, a bag of ROS 1, or a folder of ROS 2.
typedef struct kadenz_log kadenz_log;

// A log that is written.
typedef struct kadenz_log_writer kadenz_log_writer;

// A segment with its devices. Its values may be read and set by any number of threads.
typedef struct kadenz_network kadenz_network;

// A periodic loop.
typedef struct kadenz_periodic kadenz_periodic;

// A run while it is written.
typedef struct kadenz_recording kadenz_recording;

// A run that was written, or a file of another program.
typedef struct kadenz_run kadenz_run;

// A series of a run: values that one thread measures.
typedef struct kadenz_series kadenz_series;

// What receives from some channels.
typedef struct kadenz_subscription kadenz_subscription;

// A message, lent until the next call for its subscription.
typedef struct {
  // The channel, which ends with a zero.
  const char *channel;
  // The encoded message.
  const uint8_t *payload;
  // Its bytes.
  size_t length;
  // When it was whole in this process.
  uint64_t taken_ns;
  // When the kernel had it; 0 where it did not say.
  uint64_t kernel_ns;
} kadenz_message;

// A frame where it lies in shared memory. The camera writes over it some frames later: copy it, or ask `kadenz_frame_is_valid` after
// its pixels were used.
typedef struct {
  // The first byte.
  const uint8_t *pixels;
  // Bytes in all.
  size_t length;
  // Pixels of a row.
  uint32_t width;
  // Rows.
  uint32_t height;
  // 1 for gray, 3 for colour.
  uint32_t channels;
  // Whether columns follow one another, plane by plane, instead of rows of interleaved pixels.
  bool is_column_major;
  // Its count in its memory.
  uint64_t count;
  // Its number since the server's start, lost ones counted.
  uint64_t number;
  // How old it was when it was taken.
  uint64_t age_ns;
  // When the camera took it; 0 where nobody says.
  uint64_t captured_ns;
} kadenz_frame;

// One tick of a periodic loop.
typedef struct {
  // 1 for the first, skipped ones counted.
  uint64_t index;
  // Ticks that were left out before it, because the loop was not back in time.
  uint64_t skipped;
  // From the intended time of the tick before to that of this one.
  uint64_t step_ns;
  // How late the loop woke up.
  uint64_t lateness_ns;
} kadenz_tick;

// How a network is.
typedef struct {
  // Whether its loop runs.
  bool is_running;
  // Cycles up to now.
  uint64_t cycles;
  // Frames of process data that did not come back in their cycle.
  uint64_t lost;
  // Devices that are there and in OP.
  size_t operational;
  // Devices in all.
  size_t devices;
} kadenz_network_state;

// A bucket of a histogram.
typedef struct {
  // The lowest value that it holds.
  int64_t low_ns;
  // The highest one.
  int64_t high_ns;
  // How many values it holds.
  uint64_t count;
} kadenz_bucket;

// An interval of a run.
typedef struct {
  // From the start of the run to that of the interval.
  int64_t start_ns;
  // Values.
  uint64_t count;
  // Values above the deadline.
  uint64_t misses;
  // The smallest value.
  int64_t min_ns;
  // The largest one.
  int64_t max_ns;
  // The median; INT64_MIN where the interval cannot carry it.
  int64_t p50_ns;
  // The 99th percentile; INT64_MIN where the interval cannot carry it.
  int64_t p99_ns;
} kadenz_interval;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Why the last call of this thread that failed did so, with the remedy; "" where none failed. It is valid until the next call of this
// thread that fails.
const char *kadenz_error(void);

// Now, in nanoseconds of `CLOCK_MONOTONIC`. Real-time safe: by the vDSO, without a system call.
uint64_t kadenz_now_ns(void);

// The version of the library, as "0.1.0".
const char *kadenz_version(void);

// Opens the bus that a URL names, as "udpm://239.255.76.67:7667?ttl=0"; NULL is what LCM_DEFAULT_URL says. NULL where that fails.
kadenz_bus *kadenz_bus_open(const char *url);

// Closes a bus; its subscriptions go on.
void kadenz_bus_free(kadenz_bus *bus);

// Publishes bytes. 0, or -1 where that fails. After the first message to a channel it allocates nothing; it takes a
// priority-inheriting lock.
int32_t kadenz_publish(const kadenz_bus *bus,
                       const char *channel,
                       const uint8_t *payload,
                       size_t length);

// Subscribes to the channels whose whole name a regular expression matches; `queue` messages wait, 0 for 30, and then the oldest
// goes. NULL where that fails.
kadenz_subscription *kadenz_subscribe(const kadenz_bus *bus,
                                      const char *pattern,
                                      size_t queue);

// Waits so many nanoseconds for a message, for ever where they are negative; 0 does not wait. 1 with a message, which is lent until the
// next call, 0 without one, -1 where it failed.
int32_t kadenz_receive(kadenz_subscription *subscription,
                       int64_t timeout_ns,
                       kadenz_message *message);

// Frees a subscription, and what it lent.
void kadenz_subscription_free(kadenz_subscription *subscription);

// Opens a camera by its name or URL, in a layout as "rgb", "bgr", "gray", "rgb-column-major", "gray@960x540"; waits so long for its first
// frame. NULL where that fails.
kadenz_camera *kadenz_camera_open(const char *name_or_url,
                                  const char *layout,
                                  int64_t timeout_ns);

// The newest frame. 0, or -1 where it is older than `max_age_ns`. Real-time safe while frames come.
int32_t kadenz_camera_latest(kadenz_camera *camera, int64_t max_age_ns, kadenz_frame *frame);

// The newest frame that was not given yet. 1, or 0 where none came in time, or -1 where it failed.
int32_t kadenz_camera_next(kadenz_camera *camera, int64_t timeout_ns, kadenz_frame *frame);

// Whether the camera has not begun to write over a frame. Real-time safe.
bool kadenz_frame_is_valid(const kadenz_camera *camera, const kadenz_frame *frame);

// Copies a frame into memory of yours. 0, or -1 where that has fewer than `length` bytes of the frame, or the camera wrote over the frame
// meanwhile: take the newest one. Real-time safe in memory that was touched before.
int32_t kadenz_frame_copy(const kadenz_camera *camera,
                          const kadenz_frame *frame,
                          uint8_t *into,
                          size_t room);

// Closes a camera, and ends its threads.
void kadenz_camera_free(kadenz_camera *camera);

// Opens a log. NULL where that fails.
kadenz_log *kadenz_log_open(const char *path);

// The next message, lent until the next call for this log; its `taken_ns` is when it was logged, in nanoseconds since 1970, and its
// `kernel_ns` when it was published. 1 with a message, 0 at the end, -1 where the file cannot be read.
int32_t kadenz_log_next(kadenz_log *log,
                        kadenz_message *message);

// Goes to the first message that was logged at or after a time, in nanoseconds since 1970; 0 is the begin. 0, or -1 where that fails.
int32_t kadenz_log_seek(kadenz_log *log,
                        int64_t unix_ns);

// Closes a log.
void kadenz_log_free(kadenz_log *log);

// Creates a log, over one that is there: MCAP where its name ends with ".mcap", else LCM's event log. NULL where that fails.
kadenz_log_writer *kadenz_log_create(const char *path);

// Writes a message that came at a time, in nanoseconds since 1970. 0, or -1 where that fails: where the disk is full nothing that was taken
// is lost, and the call can be tried again.
int32_t kadenz_log_write(kadenz_log_writer *log,
                         const char *channel,
                         const uint8_t *payload,
                         size_t length,
                         int64_t unix_ns);

// Brings the file to its end. 0, or -1 where that fails: what was written stays readable.
int32_t kadenz_log_finish(kadenz_log_writer *log);

// Frees a log; one that was not finished is read without an index.
void kadenz_log_writer_free(kadenz_log_writer *log);

// Starts a run in a new or empty folder. NULL where that fails.
kadenz_recording *kadenz_recording_create(const char *folder);

// Ends a run. Writes its summary, a few lines that end with a zero, into `summary` where that is not NULL, cut to `room` bytes. 0, or -1
// where something could not be written. The handle stays to be freed.
int32_t kadenz_recording_finish(kadenz_recording *recording,
                                char *summary,
                                size_t room);

// Frees a run; one that was not finished says so when it is read.
void kadenz_recording_free(kadenz_recording *recording);

// Adds a series of durations of that name; values above `deadline_ns` count as missed, where it is not 0. NULL where that fails.
kadenz_series *kadenz_series_create(kadenz_recording *recording,
                                    const char *name,
                                    uint64_t deadline_ns);

// Records what began and ended at these times of `kadenz_now_ns`. Real-time safe: it neither allocates, locks nor calls the
// system. 0, or -1 where the handle is NULL.
int32_t kadenz_series_record(kadenz_series *series,
                             uint64_t begin_ns,
                             uint64_t end_ns);

// Frees a series. What it recorded stays in the run.
void kadenz_series_free(kadenz_series *series);

// Starts a periodic loop on the calling thread, at a rate as "1kHz". `deadline`, as "400us", and `cpus`, as "2-3", may be NULL,
// `priority` 0 (else `SCHED_FIFO`, 1 to 99). With a `recording` the lateness of each tick becomes a series named `series`. What the
// machine refuses the loop does without, and the run has a warning with the remedy. NULL where that fails.
kadenz_periodic *kadenz_periodic_start(const char *rate,
                                       const char *deadline,
                                       uint8_t priority,
                                       bool lock_memory,
                                       const char *cpus,
                                       kadenz_recording *recording,
                                       const char *series);

// Sleeps until the next tick. Real-time safe: no system call but the sleep. 0, or -1 where a pointer is NULL.
int32_t kadenz_periodic_next(kadenz_periodic *periodic, kadenz_tick *tick);

// As `kadenz_periodic_next`, for a caller that also has something else to look at: sleeps no longer than so many nanoseconds. 1 with a tick, 0
// where it is not due by then, which the next call waits for, -1 where a pointer is NULL. Real-time safe.
int32_t kadenz_periodic_next_within(kadenz_periodic *periodic,
                                    int64_t longest_ns,
                                    kadenz_tick *tick);

// Ends a loop, and restores its thread; call it on that thread.
void kadenz_periodic_free(kadenz_periodic *periodic);

// Opens a segment and brings its devices to SAFEOP: "eth1" is an interface, "sim:59" a virtual segment, "sim:robot.toml" one that a
// file describes. `cycle` is a rate as "1kHz", `deadline`, as "400us", may be NULL, `priority` 0 (else `SCHED_FIFO`, 1 to 99), `esi`
// names a file or folder of vendors' descriptions, or is NULL. NULL where that fails.
kadenz_network *kadenz_network_open(const char *segment,
                                    const char *cycle,
                                    const char *deadline,
                                    uint8_t priority,
                                    bool lock_memory,
                                    const char *esi);

// Asks for an object in the inputs of a device, by its name or position: 0x6064 and sub-index 0 as `index` and `subindex`. `type` is "bool",
// "u8" to "u64", "i8" to "i64", "f32", "f64", or NULL for that of the device's dictionary or description. The number of the value, or -1
// where that fails. Before `kadenz_network_start`.
int32_t kadenz_network_input(kadenz_network *network,
                             const char *device,
                             uint16_t index,
                             uint8_t subindex,
                             const char *type);

// Asks for an object in the outputs of a device, as `kadenz_network_input`. It is zero until it is set.
int32_t kadenz_network_output(kadenz_network *network,
                              const char *device,
                              uint16_t index,
                              uint8_t subindex,
                              const char *type);

// Starts the loop on a thread of its own; devices go to OP. With a `recording` the series of the loop go there: stop the network before
// the recording is finished. 0, or -1 where that fails.
int32_t kadenz_network_start(kadenz_network *network,
                             const kadenz_recording *recording);

// What a device told last, zero before it told anything; or what was set last. Real-time safe where it succeeds. 0, or -1 where that fails.
int32_t kadenz_network_get(const kadenz_network *network,
                           int32_t value,
                           double *into);

// As `kadenz_network_get`, as an integer: a float loses its fraction, a 64-bit unsigned one above INT64_MAX becomes negative.
int32_t kadenz_network_get_integer(const kadenz_network *network,
                                   int32_t value,
                                   int64_t *into);

// What a device is told from the next cycle on. Real-time safe where it succeeds. 0, or -1 where the value has no place in the object's
// type, as 300 or 1.5 in an unsigned byte, or is an input.
int32_t kadenz_network_set(const kadenz_network *network,
                           int32_t value,
                           double to);

// As `kadenz_network_set`, for integers beyond 2^53.
int32_t kadenz_network_set_integer(const kadenz_network *network, int32_t value, int64_t to);

// Waits for a cycle after that of this number. The number of the last cycle; 0 where none came in time or the loop has ended, -1 where it
// does not run. The loop makes no system call for it.
int64_t kadenz_network_wait(const kadenz_network *network,
                            uint64_t after,
                            int64_t timeout_ns);

// How the network is. 0, or -1 where its loop does not run.
int32_t kadenz_network_get_state(const kadenz_network *network, kadenz_network_state *state);

// Ends the loop after its shutdown cycles; devices are left in PREOP. Writes a line of what came of it into `summary` where that is not
// NULL, cut to `room` bytes with its zero. 0, or -1 where the loop did not run, or ended by itself for want of time.
int32_t kadenz_network_stop(kadenz_network *network,
                            char *summary,
                            size_t room);

// Ends the loop where it runs, and frees the network.
void kadenz_network_free(kadenz_network *network);

// Opens a run folder, complete or not, or a file that `kadenz import` takes. NULL where that fails.
kadenz_run *kadenz_run_open(const char *path);

// What is known of a run, as JSON: `run` is what run.json says, `warnings` what spoils it, and of each of `series` the count, the
// percentiles, the maximum and the misses. It lives as long as the run.
const char *kadenz_run_json(const kadenz_run *run);

// The buckets of a series that hold something: how many there are, of which as many are written as there is room for; -1 where that fails.
int64_t kadenz_run_histogram(const kadenz_run *run,
                             const char *series,
                             kadenz_bucket *into,
                             size_t room);

// The intervals of a series: how many there are, of which as many are written as there is room for; -1 where that fails.
int64_t kadenz_run_intervals(const kadenz_run *run,
                             const char *series,
                             kadenz_interval *into,
                             size_t room);

// What differs between two runs beyond chance, a sentence a line: the 95 % intervals of the ratios do not hold 1. Written into `into`
// with a zero, cut to `room` bytes. The bytes that all of it takes, or -1 where that fails.
int64_t kadenz_compare(const kadenz_run *baseline,
                       const kadenz_run *candidate,
                       char *into,
                       size_t room);

// Closes a run.
void kadenz_run_free(kadenz_run *run);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KADENZ_H */
