//! LCM's datagrams and frames, sans-IO.
