/* ROS 1 by roscpp, over TCP without delay, called back on the thread that waits; the channel is the topic. URL: the
   master's, as http://127.0.0.1:11311 */
#include "kadenz_probe.h"
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <std_msgs/UInt8MultiArray.h>

static void publish(kadenz_probe *probe, ros::NodeHandle &node) {
    auto publisher = node.advertise<std_msgs::UInt8MultiArray>(kadenz_probe_channel(probe), (uint32_t)probe->queue);
    std_msgs::UInt8MultiArray message;
    message.data.resize(kadenz_probe_bytes(probe));
    kadenz_probe_ready(probe);
    while (kadenz_probe_next(probe)) {
        memcpy(message.data.data(), kadenz_probe_message(probe), kadenz_probe_bytes(probe));
        publisher.publish(message);
        kadenz_probe_sent(probe, 1);
    }
    usleep(300000); /* for the messages in its queues; the library does not report when they are sent */
}

static void receive(kadenz_probe *probe, ros::NodeHandle &node) {
    boost::function<void(const std_msgs::UInt8MultiArray::ConstPtr &)> came =
        [probe](const std_msgs::UInt8MultiArray::ConstPtr &message) {
            kadenz_probe_received(probe, message->data.data(), message->data.size());
        };
    auto subscriber = node.subscribe<std_msgs::UInt8MultiArray>(kadenz_probe_channel(probe), (uint32_t)probe->queue, came,
                                                                ros::VoidConstPtr(), ros::TransportHints().tcpNoDelay());
    kadenz_probe_ready(probe);
    while (kadenz_probe_waits(probe)) ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.1));
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
    if (kadenz_probe_publishes(probe)) publish(probe, node);
    else receive(probe, node);
    return kadenz_probe_close(probe);
}
