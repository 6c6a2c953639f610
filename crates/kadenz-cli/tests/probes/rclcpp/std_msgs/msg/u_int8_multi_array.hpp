#pragma once
#include <cstdint>
#include <vector>

namespace std_msgs::msg {
struct UInt8MultiArray {
    std::vector<uint8_t> data;
};
}
