//! Code for `.lcm` files in other languages.
