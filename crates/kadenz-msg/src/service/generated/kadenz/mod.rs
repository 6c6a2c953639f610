// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages of the package `kadenz`.

/// A new frame of a camera, whose pixels lie in shared memory of the host that says so: the slot of a ring of frames, as
/// docs/camera-ring.md describes it. They stay there until so many more frames came as the ring has slots.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CameraFrame {
    /// When it was taken, or else when its first byte came, in microseconds since 1970.
    pub utime: i64,
    /// The same, in nanoseconds of the host's monotonic clock, as in the ring.
    pub begin_ns: i64,
    /// When it was published in the ring.
    pub published_ns: i64,
    /// Its number since the server's start, lost ones counted.
    pub number: i64,
    /// The camera's name.
    pub camera: String,
    /// The ring's file in /dev/shm.
    pub ring: String,
    /// When the ring was made: one of the same name with another is a later one.
    pub generation: i64,
    /// Its count in the ring: half the sequence of its slot while it is there.
    pub count: i64,
    /// Its slot in the ring.
    pub slot: i32,
    /// How its pixels lie, as rgb-column-major.
    pub layout: String,
    /// Pixels.
    pub width: i32,
    /// `int32_t height`
    pub height: i32,
    /// 1 or 3.
    pub channels: i32,
    /// Bytes.
    pub size: i64,
}

impl crate::message::Message for CameraFrame {
    const NAME: &'static str = "kadenz.camera_frame";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0x37f0555ec9dc1135);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// A new frame of a camera, whose pixels lie in shared memory of the host that says so: the slot of a ring of frames, as
// docs/camera-ring.md describes it. They stay there until so many more frames came as the ring has slots.
struct camera_frame {
    // When it was taken, or else when its first byte came, in microseconds since 1970.
    int64_t utime;
    // The same, in nanoseconds of the host's monotonic clock, as in the ring.
    int64_t begin_ns;
    // When it was published in the ring.
    int64_t published_ns;
    // Its number since the server's start, lost ones counted.
    int64_t number;
    // The camera's name.
    string camera;
    // The ring's file in /dev/shm.
    string ring;
    // When the ring was made: one of the same name with another is a later one.
    int64_t generation;
    // Its count in the ring: half the sequence of its slot while it is there.
    int64_t count;
    // Its slot in the ring.
    int32_t slot;
    // How its pixels lie, as rgb-column-major.
    string layout;
    // Pixels.
    int32_t width;
    int32_t height;
    // 1 or 3.
    int32_t channels;
    // Bytes.
    int64_t size;
}
";

    fn body_length(&self) -> usize {
        let mut length = 72;
        length += 5 + self.camera.len();
        length += 5 + self.ring.len();
        length += 5 + self.layout.len();
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.utime)?;
        writer.value(self.begin_ns)?;
        writer.value(self.published_ns)?;
        writer.value(self.number)?;
        writer.string("camera", &self.camera)?;
        writer.string("ring", &self.ring)?;
        writer.value(self.generation)?;
        writer.value(self.count)?;
        writer.value(self.slot)?;
        writer.string("layout", &self.layout)?;
        writer.value(self.width)?;
        writer.value(self.height)?;
        writer.value(self.channels)?;
        writer.value(self.size)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.utime = reader.value("utime")?;
        self.begin_ns = reader.value("begin_ns")?;
        self.published_ns = reader.value("published_ns")?;
        self.number = reader.value("number")?;
        reader.string("camera", &mut self.camera)?;
        reader.string("ring", &mut self.ring)?;
        self.generation = reader.value("generation")?;
        self.count = reader.value("count")?;
        self.slot = reader.value("slot")?;
        reader.string("layout", &mut self.layout)?;
        self.width = reader.value("width")?;
        self.height = reader.value("height")?;
        self.channels = reader.value("channels")?;
        self.size = reader.value("size")?;
        Ok(())
    }
}

/// Asks for the time of a host, by the service KADENZ/CLOCK/ followed by the host's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockQuery {
    /// When it was sent, in nanoseconds of the client's monotonic clock; for readers of a log.
    pub sent_ns: i64,
}

impl crate::message::Message for ClockQuery {
    const NAME: &'static str = "kadenz.clock_query";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xa072a330ba527458);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// Asks for the time of a host, by the service KADENZ/CLOCK/ followed by the host's name.
struct clock_query {
    // When it was sent, in nanoseconds of the client's monotonic clock; for readers of a log.
    int64_t sent_ns;
}
";

    fn body_length(&self) -> usize {
        8
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.sent_ns)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
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

impl crate::message::Message for ClockStamps {
    const NAME: &'static str = "kadenz.clock_stamps";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0x53c616c72e7605b7);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// The times of a host: two stamps of each of its clocks.
struct clock_stamps {
    // When the query had come, in nanoseconds of the monotonic clock.
    int64_t received_monotonic_ns;
    // When this answer was made.
    int64_t sent_monotonic_ns;
    // When the query had come, in nanoseconds since 1970.
    int64_t received_wall_ns;
    // When this answer was made.
    int64_t sent_wall_ns;
}
";

    fn body_length(&self) -> usize {
        32
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.received_monotonic_ns)?;
        writer.value(self.sent_monotonic_ns)?;
        writer.value(self.received_wall_ns)?;
        writer.value(self.sent_wall_ns)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.received_monotonic_ns = reader.value("received_monotonic_ns")?;
        self.sent_monotonic_ns = reader.value("sent_monotonic_ns")?;
        self.received_wall_ns = reader.value("received_wall_ns")?;
        self.sent_wall_ns = reader.value("sent_wall_ns")?;
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

impl crate::message::Message for Heartbeat {
    const NAME: &'static str = "kadenz.heartbeat";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0x5ef096ed44fbc099);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// A sign of life, published to KADENZ/HEARTBEAT.
struct heartbeat {
    // Drawn at random at each start, so that a restart shows.
    int64_t instance;
    // Counts this instance's beats from 0.
    int64_t number;
    // When this instance started, microseconds since 1970 by its own clock.
    int64_t started_us;
    // When the next beat is to be expected, in microseconds from this one.
    int64_t interval_us;
    // Which program it is; one name, one program.
    string name;
    // What it says of itself; may be empty.
    string state;
}
";

    fn body_length(&self) -> usize {
        let mut length = 32;
        length += 5 + self.name.len();
        length += 5 + self.state.len();
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.instance)?;
        writer.value(self.number)?;
        writer.value(self.started_us)?;
        writer.value(self.interval_us)?;
        writer.string("name", &self.name)?;
        writer.string("state", &self.state)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.instance = reader.value("instance")?;
        self.number = reader.value("number")?;
        self.started_us = reader.value("started_us")?;
        self.interval_us = reader.value("interval_us")?;
        reader.string("name", &mut self.name)?;
        reader.string("state", &mut self.state)?;
        Ok(())
    }
}

/// A named value of a program, and what it may be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameter {
    /// `string name`
    pub name: String,
    /// What it is for, and its unit.
    pub description: String,
    /// `kadenz.parameter_value value`
    pub value: ParameterValue,
    /// The least it may be; of a text, an integer of bytes. Nothing where there is no limit.
    pub least: ParameterValue,
    /// The most it may be; of a text, an integer of bytes. Nothing where there is no limit.
    pub most: ParameterValue,
}

impl crate::message::Message for Parameter {
    const NAME: &'static str = "kadenz.parameter";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xf72dabc10d651998);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// A named value of a program, and what it may be.
struct parameter {
    string name;
    // What it is for, and its unit.
    string description;
    kadenz.parameter_value value;
    // The least it may be; of a text, an integer of bytes. Nothing where there is no limit.
    kadenz.parameter_value least;
    // The most it may be; of a text, an integer of bytes. Nothing where there is no limit.
    kadenz.parameter_value most;
}

// A value of one of four kinds; the members of the other kinds are zero or empty.
struct parameter_value {
    // There is none.
    const int8_t NOTHING = 0;
    // It is in truth.
    const int8_t TRUTH = 1;
    // It is in integer.
    const int8_t INTEGER = 2;
    // It is in number.
    const int8_t NUMBER = 3;
    // It is in text.
    const int8_t TEXT = 4;
    // Which kind it is.
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        let mut length = 0;
        length += 5 + self.name.len();
        length += 5 + self.description.len();
        length += crate::message::Message::body_length(&self.value);
        length += crate::message::Message::body_length(&self.least);
        length += crate::message::Message::body_length(&self.most);
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.string("name", &self.name)?;
        writer.string("description", &self.description)?;
        crate::message::Message::encode_body(&self.value, writer)?;
        crate::message::Message::encode_body(&self.least, writer)?;
        crate::message::Message::encode_body(&self.most, writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        reader.string("name", &mut self.name)?;
        reader.string("description", &mut self.description)?;
        crate::message::Message::decode_body(&mut self.value, reader)?;
        crate::message::Message::decode_body(&mut self.least, reader)?;
        crate::message::Message::decode_body(&mut self.most, reader)?;
        Ok(())
    }
}

/// Parameters as they are now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterAnswer {
    /// How many there are in all.
    pub total: i32,
    /// `int32_t count`
    pub count: i32,
    /// `kadenz.parameter[count] parameters`
    pub parameters: Vec<Parameter>,
}

impl crate::message::Message for ParameterAnswer {
    const NAME: &'static str = "kadenz.parameter_answer";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xeba6f63798cc04d3);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// Parameters as they are now.
struct parameter_answer {
    // How many there are in all.
    int32_t total;
    int32_t count;
    kadenz.parameter parameters[count];
}

// A named value of a program, and what it may be.
struct parameter {
    string name;
    // What it is for, and its unit.
    string description;
    kadenz.parameter_value value;
    // The least it may be; of a text, an integer of bytes. Nothing where there is no limit.
    kadenz.parameter_value least;
    // The most it may be; of a text, an integer of bytes. Nothing where there is no limit.
    kadenz.parameter_value most;
}

// A value of one of four kinds; the members of the other kinds are zero or empty.
struct parameter_value {
    // There is none.
    const int8_t NOTHING = 0;
    // It is in truth.
    const int8_t TRUTH = 1;
    // It is in integer.
    const int8_t INTEGER = 2;
    // It is in number.
    const int8_t NUMBER = 3;
    // It is in text.
    const int8_t TEXT = 4;
    // Which kind it is.
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        let mut length = 8;
        length += crate::codec::length(&self.parameters);
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.total)?;
        writer.value(self.count)?;
        writer.list("parameters", &self.parameters, &[("count", i64::from(self.count))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.total = reader.value("total")?;
        self.count = reader.value("count")?;
        reader.list("parameters", &mut self.parameters, &[i64::from(self.count)], 79)?;
        Ok(())
    }
}

/// Asks a program for its parameters, by the service KADENZ/PARAMETERS/ followed by the program's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterQuery {
    /// `int8_t action`
    pub action: i8,
    /// `int32_t first`
    pub first: i32,
    /// `string name`
    pub name: String,
    /// `kadenz.parameter_value value`
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

impl crate::message::Message for ParameterQuery {
    const NAME: &'static str = "kadenz.parameter_query";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xdb793bd079c8be7a);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// Asks a program for its parameters, by the service KADENZ/PARAMETERS/ followed by the program's name.
struct parameter_query {
    // Tell some, from the one that first counts from 0, in the order of their names.
    const int8_t LIST = 0;
    // Tell the one of that name.
    const int8_t GET = 1;
    // Give the one of that name that value.
    const int8_t SET = 2;
    int8_t action;
    int32_t first;
    string name;
    kadenz.parameter_value value;
}

// A value of one of four kinds; the members of the other kinds are zero or empty.
struct parameter_value {
    // There is none.
    const int8_t NOTHING = 0;
    // It is in truth.
    const int8_t TRUTH = 1;
    // It is in integer.
    const int8_t INTEGER = 2;
    // It is in number.
    const int8_t NUMBER = 3;
    // It is in text.
    const int8_t TEXT = 4;
    // Which kind it is.
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        let mut length = 5;
        length += 5 + self.name.len();
        length += crate::message::Message::body_length(&self.value);
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.action)?;
        writer.value(self.first)?;
        writer.string("name", &self.name)?;
        crate::message::Message::encode_body(&self.value, writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.action = reader.value("action")?;
        self.first = reader.value("first")?;
        reader.string("name", &mut self.name)?;
        crate::message::Message::decode_body(&mut self.value, reader)?;
        Ok(())
    }
}

/// A value of one of four kinds; the members of the other kinds are zero or empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterValue {
    /// Which kind it is.
    pub kind: i8,
    /// `boolean truth`
    pub truth: bool,
    /// `int64_t integer`
    pub integer: i64,
    /// `double number`
    pub number: f64,
    /// `string text`
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

impl crate::message::Message for ParameterValue {
    const NAME: &'static str = "kadenz.parameter_value";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xb3e335c4acd3610e);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// A value of one of four kinds; the members of the other kinds are zero or empty.
struct parameter_value {
    // There is none.
    const int8_t NOTHING = 0;
    // It is in truth.
    const int8_t TRUTH = 1;
    // It is in integer.
    const int8_t INTEGER = 2;
    // It is in number.
    const int8_t NUMBER = 3;
    // It is in text.
    const int8_t TEXT = 4;
    // Which kind it is.
    int8_t kind;
    boolean truth;
    int64_t integer;
    double number;
    string text;
}
";

    fn body_length(&self) -> usize {
        let mut length = 18;
        length += 5 + self.text.len();
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.kind)?;
        writer.value(self.truth)?;
        writer.value(self.integer)?;
        writer.value(self.number)?;
        writer.string("text", &self.text)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.kind = reader.value("kind")?;
        self.truth = reader.value("truth")?;
        self.integer = reader.value("integer")?;
        self.number = reader.value("number")?;
        reader.string("text", &mut self.text)?;
        Ok(())
    }
}

/// The one answer to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The client of the call.
    pub client: i64,
    /// Number of the call.
    pub number: i64,
    /// The server: a number drawn at random when it was created, so a restart is visible.
    pub server: i64,
    /// Whether the server refused the call.
    pub refused: bool,
    /// The reason of a refusal; else empty.
    pub reason: String,
    /// `int32_t size`
    pub size: i32,
    /// The encoded answer, with its fingerprint; empty after a refusal.
    pub payload: Vec<u8>,
}

impl crate::message::Message for Reply {
    const NAME: &'static str = "kadenz.reply";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xb676673a4cbe2991);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// The one answer to a request.
struct reply {
    // The client of the call.
    int64_t client;
    // Number of the call.
    int64_t number;
    // The server: a number drawn at random when it was created, so a restart is visible.
    int64_t server;
    // Whether the server refused the call.
    boolean refused;
    // The reason of a refusal; else empty.
    string reason;
    int32_t size;
    // The encoded answer, with its fingerprint; empty after a refusal.
    byte payload[size];
}
";

    fn body_length(&self) -> usize {
        let mut length = 29;
        length += 5 + self.reason.len();
        length += self.payload.len();
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.client)?;
        writer.value(self.number)?;
        writer.value(self.server)?;
        writer.value(self.refused)?;
        writer.string("reason", &self.reason)?;
        writer.value(self.size)?;
        writer.list("payload", &self.payload, &[("size", i64::from(self.size))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.client = reader.value("client")?;
        self.number = reader.value("number")?;
        self.server = reader.value("server")?;
        self.refused = reader.value("refused")?;
        reader.string("reason", &mut self.reason)?;
        self.size = reader.value("size")?;
        reader.list("payload", &mut self.payload, &[i64::from(self.size)], 1)?;
        Ok(())
    }
}

/// [`Reply`] as it lies in a message: its arrays of numbers, the last index running fastest,
/// and its strings are not copied.
#[derive(Debug, Clone)]
pub struct ReplyView<'a> {
    /// The client of the call.
    pub client: i64,
    /// Number of the call.
    pub number: i64,
    /// The server: a number drawn at random when it was created, so a restart is visible.
    pub server: i64,
    /// Whether the server refused the call.
    pub refused: bool,
    /// The reason of a refusal; else empty.
    pub reason: &'a [u8],
    /// `int32_t size`
    pub size: i32,
    /// The encoded answer, with its fingerprint; empty after a refusal.
    pub payload: crate::codec::View<'a, u8>,
}

impl<'a> ReplyView<'a> {
    /// Looks into a whole message. Allocates only for members that are neither numbers nor strings.
    ///
    /// # Errors
    /// Where the message is of another type, or its bytes do not follow the description.
    pub fn decode(bytes: &'a [u8]) -> crate::codec::DecodeResult<Self> {
        let reader = &mut crate::codec::Reader::new(bytes);
        let name = <Reply as crate::message::Message>::NAME;
        let fingerprint = <Reply as crate::message::Message>::FINGERPRINT;
        reader.fingerprint(fingerprint, name)?;
        let member_client: i64 = reader.value("client")?;
        let member_number: i64 = reader.value("number")?;
        let member_server: i64 = reader.value("server")?;
        let member_refused: bool = reader.value("refused")?;
        let member_reason = reader.text("reason")?;
        let member_size: i32 = reader.value("size")?;
        let length_0 = crate::codec::Reader::length("payload", i64::from(member_size))?;
        let member_payload = reader.view("payload", length_0)?;
        reader.end()?;
        Ok(Self {
            client: member_client,
            number: member_number,
            server: member_server,
            refused: member_refused,
            reason: member_reason,
            size: member_size,
            payload: member_payload,
        })
    }
}

/// A call of a service, published to the channel that bears the service's name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The client: a number drawn at random when it was created. The answer goes to the channel
    /// KADENZ/REPLY/ followed by it as 16 lower-case hexadecimal digits, and to no other.
    pub client: i64,
    /// Number of the call; each call of a client has the next number.
    pub number: i64,
    /// `int32_t size`
    pub size: i32,
    /// The encoded message of the call, with its fingerprint.
    pub payload: Vec<u8>,
}

impl crate::message::Message for Request {
    const NAME: &'static str = "kadenz.request";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0xf5ed5d24646085c1);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// A call of a service, published to the channel that bears the service's name.
struct request {
    // The client: a number drawn at random when it was created. The answer goes to the channel
    // KADENZ/REPLY/ followed by it as 16 lower-case hexadecimal digits, and to no other.
    int64_t client;
    // Number of the call; each call of a client has the next number.
    int64_t number;
    int32_t size;
    // The encoded message of the call, with its fingerprint.
    byte payload[size];
}
";

    fn body_length(&self) -> usize {
        let mut length = 20;
        length += self.payload.len();
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.client)?;
        writer.value(self.number)?;
        writer.value(self.size)?;
        writer.list("payload", &self.payload, &[("size", i64::from(self.size))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.client = reader.value("client")?;
        self.number = reader.value("number")?;
        self.size = reader.value("size")?;
        reader.list("payload", &mut self.payload, &[i64::from(self.size)], 1)?;
        Ok(())
    }
}

/// [`Request`] as it lies in a message: its arrays of numbers, the last index running fastest,
/// and its strings are not copied.
#[derive(Debug, Clone)]
pub struct RequestView<'a> {
    /// The client: a number drawn at random when it was created. The answer goes to the channel
    /// KADENZ/REPLY/ followed by it as 16 lower-case hexadecimal digits, and to no other.
    pub client: i64,
    /// Number of the call; each call of a client has the next number.
    pub number: i64,
    /// `int32_t size`
    pub size: i32,
    /// The encoded message of the call, with its fingerprint.
    pub payload: crate::codec::View<'a, u8>,
}

impl<'a> RequestView<'a> {
    /// Looks into a whole message. Allocates only for members that are neither numbers nor strings.
    ///
    /// # Errors
    /// Where the message is of another type, or its bytes do not follow the description.
    pub fn decode(bytes: &'a [u8]) -> crate::codec::DecodeResult<Self> {
        let reader = &mut crate::codec::Reader::new(bytes);
        let name = <Request as crate::message::Message>::NAME;
        let fingerprint = <Request as crate::message::Message>::FINGERPRINT;
        reader.fingerprint(fingerprint, name)?;
        let member_client: i64 = reader.value("client")?;
        let member_number: i64 = reader.value("number")?;
        let member_size: i32 = reader.value("size")?;
        let length_0 = crate::codec::Reader::length("payload", i64::from(member_size))?;
        let member_payload = reader.view("payload", length_0)?;
        reader.end()?;
        Ok(Self {
            client: member_client,
            number: member_number,
            size: member_size,
            payload: member_payload,
        })
    }
}

/// Tells, on KADENZ/TYPES/TELL, what a fingerprint describes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeAnswer {
    /// `int64_t fingerprint`
    pub fingerprint: i64,
    /// The full name of the type, as package.type.
    pub name: String,
    /// Its description and that of all types it is made of, as .lcm.
    pub text: String,
}

impl crate::message::Message for TypeAnswer {
    const NAME: &'static str = "kadenz.type_answer";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0x4697c12679e99e8f);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// Tells, on KADENZ/TYPES/TELL, what a fingerprint describes.
struct type_answer {
    int64_t fingerprint;
    // The full name of the type, as package.type.
    string name;
    // Its description and that of all types it is made of, as .lcm.
    string text;
}
";

    fn body_length(&self) -> usize {
        let mut length = 8;
        length += 5 + self.name.len();
        length += 5 + self.text.len();
        length
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.fingerprint)?;
        writer.string("name", &self.name)?;
        writer.string("text", &self.text)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.fingerprint = reader.value("fingerprint")?;
        reader.string("name", &mut self.name)?;
        reader.string("text", &mut self.text)?;
        Ok(())
    }
}

/// Asks, on KADENZ/TYPES/ASK, what a fingerprint describes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeQuery {
    /// `int64_t fingerprint`
    pub fingerprint: i64,
}

impl crate::message::Message for TypeQuery {
    const NAME: &'static str = "kadenz.type_query";
    const FINGERPRINT: crate::message::Fingerprint = crate::message::Fingerprint(0x979f9490703bd185);
    const DESCRIPTION: &'static str =
        r"package kadenz;

// Asks, on KADENZ/TYPES/ASK, what a fingerprint describes.
struct type_query {
    int64_t fingerprint;
}
";

    fn body_length(&self) -> usize {
        8
    }

    fn encode_body(&self, writer: &mut crate::codec::Writer<'_>) -> crate::codec::EncodeResult {
        writer.value(self.fingerprint)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut crate::codec::Reader<'_>) -> crate::codec::DecodeResult {
        self.fingerprint = reader.value("fingerprint")?;
        Ok(())
    }
}
