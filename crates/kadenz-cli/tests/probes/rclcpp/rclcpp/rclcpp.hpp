#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace rclcpp {
struct InitOptions {};
enum class SignalHandlerOptions { All, SigInt, SigTerm, None };
inline void init(int, char const *const *, const InitOptions & = InitOptions(), SignalHandlerOptions = SignalHandlerOptions::All) {}
inline bool shutdown() { return true; }

struct KeepLast {
    explicit KeepLast(size_t, bool = true) {}
};
struct QoS {
    explicit QoS(const KeepLast &) {}
    QoS &reliable() { return *this; }
};

template <typename M> struct Publisher {
    void publish(const M &) {}
    template <typename R = int64_t, typename D = std::milli>
    bool wait_for_all_acked(std::chrono::duration<R, D> = std::chrono::duration<R, D>(-1)) const { return true; }
};
struct Subscription {};

struct Node {
    explicit Node(const std::string &) {}
    template <typename M> std::shared_ptr<Publisher<M>> create_publisher(const std::string &, const QoS &) {
        return std::make_shared<Publisher<M>>();
    }
    template <typename M> std::shared_ptr<Subscription> create_subscription(const std::string &, const QoS &, std::function<void(const M &)>) {
        return std::make_shared<Subscription>();
    }
};

namespace executors {
struct SingleThreadedExecutor {
    void add_node(std::shared_ptr<Node>, bool = true) {}
    void spin_once(std::chrono::nanoseconds = std::chrono::nanoseconds(-1)) {}
};
}
}
