//! The wire formats of cameras, sans-IO.
