/* ROS 1 by roscpp, over TCP without delay, called back on the thread that waits. URL: the master's,
   as http://127.0.0.1:11311 */
#include "../common/peer.h"
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <std_msgs/UInt8MultiArray.h>

static ros::Publisher publisher;
static ros::Subscriber subscriber;

static ros::NodeHandle *open_node(const char *url, const char *role) {
    setenv("ROS_MASTER_URI", url, 1);
    setenv("ROS_IP", "127.0.0.1", 1);
    std::string name = std::string("peer_") + role + "_" + std::to_string(getpid());
    int argc = 0;
    ros::init(argc, nullptr, name, ros::init_options::NoSigintHandler | ros::init_options::NoRosout);
    if (!ros::master::check()) fprintf(stderr, "roscpp: no master at %s\n", url), exit(2);
    return new ros::NodeHandle; /* it lives as long as the process */
}

static void *open_publisher(const char *url, size_t bytes) {
    publisher = open_node(url, "publisher")->advertise<std_msgs::UInt8MultiArray>("peer", 30);
    auto *message = new std_msgs::UInt8MultiArray;
    message->data.resize(bytes);
    return message;
}

static int publish(void *message, const void *bytes, size_t length) {
    auto *array = static_cast<std_msgs::UInt8MultiArray *>(message);
    memcpy(array->data.data(), bytes, length);
    publisher.publish(*array);
    return 0;
}

static void came(const std_msgs::UInt8MultiArray::ConstPtr &message) {
    peer_heard(message->data.data(), message->data.size());
}

static void *open_subscriber(const char *url, size_t bytes) {
    (void)bytes;
    auto hints = ros::TransportHints().tcpNoDelay();
    subscriber = open_node(url, "subscriber")->subscribe("peer", 30, came, hints);
    return &subscriber;
}

static void receive(void *nothing, int timeout_ms) {
    (void)nothing;
    ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(timeout_ms / 1e3));
}
