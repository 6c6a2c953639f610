//! The messages of Kadenz's own services, as `lcm/kadenz.lcm` describes them.
//!
//! Longer than 500 lines: it is written in the form of generated code.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::{Fingerprint, Message};

/// A call of a service, published to the channel that bears the service's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// Who asks: a number drawn at random when the client was made. The answer goes to the channel
    /// KADENZ/REPLY/ followed by it as 16 lower-case hexadecimal digits, and to no other.
    pub client: i64,
    /// Which call of this client it is: goes up by one with each.
    pub number: i64,
    /// The member `size`.
    pub size: i32,
    /// The whole encoded message that is asked, with its fingerprint.
    pub payload: Vec<u8>,
}

impl Message for Request {
    const NAME: &'static str = "kadenz.request";
    const FINGERPRINT: Fingerprint = Fingerprint(0xf5ed_5d24_6460_85c1);
    const DESCRIPTION: &'static str = "package kadenz;

struct request
{
    int64_t client;
    int64_t number;
    int32_t size;
    byte payload[size];
}
";

    fn body_length(&self) -> usize {
        20 + self.payload.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Writer::agree("payload", self.payload.len(), "size", i64::from(self.size))?;
        writer.value(self.client)?;
        writer.value(self.number)?;
        writer.value(self.size)?;
        writer.array(&self.payload)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.client = reader.value("client")?;
        self.number = reader.value("number")?;
        self.size = reader.value("size")?;
        let length = Reader::length("payload", i64::from(self.size))?;
        reader.vector("payload", length, &mut self.payload)?;
        Ok(())
    }
}

/// The one answer to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// Who asked.
    pub client: i64,
    /// Which call it answers.
    pub number: i64,
    /// Who answers: a number drawn at random when the server was made, so that a restart shows.
    pub server: i64,
    /// Whether there is no answer but a reason.
    pub refused: bool,
    /// Why it was refused; empty where it was not.
    pub reason: String,
    /// The member `size`.
    pub size: i32,
    /// The whole encoded message that answers, with its fingerprint; nothing where it was refused.
    pub payload: Vec<u8>,
}

impl Message for Reply {
    const NAME: &'static str = "kadenz.reply";
    const FINGERPRINT: Fingerprint = Fingerprint(0xb676_673a_4cbe_2991);
    const DESCRIPTION: &'static str = "package kadenz;

struct reply
{
    int64_t client;
    int64_t number;
    int64_t server;
    boolean refused;
    string reason;
    int32_t size;
    byte payload[size];
}
";

    fn body_length(&self) -> usize {
        34 + self.reason.len() + self.payload.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Writer::agree("payload", self.payload.len(), "size", i64::from(self.size))?;
        writer.value(self.client)?;
        writer.value(self.number)?;
        writer.value(self.server)?;
        writer.value(self.refused)?;
        writer.string("reason", &self.reason)?;
        writer.value(self.size)?;
        writer.array(&self.payload)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.client = reader.value("client")?;
        self.number = reader.value("number")?;
        self.server = reader.value("server")?;
        self.refused = reader.value("refused")?;
        reader.string("reason", &mut self.reason)?;
        self.size = reader.value("size")?;
        let length = Reader::length("payload", i64::from(self.size))?;
        reader.vector("payload", length, &mut self.payload)?;
        Ok(())
    }
}

/// A sign of life, published to KADENZ/HEARTBEAT.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heartbeat {
    /// Drawn at random at each start, so that a restart shows.
    pub instance: i64,
    /// Counts this instance's beats from 0.
    pub number: i64,
    /// When this instance started, microseconds since 1970 by its own clock.
    pub started_us: i64,
    /// When the next beat is to be expected, in microseconds from this one.
    pub interval_us: i64,
    /// Which program it is; one name, one program.
    pub name: String,
    /// What it says of itself; may be empty.
    pub state: String,
}

impl Message for Heartbeat {
    const NAME: &'static str = "kadenz.heartbeat";
    const FINGERPRINT: Fingerprint = Fingerprint(0x5ef0_96ed_44fb_c099);
    const DESCRIPTION: &'static str = "package kadenz;

struct heartbeat
{
    int64_t instance;
    int64_t number;
    int64_t started_us;
    int64_t interval_us;
    string name;
    string state;
}
";

    fn body_length(&self) -> usize {
        42 + self.name.len() + self.state.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.instance)?;
        writer.value(self.number)?;
        writer.value(self.started_us)?;
        writer.value(self.interval_us)?;
        writer.string("name", &self.name)?;
        writer.string("state", &self.state)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.instance = reader.value("instance")?;
        self.number = reader.value("number")?;
        self.started_us = reader.value("started_us")?;
        self.interval_us = reader.value("interval_us")?;
        reader.string("name", &mut self.name)?;
        reader.string("state", &mut self.state)?;
        Ok(())
    }
}

/// Asks for the time of a host, by the service KADENZ/CLOCK/ followed by the host's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockQuery {
    /// When it was sent, in nanoseconds of the asker's monotonic clock; for whoever looks at a log.
    pub sent_ns: i64,
}

impl Message for ClockQuery {
    const NAME: &'static str = "kadenz.clock_query";
    const FINGERPRINT: Fingerprint = Fingerprint(0xa072_a330_ba52_7458);
    const DESCRIPTION: &'static str = "package kadenz;

struct clock_query
{
    int64_t sent_ns;
}
";

    fn body_length(&self) -> usize {
        8
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.sent_ns)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.sent_ns = reader.value("sent_ns")?;
        Ok(())
    }
}

/// The times of a host: two stamps of each of its clocks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockStamps {
    /// When the query had come, in nanoseconds of the monotonic clock.
    pub received_monotonic_ns: i64,
    /// When this answer was made.
    pub sent_monotonic_ns: i64,
    /// When the query had come, in nanoseconds since 1970.
    pub received_wall_ns: i64,
    /// When this answer was made.
    pub sent_wall_ns: i64,
}

impl Message for ClockStamps {
    const NAME: &'static str = "kadenz.clock_stamps";
    const FINGERPRINT: Fingerprint = Fingerprint(0x53c6_16c7_2e76_05b7);
    const DESCRIPTION: &'static str = "package kadenz;

struct clock_stamps
{
    int64_t received_monotonic_ns;
    int64_t sent_monotonic_ns;
    int64_t received_wall_ns;
    int64_t sent_wall_ns;
}
";

    fn body_length(&self) -> usize {
        32
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.received_monotonic_ns)?;
        writer.value(self.sent_monotonic_ns)?;
        writer.value(self.received_wall_ns)?;
        writer.value(self.sent_wall_ns)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.received_monotonic_ns = reader.value("received_monotonic_ns")?;
        self.sent_monotonic_ns = reader.value("sent_monotonic_ns")?;
        self.received_wall_ns = reader.value("received_wall_ns")?;
        self.sent_wall_ns = reader.value("sent_wall_ns")?;
        Ok(())
    }
}

/// A value of one of four kinds; the members of the other kinds are zero or empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterValue {
    /// Which kind it is.
    pub kind: i8,
    /// The member `truth`.
    pub truth: bool,
    /// The member `integer`.
    pub integer: i64,
    /// The member `number`.
    pub number: f64,
    /// The member `text`.
    pub text: String,
}

impl ParameterValue {
    /// There is none.
    pub const NOTHING: i8 = 0;
    /// It is in truth.
    pub const TRUTH: i8 = 1;
    /// It is in integer.
    pub const INTEGER: i8 = 2;
    /// It is in number.
    pub const NUMBER: i8 = 3;
    /// It is in text.
    pub const TEXT: i8 = 4;
}

impl Message for ParameterValue {
    const NAME: &'static str = "kadenz.parameter_value";
    const FINGERPRINT: Fingerprint = Fingerprint(0xb3e3_35c4_acd3_610e);
    const DESCRIPTION: &'static str = "package kadenz;

struct parameter_value
{
    const int8_t NOTHING = 0;
    const int8_t TRUTH = 1;
    const int8_t INTEGER = 2;
    const int8_t NUMBER = 3;
    const int8_t TEXT = 4;
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        23 + self.text.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.kind)?;
        writer.value(self.truth)?;
        writer.value(self.integer)?;
        writer.value(self.number)?;
        writer.string("text", &self.text)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.kind = reader.value("kind")?;
        self.truth = reader.value("truth")?;
        self.integer = reader.value("integer")?;
        self.number = reader.value("number")?;
        reader.string("text", &mut self.text)?;
        Ok(())
    }
}

/// A named value of a program, and what it may be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameter {
    /// The member `name`.
    pub name: String,
    /// What it is for, and its unit.
    pub description: String,
    /// The member `value`.
    pub value: ParameterValue,
    /// The least it may be; of a text, an integer of bytes. Nothing where there is no limit.
    pub least: ParameterValue,
    /// The most it may be; of a text, an integer of bytes. Nothing where there is no limit.
    pub most: ParameterValue,
}

impl Message for Parameter {
    const NAME: &'static str = "kadenz.parameter";
    const FINGERPRINT: Fingerprint = Fingerprint(0xf72d_abc1_0d65_1998);
    const DESCRIPTION: &'static str = "package kadenz;

struct parameter
{
    string name;
    string description;
    kadenz.parameter_value value;
    kadenz.parameter_value least;
    kadenz.parameter_value most;
}

struct parameter_value
{
    const int8_t NOTHING = 0;
    const int8_t TRUTH = 1;
    const int8_t INTEGER = 2;
    const int8_t NUMBER = 3;
    const int8_t TEXT = 4;
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        10 + self.name.len()
            + self.description.len()
            + self.value.body_length()
            + self.least.body_length()
            + self.most.body_length()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.string("name", &self.name)?;
        writer.string("description", &self.description)?;
        self.value.encode_body(writer)?;
        self.least.encode_body(writer)?;
        self.most.encode_body(writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        reader.string("name", &mut self.name)?;
        reader.string("description", &mut self.description)?;
        self.value.decode_body(reader)?;
        self.least.decode_body(reader)?;
        self.most.decode_body(reader)?;
        Ok(())
    }
}

/// Asks a program for its parameters, by the service KADENZ/PARAMETERS/ followed by the program's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterQuery {
    /// The member `action`.
    pub action: i8,
    /// The member `first`.
    pub first: i32,
    /// The member `name`.
    pub name: String,
    /// The member `value`.
    pub value: ParameterValue,
}

impl ParameterQuery {
    /// Tell some, from the one that first counts from 0, in the order of their names.
    pub const LIST: i8 = 0;
    /// Tell the one of that name.
    pub const GET: i8 = 1;
    /// Give the one of that name that value.
    pub const SET: i8 = 2;
}

impl Message for ParameterQuery {
    const NAME: &'static str = "kadenz.parameter_query";
    const FINGERPRINT: Fingerprint = Fingerprint(0xdb79_3bd0_79c8_be7a);
    const DESCRIPTION: &'static str = "package kadenz;

struct parameter_query
{
    const int8_t LIST = 0;
    const int8_t GET = 1;
    const int8_t SET = 2;
    int8_t action;
    int32_t first;
    string name;
    kadenz.parameter_value value;
}

struct parameter_value
{
    const int8_t NOTHING = 0;
    const int8_t TRUTH = 1;
    const int8_t INTEGER = 2;
    const int8_t NUMBER = 3;
    const int8_t TEXT = 4;
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        10 + self.name.len() + self.value.body_length()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.action)?;
        writer.value(self.first)?;
        writer.string("name", &self.name)?;
        self.value.encode_body(writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.action = reader.value("action")?;
        self.first = reader.value("first")?;
        reader.string("name", &mut self.name)?;
        self.value.decode_body(reader)?;
        Ok(())
    }
}

/// Parameters as they are now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterAnswer {
    /// How many there are in all.
    pub total: i32,
    /// The member `count`.
    pub count: i32,
    /// The member `parameters`.
    pub parameters: Vec<Parameter>,
}

impl Message for ParameterAnswer {
    const NAME: &'static str = "kadenz.parameter_answer";
    const FINGERPRINT: Fingerprint = Fingerprint(0xeba6_f637_98cc_04d3);
    const DESCRIPTION: &'static str = "package kadenz;

struct parameter_answer
{
    int32_t total;
    int32_t count;
    kadenz.parameter parameters[count];
}

struct parameter
{
    string name;
    string description;
    kadenz.parameter_value value;
    kadenz.parameter_value least;
    kadenz.parameter_value most;
}

struct parameter_value
{
    const int8_t NOTHING = 0;
    const int8_t TRUTH = 1;
    const int8_t INTEGER = 2;
    const int8_t NUMBER = 3;
    const int8_t TEXT = 4;
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        8 + self
            .parameters
            .iter()
            .map(Message::body_length)
            .sum::<usize>()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Writer::agree(
            "parameters",
            self.parameters.len(),
            "count",
            i64::from(self.count),
        )?;
        writer.value(self.total)?;
        writer.value(self.count)?;
        for it in &self.parameters {
            it.encode_body(writer)?;
        }
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.total = reader.value("total")?;
        self.count = reader.value("count")?;
        let length = Reader::length("parameters", i64::from(self.count))?;
        self.parameters.truncate(length);
        for at in 0..length {
            if at == self.parameters.len() {
                self.parameters.push(Default::default());
            }
            self.parameters[at].decode_body(reader)?;
        }
        Ok(())
    }
}

/// Asks, on KADENZ/TYPES/ASK, what a fingerprint describes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeQuery {
    /// The member `fingerprint`.
    pub fingerprint: i64,
}

impl Message for TypeQuery {
    const NAME: &'static str = "kadenz.type_query";
    const FINGERPRINT: Fingerprint = Fingerprint(0x979f_9490_703b_d185);
    const DESCRIPTION: &'static str = "package kadenz;

struct type_query
{
    int64_t fingerprint;
}
";

    fn body_length(&self) -> usize {
        8
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.fingerprint)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.fingerprint = reader.value("fingerprint")?;
        Ok(())
    }
}

/// Tells, on KADENZ/TYPES/TELL, what a fingerprint describes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeAnswer {
    /// The member `fingerprint`.
    pub fingerprint: i64,
    /// The full name of the type, as package.type.
    pub name: String,
    /// Its description and that of all types it is made of, as .lcm.
    pub text: String,
}

impl Message for TypeAnswer {
    const NAME: &'static str = "kadenz.type_answer";
    const FINGERPRINT: Fingerprint = Fingerprint(0x4697_c126_79e9_9e8f);
    const DESCRIPTION: &'static str = "package kadenz;

struct type_answer
{
    int64_t fingerprint;
    string name;
    string text;
}
";

    fn body_length(&self) -> usize {
        18 + self.name.len() + self.text.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.fingerprint)?;
        writer.string("name", &self.name)?;
        writer.string("text", &self.text)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.fingerprint = reader.value("fingerprint")?;
        reader.string("name", &mut self.name)?;
        reader.string("text", &mut self.text)?;
        Ok(())
    }
}
