# Empty: rclcppConfig.cmake has all that is needed.
