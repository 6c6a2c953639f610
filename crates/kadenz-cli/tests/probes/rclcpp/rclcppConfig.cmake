# Stands in for ROS 2: the functions that the probe `rclcpp` calls, with the signatures of rclcpp 29.3 and empty bodies.
add_library(rclcpp::rclcpp INTERFACE IMPORTED)
target_include_directories(rclcpp::rclcpp INTERFACE ${CMAKE_CURRENT_LIST_DIR})
set(rclcpp_VERSION 0.0.0)
