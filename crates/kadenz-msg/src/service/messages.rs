//! The messages of Kadenz's own services, as `lcm/kadenz.lcm` describes them; `kadenz msg gen` writes
//! them, and a test holds them against what it writes.

pub use super::generated::kadenz::{
    CameraFrame, ClockQuery, ClockStamps, Heartbeat, Parameter, ParameterAnswer, ParameterQuery,
    ParameterValue, Reply, ReplyView, Request, RequestView, TypeAnswer, TypeQuery,
};
