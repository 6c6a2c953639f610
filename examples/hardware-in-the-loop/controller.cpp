// Holds the arm at 1 rad, and records what messages cost it: controller RUN [URL].
#include <algorithm>
#include <iostream>
#include <kadenz.hpp>

#include "arm/command_t.hpp"
#include "arm/feedback_t.hpp"

using namespace std::chrono_literals;

int main(int count, char **arguments)
{
    const std::string folder = count > 1 ? arguments[1] : "controller";
    kadenz::bus bus(count > 2 ? arguments[2] : "udpm://239.255.76.67:7667?ttl=0");
    auto feedback = bus.subscribe("FEEDBACK");
    kadenz::recording run(folder);
    auto receive = run.series("receive"), publish = run.series("publish");
    auto waits = kadenz_now_ns();
    kadenz::nanoseconds timeout = 30s;
    while (auto received = feedback.receive(timeout)) {
        const auto state = arm::feedback_t::decode(received->data, received->size);
        receive.record(std::max<std::uint64_t>(waits, received->taken_ns), kadenz_now_ns());
        arm::command_t command;
        command.number = state.number;
        command.sent_ns = state.sent_ns;
        command.torque = 4.905 * 0.8415 + 40.0 * (1.0 - state.position) - 6.0 * state.velocity;
        {
            auto timed = publish.time();
            const auto bytes = command.encode();
            bus.publish("COMMAND", bytes.data(), bytes.size());
        }
        waits = kadenz_now_ns();
        timeout = 1s;
    }
    std::cout << run.finish() << "\n";
}
