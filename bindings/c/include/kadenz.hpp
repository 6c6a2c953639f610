/* Kadenz for C++17: kadenz.h with destructors and exceptions, in this header alone. docs/c.md is its page. */
#ifndef KADENZ_HPP
#define KADENZ_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kadenz.h"

namespace kadenz {

/* An error of Kadenz; its text names the cause and the remedy. */
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using nanoseconds = std::chrono::nanoseconds;

namespace detail {
template <auto Free>
struct freed {
    template <typename T>
    void operator()(T *handle) const { Free(handle); }
};
template <typename T, auto Free>
using owned = std::unique_ptr<T, freed<Free>>;

template <typename T>
T *made(T *handle)
{
    if (!handle) throw error(kadenz_error());
    return handle;
}
template <typename T>
T done(T outcome)
{
    if (outcome < 0) throw error(kadenz_error());
    return outcome;
}
inline const char *text_or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }
} // namespace detail

/* A series of durations of a run. One thread uses it. Real-time safe. */
class series {
public:
    /* Records the time from its construction to the end of its block. */
    class timer {
    public:
        explicit timer(series &into) : into_(into), begin_(kadenz_now_ns()) {}
        timer(const timer &) = delete;
        timer &operator=(const timer &) = delete;
        ~timer() { into_.record(begin_, kadenz_now_ns()); }

    private:
        series &into_;
        std::uint64_t begin_;
    };

    explicit series(kadenz_series *handle) : handle_(detail::made(handle)) {}
    timer time() { return timer(*this); }
    void record(std::uint64_t begin_ns, std::uint64_t end_ns) { kadenz_series_record(handle_.get(), begin_ns, end_ns); }

private:
    detail::owned<kadenz_series, kadenz_series_free> handle_;
};

/* A run that is being written, in a new or empty folder. Its destructor finishes it where finish() did not; while an
   exception passes, a run without a series leaves nothing. */
class recording {
public:
    explicit recording(const std::string &folder) : handle_(detail::made(kadenz_recording_create(folder.c_str()))) {}
    recording(const recording &) = delete;
    recording &operator=(const recording &) = delete;
    ~recording()
    {
        if (!finished_ && (measures_ || std::uncaught_exceptions() == 0)) {
            kadenz_recording_finish(handle_.get(), nullptr, 0);
        }
    }
    /* Keeps each sample of the series and loops that are added afterwards, for `kadenz export` and charts over time. */
    void keep_samples() { detail::done(kadenz_recording_keep_samples(handle_.get())); }
    class series series(const std::string &name, nanoseconds deadline = nanoseconds(0))
    {
        return kadenz::series(kadenz_series_create(handle(), name.c_str(), std::uint64_t(deadline.count())));
    }
    /* Ends the run; returns its summary, a few lines. */
    std::string finish()
    {
        std::string summary(16384, '\0');
        detail::done(kadenz_recording_finish(handle_.get(), summary.data(), summary.size()));
        finished_ = true;
        summary.resize(summary.find('\0'));
        return summary;
    }
    kadenz_recording *handle()
    {
        measures_ = true;
        return handle_.get();
    }

private:
    detail::owned<kadenz_recording, kadenz_recording_free> handle_;
    bool finished_ = false;
    bool measures_ = false;
};

/* The tuning that a loop requests. It runs without a setting that the machine refuses, and its run has a warning. */
struct loop_options {
    std::string deadline;          /* "400us"; none where empty */
    std::uint8_t priority = 0;     /* SCHED_FIFO, 1 to 99; 0 for none */
    bool lock_memory = false;
    std::string cpus;              /* "2-3" */
    recording *record = nullptr;   /* gets the lateness of each tick */
    std::string series = "lateness";
};

/* A periodic loop: `for (auto tick : kadenz::periodic("1kHz"))` never ends by itself. One thread uses it. */
class periodic {
public:
    explicit periodic(const std::string &rate, const loop_options &options = {})
        : handle_(detail::made(kadenz_periodic_start(rate.c_str(), detail::text_or_null(options.deadline), options.priority,
              options.lock_memory, detail::text_or_null(options.cpus), options.record ? options.record->handle() : nullptr,
              options.series.c_str())))
    {
    }
    /* Sleeps until the next tick. Real-time safe. */
    kadenz_tick next()
    {
        kadenz_tick tick;
        kadenz_periodic_next(handle_.get(), &tick);
        return tick;
    }
    struct iterator {
        periodic *of;
        kadenz_tick tick;
        kadenz_tick operator*() const { return tick; }
        iterator &operator++() { tick = of->next(); return *this; }
        bool operator!=(std::nullptr_t) const { return true; }
    };
    iterator begin() { return {this, next()}; }
    std::nullptr_t end() { return nullptr; }

private:
    detail::owned<kadenz_periodic, kadenz_periodic_free> handle_;
};

/* A message, valid until the next call for its subscription. */
struct message {
    std::string_view channel;
    const std::uint8_t *data;
    std::size_t size;
    std::uint64_t taken_ns;
};

/* Receives from some channels. One thread uses it. */
class subscription {
public:
    explicit subscription(kadenz_subscription *handle) : handle_(detail::made(handle)) {}
    /* Waits for a message; none after the timeout. A negative timeout is no limit, 0 does not wait. */
    std::optional<message> receive(nanoseconds timeout)
    {
        kadenz_message it;
        if (detail::done(kadenz_receive(handle_.get(), timeout.count(), &it)) == 0) return std::nullopt;
        return message{it.channel, it.payload, it.length, it.taken_ns};
    }

private:
    detail::owned<kadenz_subscription, kadenz_subscription_free> handle_;
};

/* A bus, which any number of threads may use. Without a URL it takes that of LCM_DEFAULT_URL. */
class bus {
public:
    explicit bus(const std::string &url = "") : handle_(detail::made(kadenz_bus_open(detail::text_or_null(url)))) {}
    void publish(const std::string &channel, const void *data, std::size_t size)
    {
        detail::done(kadenz_publish(handle_.get(), channel.c_str(), static_cast<const std::uint8_t *>(data), size));
    }
    /* Receives on a thread of the library from now on, so that messages wait in their queues while no thread asks. */
    void receive_in_background() { detail::done(kadenz_bus_receive_in_background(handle_.get())); }
    /* The number of messages that were lost on the way here, by the senders' numbers; not for a loop. */
    std::uint64_t lost() const { return std::uint64_t(detail::done(kadenz_bus_lost(handle_.get()))); }
    class subscription subscribe(const std::string &pattern, std::size_t queue = 0)
    {
        return kadenz::subscription(kadenz_subscribe(handle_.get(), pattern.c_str(), queue));
    }

private:
    detail::owned<kadenz_bus, kadenz_bus_free> handle_;
};

/* A log of messages that is read: LCM's event log, MCAP, ROS bags. */
class log {
public:
    explicit log(const std::string &path) : handle_(detail::made(kadenz_log_open(path.c_str()))) {}
    /* The next message, valid until the next call; none at the end. `taken_ns` counts from 1970. */
    std::optional<message> next()
    {
        kadenz_message it;
        if (detail::done(kadenz_log_next(handle_.get(), &it)) == 0) return std::nullopt;
        return message{it.channel, it.payload, it.length, it.taken_ns};
    }
    /* Goes to the first message at or after a time since 1970. */
    void seek(nanoseconds since_1970) { detail::done(kadenz_log_seek(handle_.get(), since_1970.count())); }

private:
    detail::owned<kadenz_log, kadenz_log_free> handle_;
};

/* A log that is written: MCAP where its name ends with ".mcap", else LCM's event log. */
class log_writer {
public:
    explicit log_writer(const std::string &path) : handle_(detail::made(kadenz_log_create(path.c_str()))) {}
    log_writer(const log_writer &) = delete;
    log_writer &operator=(const log_writer &) = delete;
    ~log_writer() { if (!finished_) kadenz_log_finish(handle_.get()); }
    void write(const std::string &channel, const void *data, std::size_t size, nanoseconds since_1970)
    {
        detail::done(kadenz_log_write(handle_.get(), channel.c_str(), static_cast<const std::uint8_t *>(data), size,
            since_1970.count()));
    }
    void finish()
    {
        finished_ = true;
        detail::done(kadenz_log_finish(handle_.get()));
    }

private:
    detail::owned<kadenz_log_writer, kadenz_log_writer_free> handle_;
    bool finished_ = false;
};

/* A finished run. */
class run {
public:
    explicit run(const std::string &path) : handle_(detail::made(kadenz_run_open(path.c_str()))) {}
    /* Its content, as JSON. */
    std::string json() const { return kadenz_run_json(handle_.get()); }
    /* The non-empty buckets of a series. */
    std::vector<kadenz_bucket> histogram(const std::string &series) const
    {
        return all<kadenz_bucket>(series, kadenz_run_histogram);
    }
    std::vector<kadenz_interval> intervals(const std::string &series) const
    {
        return all<kadenz_interval>(series, kadenz_run_intervals);
    }
    /* The differences between a baseline and this run beyond chance, a sentence a line. */
    std::string differs_from(const run &baseline) const
    {
        std::string text(std::size_t(compare(baseline, nullptr, 0)), '\0');
        compare(baseline, text.data(), text.size());
        text.pop_back();
        return text;
    }

private:
    template <typename T, typename Get>
    std::vector<T> all(const std::string &series, Get get) const
    {
        std::vector<T> found(std::size_t(detail::done(get(handle_.get(), series.c_str(), nullptr, 0))));
        get(handle_.get(), series.c_str(), found.data(), found.size());
        return found;
    }
    std::int64_t compare(const run &baseline, char *into, std::size_t room) const
    {
        return detail::done(kadenz_compare(baseline.handle_.get(), handle_.get(), into, room));
    }
    detail::owned<kadenz_run, kadenz_run_free> handle_;
};

/* The options of a network. */
struct network_options {
    std::string cycle = "1kHz";
    std::string deadline;       /* "400us"; none where empty */
    std::uint8_t priority = 0;  /* SCHED_FIFO, 1 to 99; 0 for none */
    bool lock_memory = false;
    std::string esi;            /* file or folder of vendors' descriptions */
};

/* EtherCAT: a loop in the background, cached inputs and outputs. `segment` is "eth1", "sim:59" or "sim:robot.toml". */
class network {
public:
    /* An input or output object of a device. Any thread may use it while its network lives. Real-time safe. */
    class value {
    public:
        double get() const
        {
            double it;
            detail::done(kadenz_network_get(of_, number_, &it));
            return it;
        }
        void set(double to) { detail::done(kadenz_network_set(of_, number_, to)); }
        /* A double holds integers up to 2^53; these are exact for all of 64 bits. */
        std::int64_t get_integer() const
        {
            std::int64_t it;
            detail::done(kadenz_network_get_integer(of_, number_, &it));
            return it;
        }
        void set_integer(std::int64_t to) { detail::done(kadenz_network_set_integer(of_, number_, to)); }

    private:
        friend class network;
        value(kadenz_network *of, int number) : of_(of), number_(detail::done(number)) {}
        kadenz_network *of_;
        int number_;
    };

    explicit network(const std::string &segment, const network_options &options = {})
        : handle_(detail::made(kadenz_network_open(segment.c_str(), options.cycle.c_str(),
              detail::text_or_null(options.deadline), options.priority, options.lock_memory,
              detail::text_or_null(options.esi))))
    {
    }
    /* Before start(): an object of a device, by its name or position. The type is the device's own, or "i32", "u16", "f32". */
    value input(const std::string &device, std::uint16_t index, std::uint8_t subindex = 0, const std::string &type = "")
    {
        const char *text = detail::text_or_null(type);
        return value(handle_.get(), kadenz_network_input(handle_.get(), device.c_str(), index, subindex, text));
    }
    value output(const std::string &device, std::uint16_t index, std::uint8_t subindex = 0, const std::string &type = "")
    {
        const char *text = detail::text_or_null(type);
        return value(handle_.get(), kadenz_network_output(handle_.get(), device.c_str(), index, subindex, text));
    }
    /* Starts the loop on a thread of its own. */
    void start(recording *record = nullptr)
    {
        detail::done(kadenz_network_start(handle_.get(), record ? record->handle() : nullptr));
    }
    /* Waits for a cycle after that of this number; none where none came in time or the loop has ended. */
    std::optional<std::uint64_t> wait(std::uint64_t after, nanoseconds timeout)
    {
        auto cycle = detail::done(kadenz_network_wait(handle_.get(), after, timeout.count()));
        return cycle == 0 ? std::nullopt : std::optional<std::uint64_t>(cycle);
    }
    kadenz_network_state state() const
    {
        kadenz_network_state state;
        detail::done(kadenz_network_get_state(handle_.get(), &state));
        return state;
    }
    /* Ends the loop; returns its report, a line. */
    std::string stop()
    {
        std::string summary(1024, '\0');
        detail::done(kadenz_network_stop(handle_.get(), summary.data(), summary.size()));
        summary.resize(summary.find('\0'));
        return summary;
    }

private:
    detail::owned<kadenz_network, kadenz_network_free> handle_;
};

#ifdef __linux__
/* The newest frame of a camera. One thread uses it. */
class camera {
public:
    explicit camera(const std::string &name_or_url, const std::string &layout = "bgr",
        nanoseconds timeout = std::chrono::seconds(10))
        : handle_(detail::made(kadenz_camera_open(name_or_url.c_str(), layout.c_str(), timeout.count())))
    {
    }
    /* The newest frame in shared memory; throws where it is older. */
    kadenz_frame latest(nanoseconds max_age)
    {
        kadenz_frame frame;
        detail::done(kadenz_camera_latest(handle_.get(), max_age.count(), &frame));
        return frame;
    }
    /* The newest frame that was not returned yet; none after the timeout. */
    std::optional<kadenz_frame> next(nanoseconds timeout)
    {
        kadenz_frame frame;
        if (detail::done(kadenz_camera_next(handle_.get(), timeout.count(), &frame)) == 0) return std::nullopt;
        return frame;
    }
    bool is_valid(const kadenz_frame &frame) const { return kadenz_frame_is_valid(handle_.get(), &frame); }
    void copy(const kadenz_frame &frame, std::vector<std::uint8_t> &into) const
    {
        into.resize(frame.length);
        detail::done(kadenz_frame_copy(handle_.get(), &frame, into.data(), into.size()));
    }

private:
    detail::owned<kadenz_camera, kadenz_camera_free> handle_;
};
#endif

} // namespace kadenz

#endif
