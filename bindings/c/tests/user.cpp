// What a user can rely on, in C++17. argv[1]: a folder for runs.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kadenz.hpp"

using namespace std::chrono_literals;

#define NEED(what) do { if (!(what)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); std::exit(1); } } while (0)

int main(int, char **arguments)
{
    {
        kadenz::recording run(std::string(arguments[1]) + "/cpp");
        run.keep_samples();
        auto control = run.series("control", 1ms);
        kadenz::loop_options options;
        options.deadline = "100ms";
        options.record = &run;
        for (auto tick : kadenz::periodic("500Hz", options)) {
            auto timed = control.time();
            if (tick.index >= 20) break;
        }
        NEED(run.finish().find("control") != std::string::npos);
    }
    std::FILE *samples = std::fopen((std::string(arguments[1]) + "/cpp/control.samples.arrow").c_str(), "rb");
    NEED(samples);
    std::fclose(samples);
    kadenz::run measured(std::string(arguments[1]) + "/cpp");
    NEED(measured.json().find("lateness") != std::string::npos && !measured.histogram("control").empty());
    NEED(measured.differs_from(measured).empty());

    const std::string path = std::string(arguments[1]) + "/drive.lcmlog";
    kadenz::log_writer(path).write("A", "1234", 4, 1s);
    kadenz::log log(path);
    auto logged = log.next();
    NEED(logged && logged->channel == "A" && logged->size == 4 && logged->taken_ns == 1000000000 && !log.next());

    {
        kadenz::network net("sim:5");
        auto actual = net.input("waist yaw", 0x6064);
        auto control = net.output("waist yaw", 0x6040);
        auto target = net.output("waist yaw", 0x607A);
        net.start();
        control.set(6);
        target.set_integer(-3);
        NEED(target.get_integer() == -3 && target.get() == -3);
        NEED(net.wait(20, 20s) && net.state().devices == 5 && actual.get() == 0);
        NEED(net.stop().find("5 devices") != std::string::npos);
    }

    kadenz::bus bus("memq://");
    auto subscription = bus.subscribe("A");
    bus.publish("A", "12345678", 8);
    auto message = subscription.receive(5s);
    NEED(message && message->channel == "A" && message->size == 8 && !std::memcmp(message->data, "12345678", 8));
    NEED(!subscription.receive(0s) && bus.lost() == 0);

    kadenz::camera camera("test://320x240@50", "bgr");
    auto frame = camera.next(5s);
    NEED(frame && frame->length == 3 * 320 * 240);
    try {
        kadenz::bus unknown("nonsense://");
        NEED(false);
    } catch (const kadenz::error &error) {
        NEED(std::strlen(error.what()) > 10);
    }
    return 0;
}
