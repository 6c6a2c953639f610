/* ROS 2 by rclcpp: reliable, keep last, on this host alone, called back on the thread that waits; the channel is the topic.
   URL: ros2://DOMAIN. Its name holds the middleware below it (RMW_IMPLEMENTATION). */
#include "../kadenz_probe.h"
#include <chrono>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <rmw/rmw.h>
#include <std_msgs/msg/u_int8_multi_array.hpp>

using Message = std_msgs::msg::UInt8MultiArray;

static void publish(kadenz_probe *probe, rclcpp::Node &node, const rclcpp::QoS &qos) {
    auto publisher = node.create_publisher<Message>(kadenz_probe_channel(probe), qos);
    Message message;
    message.data.resize(kadenz_probe_bytes(probe));
    kadenz_probe_ready(probe);
    while (kadenz_probe_next(probe)) {
        memcpy(message.data.data(), kadenz_probe_message(probe), kadenz_probe_bytes(probe));
        publisher->publish(message);
        kadenz_probe_sent(probe, 1);
    }
    publisher->wait_for_all_acked(std::chrono::seconds(1));
}

static void receive(kadenz_probe *probe, std::shared_ptr<rclcpp::Node> node, const rclcpp::QoS &qos) {
    auto came = [probe](const Message &message) { kadenz_probe_received(probe, message.data.data(), message.data.size()); };
    auto subscription = node->create_subscription<Message>(kadenz_probe_channel(probe), qos, came);
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_node(node);
    kadenz_probe_ready(probe);
    while (kadenz_probe_waits(probe)) executor.spin_once(std::chrono::milliseconds(100));
}

int main() {
    auto name = std::string("rclcpp ") + RCLCPP_VERSION + " by " + rmw_get_implementation_identifier();
    kadenz_probe *probe = kadenz_probe_open(name.c_str());
    unsigned domain;
    if (sscanf(kadenz_probe_url(probe), "ros2://%u", &domain) != 1) kadenz_probe_fail(probe, "the URL is ros2://DOMAIN");
    setenv("ROS_DOMAIN_ID", std::to_string(domain).c_str(), 1);
    setenv("ROS_LOCALHOST_ONLY", "1", 0); /* until Iron */
    setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST", 0);
    rclcpp::init(0, nullptr, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
    auto node = std::make_shared<rclcpp::Node>("kadenz_probe_" + std::to_string(getpid()));
    auto qos = rclcpp::QoS(rclcpp::KeepLast((size_t)probe->queue)).reliable();
    if (kadenz_probe_publishes(probe)) publish(probe, *node, qos);
    else receive(probe, node, qos);
    int code = kadenz_probe_close(probe);
    rclcpp::shutdown();
    return code;
}
