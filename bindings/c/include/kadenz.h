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

// An open camera.
typedef struct kadenz_camera kadenz_camera;

// A log that is read: LCM's event log, MCAP, a bag of ROS 1, or a folder of ROS 2.
typedef struct kadenz_log kadenz_log;

// A log that is written.
typedef struct kadenz_log_writer kadenz_log_writer;

// A segment with its devices. Any number of threads may read and set its values.
typedef struct kadenz_network kadenz_network;

// A periodic loop.
typedef struct kadenz_periodic kadenz_periodic;

// A run that is being written.
typedef struct kadenz_recording kadenz_recording;

// A finished run, or a file of another program.
typedef struct kadenz_run kadenz_run;

// A series of a run: durations that one thread measures.
typedef struct kadenz_series kadenz_series;

// A subscription to one or more channels.
typedef struct kadenz_subscription kadenz_subscription;

// A message, valid until the next call for its subscription.
typedef struct {
  // The channel, as a text that ends with a zero.
  const char *channel;
  // The encoded message; its length is beside it.
  const uint8_t *payload;
  // Its length in bytes.
  size_t length;
  // When it was complete in this process.
  uint64_t taken_ns;
  // When the kernel received it; 0 where unknown.
  uint64_t kernel_ns;
} kadenz_message;

// A frame in shared memory. Its pixels may be read until the next call of `kadenz_camera_next` or
// `kadenz_camera_latest` for its camera, which leaves this memory where the camera's server was restarted. The camera
// overwrites them some frames later: copy them, or call `kadenz_frame_is_valid` after their use.
typedef struct {
  // The first byte of the first row.
  const uint8_t *pixels;
  // Bytes of all rows together.
  size_t length;
  // Pixels of a row.
  uint32_t width;
  // Number of rows.
  uint32_t height;
  // 1 for gray, 3 for colour.
  uint32_t channels;
  // Whether columns follow one another, plane by plane, instead of rows of interleaved pixels.
  bool is_column_major;
  // Its count in its ring.
  uint64_t count;
  // The number of its ring: a server that is restarted makes another one.
  uint64_t generation;
  // Its number since the server's start; lost frames count.
  uint64_t number;
  // Its age when it was returned.
  uint64_t age_ns;
  // When the camera took it; 0 where unknown.
  uint64_t captured_ns;
} kadenz_frame;

// The state of a network.
typedef struct {
  // Whether its loop runs.
  bool is_running;
  // Cycles up to now.
  uint64_t cycles;
  // Frames of process data that did not come back in their cycle.
  uint64_t lost;
  // Devices that answer and are in OP.
  size_t operational;
  // Devices of the network, answering or not.
  size_t devices;
} kadenz_network_state;

// One tick of a periodic loop.
typedef struct {
  // Its number: 1 for the first; skipped ticks count.
  uint64_t index;
  // Ticks that were skipped before it, because the loop's body took too long.
  uint64_t skipped;
  // The time step: from the intended time of the tick before to that of this one.
  uint64_t step_ns;
  // How late the loop woke up.
  uint64_t lateness_ns;
} kadenz_tick;

// A bucket of a histogram.
typedef struct {
  // The lowest value of the bucket.
  int64_t low_ns;
  // The highest value of the bucket.
  int64_t high_ns;
  // Number of values in it.
  uint64_t count;
} kadenz_bucket;

// An interval of a run.
typedef struct {
  // The start of the interval, counted from that of the run.
  int64_t start_ns;
  // Number of values in the interval.
  uint64_t count;
  // Values above the deadline.
  uint64_t misses;
  // The smallest value of the interval.
  int64_t min_ns;
  // The largest value of the interval.
  int64_t max_ns;
  // The median; INT64_MIN where the interval cannot carry it.
  int64_t p50_ns;
  // The 99th percentile; INT64_MIN where the interval cannot carry it.
  int64_t p99_ns;
} kadenz_interval;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The error text of this thread's last failed call, with the remedy; "" where none failed. It is valid until the next
// call of this thread that fails.
const char *kadenz_error(void);

// The present time, in nanoseconds of `CLOCK_MONOTONIC`. Real-time safe: by the vDSO, without a system call.
uint64_t kadenz_now_ns(void);

// The version of the library, as "0.1.0".
const char *kadenz_version(void);

// Opens the bus of a URL, as "udpm://239.255.76.67:7667?ttl=0"; NULL takes the URL of LCM_DEFAULT_URL. Returns NULL
// where that fails.
kadenz_bus *kadenz_bus_open(const char *url);

// Receives on a thread of the library from now on, until the bus is closed: messages then wait in the queues of their
// subscriptions while no thread calls `kadenz_receive`. Without it a thread that waits for a message receives for all
// subscriptions, which costs one wake-up less; meanwhile messages wait in the small buffers of the system or of the
// transport, which drop messages. Returns 0, also where it receives already, or -1 where that fails.
int32_t kadenz_bus_receive_in_background(const kadenz_bus *bus);

// Returns the number of messages that were lost on the way to this bus, of all channels, or -1 where the bus is NULL.
// They are known by the numbers that senders give their messages, as over udpm://, shm:// and dds://, also those of
// unmodified LCM programs; 0 where they give none. It interrupts the thread that receives: not for a loop.
int64_t kadenz_bus_lost(const kadenz_bus *bus);

// Closes a bus; its subscriptions stay open.
void kadenz_bus_free(kadenz_bus *bus);

// Publishes bytes. Returns 0, or -1 where that fails. After the first message to a channel it allocates nothing; it
// takes a priority-inheriting lock.
int32_t kadenz_publish(const kadenz_bus *bus,
                       const char *channel,
                       const uint8_t *payload,
                       size_t length);

// Subscribes to the channels whose whole name a regular expression matches. At most `queue` messages wait, 30 for 0;
// then a new one displaces the oldest. They come into the queue while a thread of this process waits for a message of
// the bus, or after `kadenz_bus_receive_in_background`. Returns NULL where that fails.
kadenz_subscription *kadenz_subscribe(const kadenz_bus *bus,
                                      const char *pattern,
                                      size_t queue);

// Waits so many nanoseconds for a message, without limit where they are negative; 0 does not wait. Returns 1 with a
// message, which is valid until the next call, 0 without one, -1 where that fails.
int32_t kadenz_receive(kadenz_subscription *subscription,
                       int64_t timeout_ns,
                       kadenz_message *message);

// Frees a subscription, and its last message.
void kadenz_subscription_free(kadenz_subscription *subscription);

// Opens a camera by its name or URL, in a layout as "rgb", "bgr", "gray", "rgb-column-major", "gray@960x540"; waits at
// most so long for its first frame. Returns NULL where that fails.
kadenz_camera *kadenz_camera_open(const char *name_or_url,
                                  const char *layout,
                                  int64_t timeout_ns);

// Gets the newest frame. Returns 0, or -1 where it is older than `max_age_ns`. Real-time safe while frames come.
int32_t kadenz_camera_latest(kadenz_camera *camera,
                             int64_t max_age_ns,
                             kadenz_frame *frame);

// Gets the newest frame that was not returned yet. Returns 1, or 0 where none came in time, or -1 where that fails.
int32_t kadenz_camera_next(kadenz_camera *camera,
                           int64_t timeout_ns,
                           kadenz_frame *frame);

// Returns whether the camera has not begun to overwrite a frame; `false` for a frame of an earlier server. Real-time
// safe.
bool kadenz_frame_is_valid(const kadenz_camera *camera,
                           const kadenz_frame *frame);

// Copies a frame into memory of yours. Returns 0, or -1 where that has fewer than `length` bytes of the frame, or the
// camera overwrote the frame meanwhile, or its server was restarted: take the newest one. Real-time safe in memory that
// was touched before.
int32_t kadenz_frame_copy(const kadenz_camera *camera,
                          const kadenz_frame *frame,
                          uint8_t *into,
                          size_t room);

// Closes a camera, and ends its threads.
void kadenz_camera_free(kadenz_camera *camera);

// Opens a log. Returns NULL where that fails.
kadenz_log *kadenz_log_open(const char *path);

// Reads the next message, valid until the next call for this log; its `taken_ns` is the time of logging, in
// nanoseconds since 1970, and its `kernel_ns` the time of publishing. Returns 1 with a message, 0 at the end, -1 where
// the file cannot be read.
int32_t kadenz_log_next(kadenz_log *log,
                        kadenz_message *message);

// Goes to the first message that was logged at or after a time, in nanoseconds since 1970; 0 is the start. Returns 0,
// or -1 where that fails.
int32_t kadenz_log_seek(kadenz_log *log,
                        int64_t unix_ns);

// Closes a log and frees its memory.
void kadenz_log_free(kadenz_log *log);

// Creates a log, and replaces an existing one: MCAP where its name ends with ".mcap", else LCM's event log. Returns
// NULL where that fails.
kadenz_log_writer *kadenz_log_create(const char *path);

// Writes a message that came at a time, in nanoseconds since 1970. Returns 0, or -1 where that fails: where the disk
// is full, no message that was written before is lost, and the call can be repeated.
int32_t kadenz_log_write(kadenz_log_writer *log,
                         const char *channel,
                         const uint8_t *payload,
                         size_t length,
                         int64_t unix_ns);

// Completes the file. Returns 0, or -1 where that fails: the written messages stay readable.
int32_t kadenz_log_finish(kadenz_log_writer *log);

// Frees a log; an unfinished one is read without an index.
void kadenz_log_writer_free(kadenz_log_writer *log);

// Opens a segment and brings its devices to SAFEOP: "eth1" is an interface, "sim:59" a virtual segment,
// "sim:robot.toml" a segment that the file describes. `cycle` is a rate as "1kHz", `deadline`, as "400us", may be
// NULL, `priority` 0 (else `SCHED_FIFO`, 1 to 99), `esi` names a vendor's ESI file or a folder of them, or is NULL.
// Returns NULL where that fails.
kadenz_network *kadenz_network_open(const char *segment,
                                    const char *cycle,
                                    const char *deadline,
                                    uint8_t priority,
                                    bool lock_memory,
                                    const char *esi);

// Shares an object in the inputs of a device, by the device's name or position: 0x6064 and sub-index 0 as `index` and
// `subindex`. `type` is "bool", "u8" to "u64", "i8" to "i64", "f32", "f64", or NULL for that of the device's
// dictionary or description. Returns the number of the value, or -1 where that fails. Call it before
// `kadenz_network_start`.
int32_t kadenz_network_input(kadenz_network *network,
                             const char *device,
                             uint16_t index,
                             uint8_t subindex,
                             const char *type);

// Shares an object in the outputs of a device, as `kadenz_network_input`. It is zero until a value is set.
int32_t kadenz_network_output(kadenz_network *network,
                              const char *device,
                              uint16_t index,
                              uint8_t subindex,
                              const char *type);

// Starts the loop on a thread of its own; devices go to OP. With a `recording` the series of the loop go there: stop
// the network before the recording is finished. Returns 0, or -1 where that fails.
int32_t kadenz_network_start(kadenz_network *network,
                             const kadenz_recording *recording);

// Gets the last value that a device sent, zero before it sent one; of an output the last value that was set. Real-time
// safe after the start where it succeeds. Returns 0, or -1 where that fails.
int32_t kadenz_network_get(const kadenz_network *network,
                           int32_t value,
                           double *into);

// As `kadenz_network_get`, as an integer: a float loses its fraction, a 64-bit unsigned one above INT64_MAX becomes negative.
int32_t kadenz_network_get_integer(const kadenz_network *network,
                                   int32_t value,
                                   int64_t *into);

// Sets the value that the loop sends to a device from the next cycle on. Real-time safe after the start where it
// succeeds. Returns 0, or -1 where the object's type cannot hold the value, as 300 or 1.5 in an unsigned byte, or the object is an input.
int32_t kadenz_network_set(const kadenz_network *network,
                           int32_t value,
                           double to);

// As `kadenz_network_set`, for integers beyond 2^53.
int32_t kadenz_network_set_integer(const kadenz_network *network, int32_t value, int64_t to);

// Waits for a cycle after that of this number. Returns the number of the last cycle; 0 where none came in time or the
// loop has ended, -1 where it does not run. The loop makes no system call for it.
int64_t kadenz_network_wait(const kadenz_network *network,
                            uint64_t after,
                            int64_t timeout_ns);

// Gets the state of the network. Returns 0, or -1 where its loop does not run.
int32_t kadenz_network_get_state(const kadenz_network *network, kadenz_network_state *state);

// Ends the loop after its shutdown cycles, and leaves devices in PREOP. Writes its report, a line, into `summary`
// where that is not NULL, cut to `room` bytes with its zero. Returns 0, or -1 where the loop did not run, or ended by
// itself because a cycle was not done in time.
int32_t kadenz_network_stop(kadenz_network *network,
                            char *summary,
                            size_t room);

// Ends the loop where it runs, and frees the network.
void kadenz_network_free(kadenz_network *network);

// Starts a run in a new or empty folder. Returns NULL where that fails.
kadenz_recording *kadenz_recording_create(const char *folder);

// Keeps each sample of the series and loops that are added to the run afterwards, with its time: 32 bytes a sample in
// memory until it is on disk. `kadenz export`, `kadenz modes` and the chart of a report over time need them;
// percentiles and misses do not. Returns 0, or -1 where that fails.
int32_t kadenz_recording_keep_samples(kadenz_recording *recording);

// Ends a run. Writes its summary, a few lines that end with a zero, into `summary` where that is not NULL, cut to
// `room` bytes. Returns 0, or -1 where a part could not be written. The handle must still be freed.
int32_t kadenz_recording_finish(kadenz_recording *recording,
                                char *summary,
                                size_t room);

// Frees a run; an unfinished one is marked as incomplete.
void kadenz_recording_free(kadenz_recording *recording);

// Adds a series of durations of that name; values above `deadline_ns` count as missed, where it is not 0. Returns NULL
// where that fails.
kadenz_series *kadenz_series_create(kadenz_recording *recording,
                                    const char *name,
                                    uint64_t deadline_ns);

// Records the span between two times of `kadenz_now_ns`. Real-time safe: it neither allocates, locks nor calls the
// system. Returns 0, or -1 where the handle is NULL.
int32_t kadenz_series_record(kadenz_series *series,
                             uint64_t begin_ns,
                             uint64_t end_ns);

// Frees a series. Its samples stay in the run.
void kadenz_series_free(kadenz_series *series);

// Starts a periodic loop on the calling thread, at a rate as "1kHz". `deadline`, as "400us", and `cpus`, as "2-3", may
// be NULL, `priority` 0 (else `SCHED_FIFO`, 1 to 99). With a `recording` the lateness of each tick becomes a series
// named `series`. Where the machine refuses a setting, the loop runs without it, and the run has a warning with the
// remedy. Returns NULL where that fails.
kadenz_periodic *kadenz_periodic_start(const char *rate,
                                       const char *deadline,
                                       uint8_t priority,
                                       bool lock_memory,
                                       const char *cpus,
                                       kadenz_recording *recording,
                                       const char *series);

// Sleeps until the next tick. Real-time safe: no system call except the sleep. Returns 0, or -1 where a pointer is
// NULL.
int32_t kadenz_periodic_next(kadenz_periodic *periodic,
                             kadenz_tick *tick);

// As `kadenz_periodic_next`, for a caller that must also check something else: sleeps for at most so many nanoseconds.
// Returns 1 with a tick, 0 where it is not due by then, and the next call waits for it, -1 where a pointer is NULL.
// Real-time safe.
int32_t kadenz_periodic_next_within(kadenz_periodic *periodic,
                                    int64_t longest_ns,
                                    kadenz_tick *tick);

// Ends a loop, and restores its thread; call it on that thread.
void kadenz_periodic_free(kadenz_periodic *periodic);

// Opens a run folder, complete or not, or a file that `kadenz import` takes. Returns NULL where that fails.
kadenz_run *kadenz_run_open(const char *path);

// The content of a run, as JSON: `run` is the content of run.json, `warnings` holds the conditions that spoil it, and
// each of `series` has the count, the percentiles, the maximum and the misses. It lives as long as the run.
const char *kadenz_run_json(const kadenz_run *run);

// Gets the non-empty buckets of a series. Returns their number, and writes as many as there is room for; -1 where that
// fails.
int64_t kadenz_run_histogram(const kadenz_run *run,
                             const char *series,
                             kadenz_bucket *into,
                             size_t room);

// Gets the intervals of a series. Returns their number, and writes as many as there is room for; -1 where that fails.
int64_t kadenz_run_intervals(const kadenz_run *run,
                             const char *series,
                             kadenz_interval *into,
                             size_t room);

// Writes the differences between two runs beyond chance, a sentence a line: those where the 95 % intervals of the
// ratios do not hold 1. `into` gets them with a zero, cut to `room` bytes. Returns the bytes that the full text takes,
// or -1 where that fails.
int64_t kadenz_compare(const kadenz_run *baseline,
                       const kadenz_run *candidate,
                       char *into,
                       size_t room);

// Closes a run and frees its memory.
void kadenz_run_free(kadenz_run *run);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KADENZ_H */
