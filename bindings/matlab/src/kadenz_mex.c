/* The bridge from MATLAB and GNU Octave to libkadenz: kadenz_mex(command, ...), which the classes of +kadenz call.
 *
 * Each object that a command makes is a number, and only this file knows its pointer: a number that is closed, or was
 * never given, is an error and no crash. No number is given twice, and `clear functions` keeps this file. No call waits longer than the caller says; the classes cut a long wait into short
 * ones, so that Ctrl-C takes effect between them. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mex.h"

#include "kadenz.h"

enum kind { CLOSED, BUS, SUBSCRIPTION, RECORDING, SERIES, PERIODIC, CAMERA, NETWORK, LOG, WRITER, RUN };
static const char *const KINDS[] = {"closed", "a bus", "a subscription", "a recording", "a series", "a loop", "a camera",
    "a network", "a log", "a log that is written", "a run"};

static struct made { enum kind kind; double number; void *pointer; } *made;
static size_t made_count;
static double last_number;

static void fail(const char *text) { mexErrMsgIdAndTxt("kadenz:error", "%s", text); }

/* Arguments. */

static const mxArray **argument;
static int arguments;

/* A sparse array stores only some of its elements, and MATLAB stores complex ones in two ways: no command takes them. */
static const mxArray *at(int place)
{
    if (place >= arguments) fail("the call has too few arguments; see `help kadenz`");
    if (mxIsSparse(argument[place]) || mxIsComplex(argument[place]))
        fail("an argument is sparse or complex; convert it by full or real");
    return argument[place];
}

static double number(int place)
{
    if (mxIsEmpty(at(place))) fail("this was closed, or a number is empty");
    if (!mxIsNumeric(at(place)) && !mxIsLogical(at(place))) fail("an argument is not a number");
    if (mxGetNumberOfElements(at(place)) != 1) fail("an argument is not one number");
    return mxGetScalar(at(place));
}

/* A whole number from 0 on: what an integer of C cut off of another one would name something else. */
static double whole_of(double value, double max)
{
    static char message[96];
    if (value >= 0 && value <= max && value == (double)(uint64_t)value) return value;
    snprintf(message, sizeof message, "%.15g is not a whole number from 0 to %.15g", value, max);
    fail(message);
    return 0;
}

static double whole(int place, double max) { return whole_of(number(place), max); }

/* A 64-bit integer, exact also beyond 2^53. */
static int64_t integer(int place)
{
    if (mxGetNumberOfElements(at(place)) == 1 && (mxIsInt64(at(place)) || mxIsUint64(at(place))))
        return *(const int64_t *)mxGetData(at(place));
    return (int64_t)number(place);
}

/* A text, or NULL for an empty one. Octave and MATLAB free it after the call. */
static const char *text(int place)
{
    if (mxIsEmpty(at(place))) return NULL;
    if (!mxIsChar(at(place))) fail("an argument is not a text in single quotes");
    return mxArrayToString(at(place));
}

static const uint8_t *bytes(int place, size_t *length)
{
    if (!mxIsUint8(at(place)) && !mxIsInt8(at(place)) && !mxIsEmpty(at(place)))
        fail("a message is bytes: a uint8 array, or what a type's _encode gives");
    *length = mxGetNumberOfElements(at(place));
    return (const uint8_t *)mxGetData(at(place));
}

static int64_t ns(double seconds)
{
    if (!(seconds >= 0)) fail("a time is seconds from 0 on");
    return seconds > 9e9 ? INT64_MAX : (int64_t)(seconds * 1e9);
}

static struct made *find(double number)
{
    for (size_t i = 0; i < made_count; i++)
        if (made[i].kind != CLOSED && made[i].number == number) return &made[i];
    return NULL;
}

static void *handle(int place, enum kind kind)
{
    static char message[96];
    const struct made *it = find(number(place));
    if (it && it->kind == kind) return it->pointer;
    snprintf(message, sizeof message, "this is not %s, or it was closed", KINDS[kind]);
    fail(message);
    return NULL;
}

/* Results. */

static mxArray *uint64(uint64_t value)
{
    mxArray *array = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
    *(uint64_t *)mxGetData(array) = value;
    return array;
}

static mxArray *handed(enum kind kind, void *pointer)
{
    if (!pointer) fail(kadenz_error());
    size_t index = 0;
    while (index < made_count && made[index].kind != CLOSED) index++;
    if (index == made_count) {
        struct made *more = mxRealloc(made, (made_count + 16) * sizeof *made);
        mexMakeMemoryPersistent(more);
        memset(more + made_count, 0, 16 * sizeof *made);
        made = more;
        made_count += 16;
    }
    made[index] = (struct made){kind, ++last_number, pointer};
    return mxCreateDoubleScalar(last_number);
}

static int64_t done(int64_t outcome)
{
    if (outcome < 0) fail(kadenz_error());
    return outcome;
}

static mxArray *empty(void) { return mxCreateDoubleMatrix(0, 0, mxREAL); }

static mxArray *payload_of(const kadenz_message *message)
{
    mxArray *array = mxCreateNumericMatrix(1, message->length, mxUINT8_CLASS, mxREAL);
    memcpy(mxGetData(array), message->payload, message->length);
    return array;
}

/* The objects that a class can close; all of them close when MATLAB ends. */

static void release(struct made *it)
{
    switch (it->kind) {
    case CLOSED: break;
    case BUS: kadenz_bus_free(it->pointer); break;
    case SUBSCRIPTION: kadenz_subscription_free(it->pointer); break;
    case RECORDING: kadenz_recording_free(it->pointer); break;
    case SERIES: kadenz_series_free(it->pointer); break;
    case PERIODIC: kadenz_periodic_free(it->pointer); break;
    case CAMERA: kadenz_camera_free(it->pointer); break;
    case NETWORK: kadenz_network_free(it->pointer); break;
    case LOG: kadenz_log_free(it->pointer); break;
    case WRITER: kadenz_log_writer_free(it->pointer); break;
    case RUN: kadenz_run_free(it->pointer); break;
    }
    it->kind = CLOSED;
}

static void close_one(mxArray **out)
{
    (void)out;
    struct made *it = find(number(0));
    if (it) release(it);
}

/* Networks and loops first: they record into runs. */
static void close_all(void)
{
    for (size_t i = 0; i < made_count; i++)
        if (made[i].kind == NETWORK || made[i].kind == PERIODIC) release(&made[i]);
    for (size_t i = 0; i < made_count; i++) release(&made[i]);
}

/* Commands: arguments are counted behind the command's name. */

static void version(mxArray **out) { out[0] = mxCreateString(kadenz_version()); }
static void now(mxArray **out) { out[0] = uint64(kadenz_now_ns()); }
static void bus_open(mxArray **out) { out[0] = handed(BUS, kadenz_bus_open(text(0))); }

static void bus_lost(mxArray **out) { out[0] = mxCreateDoubleScalar((double)done(kadenz_bus_lost(handle(0, BUS)))); }

static void publish(mxArray **out)
{
    (void)out;
    size_t length;
    const uint8_t *payload = bytes(2, &length);
    done(kadenz_publish(handle(0, BUS), text(1), payload, length));
}

static void subscribe(mxArray **out)
{
    const kadenz_bus *bus = handle(0, BUS);
    done(kadenz_bus_receive_in_background(bus)); /* MATLAB computes for long between two looks. */
    out[0] = handed(SUBSCRIPTION, kadenz_subscribe(bus, text(1), (size_t)whole(2, 100000)));
}

/* [payload, channel, taken_ns]: all empty where no message came within so many seconds. */
static void message_of(mxArray **out, int64_t came, const kadenz_message *message)
{
    out[0] = came ? payload_of(message) : empty();
    out[1] = came ? mxCreateString(message->channel) : empty();
    out[2] = came ? uint64(message->taken_ns) : empty();
}

static void receive(mxArray **out)
{
    kadenz_message message;
    message_of(out, done(kadenz_receive(handle(0, SUBSCRIPTION), ns(number(1)), &message)), &message);
}

static void recording_create(mxArray **out) { out[0] = handed(RECORDING, kadenz_recording_create(text(0))); }

static void recording_keep_samples(mxArray **out) { (void)out, done(kadenz_recording_keep_samples(handle(0, RECORDING))); }

static void recording_finish(mxArray **out)
{
    char summary[16384];
    done(kadenz_recording_finish(handle(0, RECORDING), summary, sizeof summary));
    out[0] = mxCreateString(summary);
}

static void series_create(mxArray **out)
{
    out[0] = handed(SERIES, kadenz_series_create(handle(0, RECORDING), text(1), (uint64_t)ns(number(2))));
}

static void series_record(mxArray **out)
{
    (void)out;
    done(kadenz_series_record(handle(0, SERIES), (uint64_t)integer(1), (uint64_t)integer(2)));
}

/* rate, deadline, priority, whether memory is locked, CPUs, recording or empty, name of the series. */
static void periodic_start(mxArray **out)
{
    kadenz_recording *recording = mxIsEmpty(at(5)) ? NULL : handle(5, RECORDING);
    out[0] = handed(PERIODIC, kadenz_periodic_start(text(0), text(1), (uint8_t)whole(2, 99), number(3) != 0, text(4), recording, text(6)));
}

/* [index, skipped, step in seconds, lateness in nanoseconds]; empty where the tick is not due within so many seconds */
static void periodic_next(mxArray **out)
{
    kadenz_tick tick;
    if (done(kadenz_periodic_next_within(handle(0, PERIODIC), ns(number(1)), &tick)) == 0) {
        out[0] = empty();
        return;
    }
    out[0] = mxCreateDoubleMatrix(1, 4, mxREAL);
    double *value = mxGetPr(out[0]);
    value[0] = (double)tick.index;
    value[1] = (double)tick.skipped;
    value[2] = tick.step_ns / 1e9;
    value[3] = (double)tick.lateness_ns;
}

static void camera_open(mxArray **out)
{
    out[0] = handed(CAMERA, kadenz_camera_open(text(0), text(1), ns(number(2))));
}

/* A frame in columns has the layout of an image. Where the camera overwrote it during the copy, the next one is taken. */
static void frame_of(mxArray **out, int32_t (*take)(kadenz_camera *, int64_t, kadenz_frame *))
{
    kadenz_camera *camera = handle(0, CAMERA);
    int64_t timeout = ns(number(1));
    kadenz_frame frame;
    for (int tries = 0; tries < 10; tries++) {
        if (done(take(camera, timeout, &frame)) == 0) break;
        mwSize size[3] = {frame.height, frame.width, frame.channels};
        if (!frame.is_column_major) fail("the layout is not one of columns; take 'rgb-column-major' or 'gray-column-major'");
        mxArray *image = mxCreateNumericArray(frame.channels == 1 ? 2 : 3, size, mxUINT8_CLASS, mxREAL);
        if (kadenz_frame_copy(camera, &frame, mxGetData(image), frame.length) == 0) {
            out[0] = image;
            out[1] = mxCreateDoubleScalar((double)frame.age_ns / 1e9);
            out[2] = uint64(frame.number);
            return;
        }
        mxDestroyArray(image);
    }
    for (int i = 0; i < 3; i++) out[i] = empty();
}

static int32_t take_latest(kadenz_camera *camera, int64_t timeout, kadenz_frame *frame)
{
    return kadenz_camera_latest(camera, timeout, frame) == 0 ? 1 : -1;
}

static void camera_next(mxArray **out) { frame_of(out, kadenz_camera_next); }
static void camera_latest(mxArray **out) { frame_of(out, take_latest); }

/* The camera's address, for kadenz_frame.cc, by which Octave copies frames. */
static void camera_address(mxArray **out) { out[0] = uint64((uint64_t)(uintptr_t)handle(0, CAMERA)); }

/* segment, cycle, deadline, priority, whether memory is locked, ESI */
static void network_open(mxArray **out)
{
    out[0] = handed(NETWORK, kadenz_network_open(text(0), text(1), text(2), (uint8_t)whole(3, 99), number(4) != 0, text(5)));
}

static void network_value(mxArray **out, int32_t (*ask)(kadenz_network *, const char *, uint16_t, uint8_t, const char *))
{
    uint16_t index = (uint16_t)whole(2, 0xFFFF);
    uint8_t subindex = (uint8_t)whole(3, 0xFF);
    out[0] = mxCreateDoubleScalar(done(ask(handle(0, NETWORK), text(1), index, subindex, text(4))));
}

static void network_input(mxArray **out) { network_value(out, kadenz_network_input); }
static void network_output(mxArray **out) { network_value(out, kadenz_network_output); }

static void network_start(mxArray **out)
{
    (void)out;
    done(kadenz_network_start(handle(0, NETWORK), mxIsEmpty(at(1)) ? NULL : handle(1, RECORDING)));
}

/* Many values at a time: a call costs more than a value. */
static size_t values(void)
{
    if (!mxIsDouble(at(1)) && !mxIsEmpty(at(1))) fail("values are numbers that input and output gave");
    return mxGetNumberOfElements(at(1));
}

static int32_t value(size_t i) { return (int32_t)whole_of(mxGetPr(at(1))[i], INT32_MAX); }

static void network_get(mxArray **out)
{
    const kadenz_network *network = handle(0, NETWORK);
    size_t count = values();
    out[0] = mxCreateDoubleMatrix(mxGetM(at(1)), mxGetN(at(1)), mxREAL);
    for (size_t i = 0; i < count; i++) done(kadenz_network_get(network, value(i), mxGetPr(out[0]) + i));
}

static void network_get_integer(mxArray **out)
{
    const kadenz_network *network = handle(0, NETWORK);
    size_t count = values();
    out[0] = mxCreateNumericMatrix(mxGetM(at(1)), mxGetN(at(1)), mxINT64_CLASS, mxREAL);
    int64_t *into = (int64_t *)mxGetData(out[0]);
    for (size_t i = 0; i < count; i++) done(kadenz_network_get_integer(network, value(i), into + i));
}

/* Doubles, or 64-bit integers. */
static void network_set(mxArray **out)
{
    (void)out;
    const kadenz_network *network = handle(0, NETWORK);
    size_t count = values();
    const int64_t *integers = mxIsInt64(at(2)) ? (const int64_t *)mxGetData(at(2)) : NULL;
    if (!(integers || mxIsDouble(at(2))) || mxGetNumberOfElements(at(2)) != count) fail("set takes as many doubles as values");
    for (size_t i = 0; i < count; i++)
        done(integers ? kadenz_network_set_integer(network, value(i), integers[i]) : kadenz_network_set(network, value(i), mxGetPr(at(2))[i]));
}

static void network_wait(mxArray **out)
{
    const kadenz_network *network = handle(0, NETWORK);
    kadenz_network_state state;
    int64_t cycle = done(kadenz_network_wait(network, (uint64_t)whole(1, 9007199254740992), ns(number(2))));
    if (cycle == 0 && kadenz_network_get_state(network, &state) == 0 && !state.is_running)
        fail("the loop has ended; stop says why");
    out[0] = cycle == 0 ? empty() : mxCreateDoubleScalar((double)cycle);
}

static void network_state(mxArray **out)
{
    static const char *names[] = {"isRunning", "cycles", "lost", "operational", "devices"};
    kadenz_network_state state;
    done(kadenz_network_get_state(handle(0, NETWORK), &state));
    out[0] = mxCreateStructMatrix(1, 1, 5, names);
    mxSetField(out[0], 0, "isRunning", mxCreateLogicalScalar(state.is_running));
    double numbers[] = {(double)state.cycles, (double)state.lost, (double)state.operational, (double)state.devices};
    for (int i = 0; i < 4; i++) mxSetField(out[0], 0, names[i + 1], mxCreateDoubleScalar(numbers[i]));
}

static void network_stop(mxArray **out)
{
    char summary[1024];
    done(kadenz_network_stop(handle(0, NETWORK), summary, sizeof summary));
    out[0] = mxCreateString(summary);
}

static void log_open(mxArray **out) { out[0] = handed(LOG, kadenz_log_open(text(0))); }

static void log_next(mxArray **out)
{
    kadenz_message message;
    message_of(out, done(kadenz_log_next(handle(0, LOG), &message)), &message);
}

static void log_seek(mxArray **out)
{
    (void)out;
    done(kadenz_log_seek(handle(0, LOG), integer(1)));
}

static void log_create(mxArray **out) { out[0] = handed(WRITER, kadenz_log_create(text(0))); }

static void log_write(mxArray **out)
{
    (void)out;
    size_t length;
    const uint8_t *payload = bytes(2, &length);
    done(kadenz_log_write(handle(0, WRITER), text(1), payload, length, integer(3)));
}

static void log_finish(mxArray **out)
{
    (void)out;
    done(kadenz_log_finish(handle(0, WRITER)));
}

static void run_open(mxArray **out) { out[0] = handed(RUN, kadenz_run_open(text(0))); }
static void run_json(mxArray **out) { out[0] = mxCreateString(kadenz_run_json(handle(0, RUN))); }

/* A row for each bucket: lowest value, highest value, count. */
static void run_histogram(mxArray **out)
{
    const kadenz_run *run = handle(0, RUN);
    int64_t count = done(kadenz_run_histogram(run, text(1), NULL, 0));
    kadenz_bucket *bucket = mxMalloc((size_t)count * sizeof *bucket + 1);
    kadenz_run_histogram(run, text(1), bucket, (size_t)count);
    out[0] = mxCreateDoubleMatrix((size_t)count, 3, mxREAL);
    double *value = mxGetPr(out[0]);
    for (int64_t i = 0; i < count; i++) {
        value[i] = (double)bucket[i].low_ns;
        value[i + count] = (double)bucket[i].high_ns;
        value[i + 2 * count] = (double)bucket[i].count;
    }
}

/* A row for each interval: start, count, misses, smallest, largest, median, 99th percentile; NaN where there is none. */
static void run_intervals(mxArray **out)
{
    const kadenz_run *run = handle(0, RUN);
    int64_t count = done(kadenz_run_intervals(run, text(1), NULL, 0));
    kadenz_interval *interval = mxMalloc((size_t)count * sizeof *interval + 1);
    kadenz_run_intervals(run, text(1), interval, (size_t)count);
    out[0] = mxCreateDoubleMatrix((size_t)count, 7, mxREAL);
    double *value = mxGetPr(out[0]);
    for (int64_t i = 0; i < count; i++) {
        const kadenz_interval *it = &interval[i];
        double row[] = {(double)it->start_ns, (double)it->count, (double)it->misses, (double)it->min_ns, (double)it->max_ns,
            it->p50_ns == INT64_MIN ? mxGetNaN() : (double)it->p50_ns, it->p99_ns == INT64_MIN ? mxGetNaN() : (double)it->p99_ns};
        for (int column = 0; column < 7; column++) value[i + column * count] = row[column];
    }
}

static void run_compare(mxArray **out)
{
    const kadenz_run *baseline = handle(0, RUN), *candidate = handle(1, RUN);
    int64_t room = done(kadenz_compare(baseline, candidate, NULL, 0));
    char *summary = mxMalloc((size_t)room);
    kadenz_compare(baseline, candidate, summary, (size_t)room);
    out[0] = mxCreateString(summary);
}

static const struct { const char *name; void (*call)(mxArray **); } COMMANDS[] = {
    /* The commands that loops call come first: the list is searched from its start. */
    {"receive", receive}, {"publish", publish}, {"next", periodic_next}, {"record", series_record}, {"now", now},
    {"get", network_get}, {"get_integer", network_get_integer}, {"set", network_set}, {"wait", network_wait}, {"frame", camera_next}, {"latest", camera_latest},
    {"close", close_one}, {"version", version}, {"bus", bus_open}, {"lost", bus_lost}, {"subscribe", subscribe}, {"recording", recording_create},
    {"keep_samples", recording_keep_samples}, {"finish", recording_finish}, {"series", series_create}, {"periodic", periodic_start}, {"camera", camera_open},
    {"address", camera_address}, {"network", network_open}, {"input", network_input}, {"output", network_output},
    {"start", network_start}, {"state", network_state}, {"stop", network_stop}, {"log", log_open}, {"log_next", log_next},
    {"log_seek", log_seek}, {"log_create", log_create}, {"log_write", log_write}, {"log_finish", log_finish}, {"run", run_open},
    {"run_json", run_json}, {"run_histogram", run_histogram}, {"run_intervals", run_intervals}, {"run_compare", run_compare},
};

void mexFunction(int results, mxArray **result, int count, const mxArray **given)
{
    static int is_known_at_exit;
    if (!is_known_at_exit) {
        mexAtExit(close_all);
        mexLock(); /* Variables that outlive `clear functions` refer to what is open here. */
        is_known_at_exit = 1;
    }
    char name[32];
    if (count < 1 || mxGetString(given[0], name, sizeof name) != 0) fail("the first argument is the command's name");
    argument = given + 1;
    arguments = count - 1;
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            mxArray *out[3] = {NULL, NULL, NULL};
            COMMANDS[i].call(out);
            for (int place = 0; place < 3; place++) {
                if (place < results || (place == 0 && out[0])) result[place] = out[place] ? out[place] : empty();
                else if (out[place]) mxDestroyArray(out[place]);
            }
            return;
        }
    }
    fail("there is no such command");
}
