//! Logs of messages: LCM's event logs, MCAP, and ROS bags; recording and playing.
