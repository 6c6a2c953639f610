/* The timers of ROS 1 by roscpp, one-shot and cyclic, called back on the thread that spins ([Sticha2014], sections 4.1 and
   4.2). URL: the master's, as http://127.0.0.1:11311 */
#include "kadenz_probe.h"
#include <condition_variable>
#include <mutex>
#include <ros/ros.h>

static std::mutex lock;
static std::condition_variable fired;
static bool has_fired;
static int64_t end_ns, reported_ns;

static void came(const ros::TimerEvent &event) {
    int64_t now_ns = kadenz_probe_now();
    std::lock_guard<std::mutex> guard(lock);
    end_ns = now_ns;
    reported_ns = (event.current_real - event.current_expected).toNSec();
    has_fired = true;
    fired.notify_one();
}

/* One timer, set again and again; roscpp may ignore it, which is noticed after one second more. */
static void set_again_and_again(kadenz_probe *probe, ros::NodeHandle &node) {
    ros::Duration timeout;
    timeout.fromNSec(probe->interval_ns);
    ros::Timer timer = node.createTimer(timeout, came, true, false);
    auto wait_limit = std::chrono::nanoseconds(probe->interval_ns) + std::chrono::seconds(1);
    for (int64_t at = 0; at < probe->count && kadenz_probe_waits(probe); at++) {
        std::unique_lock<std::mutex> guard(lock);
        has_fired = false;
        int64_t start_ns = kadenz_probe_now();
        timer.stop();
        timer.setPeriod(timeout);
        timer.start();
        if (fired.wait_for(guard, wait_limit, [] { return has_fired; })) kadenz_probe_timer(probe, start_ns, end_ns, reported_ns);
        else kadenz_probe_ignored(probe, start_ns);
    }
}

static void keep_a_rate(kadenz_probe *probe, ros::NodeHandle &node) {
    ros::Duration period;
    period.fromNSec(probe->interval_ns);
    std::mutex told;
    std::condition_variable done;
    int64_t woke = 0;
    boost::function<void(const ros::TimerEvent &)> tick = [&](const ros::TimerEvent &) {
        if (woke >= probe->count) return;
        kadenz_probe_woke(probe);
        kadenz_probe_waits(probe);
        std::lock_guard<std::mutex> guard(told);
        if (++woke == probe->count) done.notify_one();
    };
    kadenz_probe_started(probe);
    ros::Timer timer = node.createTimer(period, tick);
    std::unique_lock<std::mutex> guard(told);
    while (woke < probe->count && !kadenz_probe_ended(probe)) done.wait_for(guard, std::chrono::milliseconds(100));
    guard.unlock();
    timer.stop();
}

int main() {
    auto name = "roscpp " + std::to_string(ROS_VERSION_MAJOR) + "." + std::to_string(ROS_VERSION_MINOR) + "." +
                std::to_string(ROS_VERSION_PATCH);
    kadenz_probe *probe = kadenz_probe_open(name.c_str());
    int argc = 0;
    setenv("ROS_MASTER_URI", kadenz_probe_url(probe), 1);
    setenv("ROS_IP", "127.0.0.1", 1);
    setenv("ROS_HOSTNAME", "127.0.0.1", 1);
    ros::init(argc, nullptr, "kadenz_probe_" + std::to_string(getpid()), ros::init_options::NoSigintHandler | ros::init_options::NoRosout);
    if (!ros::master::check()) kadenz_probe_fail(probe, "no ROS master answers there");
    ros::NodeHandle node;
    ros::AsyncSpinner spinner(1);
    spinner.start();
    kadenz_probe_ready(probe);
    kadenz_probe_wait_for_begin(probe);
    if (kadenz_probe_is(probe, "oneshot")) set_again_and_again(probe, node);
    else keep_a_rate(probe, node);
    spinner.stop();
    return kadenz_probe_close(probe);
}
