//! A mutex that lends its owner the priority of whoever waits.
