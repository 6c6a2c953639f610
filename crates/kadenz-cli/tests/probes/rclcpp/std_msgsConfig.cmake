# Nothing but what rclcppConfig.cmake has.
