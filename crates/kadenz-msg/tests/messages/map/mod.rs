// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages of the package `map`.

/// `map.node`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// `int32_t id`
    pub id: i32,
    /// `int8_t n`
    pub n: i8,
    /// `map.node[n] children`
    pub children: Vec<Node>,
}

impl kadenz_msg::message::Message for Node {
    const NAME: &'static str = "map.node";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x2ff92d65f342e0ad);
    const DESCRIPTION: &'static str =
        r"package map;

struct node {
    int32_t id;
    int8_t n;
    map.node children[n];
}
";

    fn body_length(&self) -> usize {
        let mut length = 5;
        length += kadenz_msg::codec::length(&self.children);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.id)?;
        writer.value(self.n)?;
        writer.list("children", &self.children, &[("n", i64::from(self.n))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.enter("map.node")?;
        self.id = reader.value("id")?;
        self.n = reader.value("n")?;
        reader.list("children", &mut self.children, &[i64::from(self.n)], 5)?;
        reader.leave();
        Ok(())
    }
}

/// Three in a ring, with a way back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct One {
    /// `int8_t n`
    pub n: i8,
    /// `map.two[n] twos`
    pub twos: Vec<Two>,
    /// `map.one[n] ones`
    pub ones: Vec<One>,
}

impl kadenz_msg::message::Message for One {
    const NAME: &'static str = "map.one";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x94cd78d3631bbcac);
    const DESCRIPTION: &'static str =
        r"package map;

// Three in a ring, with a way back.
struct one {
    int8_t n;
    map.two twos[n];
    map.one ones[n];
}

struct two {
    int8_t n;
    map.three threes[n];
    map.one ones[n];
}

struct three {
    int8_t n;
    map.one ones[n];
    map.two twos[n];
    string s;
}
";

    fn body_length(&self) -> usize {
        let mut length = 1;
        length += kadenz_msg::codec::length(&self.twos);
        length += kadenz_msg::codec::length(&self.ones);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.n)?;
        writer.list("twos", &self.twos, &[("n", i64::from(self.n))])?;
        writer.list("ones", &self.ones, &[("n", i64::from(self.n))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.enter("map.one")?;
        self.n = reader.value("n")?;
        reader.list("twos", &mut self.twos, &[i64::from(self.n)], 1)?;
        reader.list("ones", &mut self.ones, &[i64::from(self.n)], 1)?;
        reader.leave();
        Ok(())
    }
}

/// `map.path`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path {
    /// `int16_t length`
    pub length: i16,
    /// `map.pose[length] points`
    pub points: Vec<Pose>,
    /// `map.pose[2][2] corners`
    pub corners: [[Pose; 2]; 2],
}

impl kadenz_msg::message::Message for Path {
    const NAME: &'static str = "map.path";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x7eca73ca22b8548b);
    const DESCRIPTION: &'static str =
        r"package map;

struct path {
    int16_t length;
    map.pose points[length];
    map.pose corners[2][2];
}

struct pose {
    double x;
    double y;
    double heading;
}
";

    fn body_length(&self) -> usize {
        let mut length = 98;
        length += self.points.len() * 24;
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.length)?;
        writer.list("points", &self.points, &[("length", i64::from(self.length))])?;
        writer.list("corners", &self.corners, &[])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.length = reader.value("length")?;
        reader.list("points", &mut self.points, &[i64::from(self.length)], 24)?;
        reader.list("corners", &mut self.corners, &[], 0)?;
        Ok(())
    }
}

/// Two that hold each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ping {
    /// `int8_t n`
    pub n: i8,
    /// `map.pong[n] pongs`
    pub pongs: Vec<Pong>,
    /// `int32_t mark`
    pub mark: i32,
}

impl kadenz_msg::message::Message for Ping {
    const NAME: &'static str = "map.ping";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x9c31689846c3dd46);
    const DESCRIPTION: &'static str =
        r"package map;

// Two that hold each other.
struct ping {
    int8_t n;
    map.pong pongs[n];
    int32_t mark;
}

struct pong {
    int8_t n;
    map.ping pings[n];
    robot.primitives load;
}

package robot;

// One of each type that the language brings.
struct primitives {
    // -128 to 127
    int8_t small;
    // -32768 to 32767
    int16_t medium;
    int32_t large;
    int64_t huge;
    // 0 to 255
    byte raw;
    float single;
    double precise;
    string text;
    boolean yes;
}
";

    fn body_length(&self) -> usize {
        let mut length = 5;
        length += kadenz_msg::codec::length(&self.pongs);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.n)?;
        writer.list("pongs", &self.pongs, &[("n", i64::from(self.n))])?;
        writer.value(self.mark)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.enter("map.ping")?;
        self.n = reader.value("n")?;
        reader.list("pongs", &mut self.pongs, &[i64::from(self.n)], 35)?;
        self.mark = reader.value("mark")?;
        reader.leave();
        Ok(())
    }
}

/// `map.pong`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pong {
    /// `int8_t n`
    pub n: i8,
    /// `map.ping[n] pings`
    pub pings: Vec<Ping>,
    /// `robot.primitives load`
    pub load: super::robot::Primitives,
}

impl kadenz_msg::message::Message for Pong {
    const NAME: &'static str = "map.pong";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0xe68a7dcba5eba479);
    const DESCRIPTION: &'static str =
        r"package map;

struct pong {
    int8_t n;
    map.ping pings[n];
    robot.primitives load;
}

// Two that hold each other.
struct ping {
    int8_t n;
    map.pong pongs[n];
    int32_t mark;
}

package robot;

// One of each type that the language brings.
struct primitives {
    // -128 to 127
    int8_t small;
    // -32768 to 32767
    int16_t medium;
    int32_t large;
    int64_t huge;
    // 0 to 255
    byte raw;
    float single;
    double precise;
    string text;
    boolean yes;
}
";

    fn body_length(&self) -> usize {
        let mut length = 1;
        length += kadenz_msg::codec::length(&self.pings);
        length += kadenz_msg::message::Message::body_length(&self.load);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.n)?;
        writer.list("pings", &self.pings, &[("n", i64::from(self.n))])?;
        kadenz_msg::message::Message::encode_body(&self.load, writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.enter("map.pong")?;
        self.n = reader.value("n")?;
        reader.list("pings", &mut self.pings, &[i64::from(self.n)], 5)?;
        kadenz_msg::message::Message::decode_body(&mut self.load, reader)?;
        reader.leave();
        Ok(())
    }
}

/// `map.pose`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pose {
    /// `double x`
    pub x: f64,
    /// `double y`
    pub y: f64,
    /// `double heading`
    pub heading: f64,
}

impl kadenz_msg::message::Message for Pose {
    const NAME: &'static str = "map.pose";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x479f41e1ade43dc7);
    const DESCRIPTION: &'static str =
        r"package map;

struct pose {
    double x;
    double y;
    double heading;
}
";

    fn body_length(&self) -> usize {
        24
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.x)?;
        writer.value(self.y)?;
        writer.value(self.heading)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.x = reader.value("x")?;
        self.y = reader.value("y")?;
        self.heading = reader.value("heading")?;
        Ok(())
    }
}

/// `map.three`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Three {
    /// `int8_t n`
    pub n: i8,
    /// `map.one[n] ones`
    pub ones: Vec<One>,
    /// `map.two[n] twos`
    pub twos: Vec<Two>,
    /// `string s`
    pub s: String,
}

impl kadenz_msg::message::Message for Three {
    const NAME: &'static str = "map.three";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x39e7deac284828b4);
    const DESCRIPTION: &'static str =
        r"package map;

struct three {
    int8_t n;
    map.one ones[n];
    map.two twos[n];
    string s;
}

// Three in a ring, with a way back.
struct one {
    int8_t n;
    map.two twos[n];
    map.one ones[n];
}

struct two {
    int8_t n;
    map.three threes[n];
    map.one ones[n];
}
";

    fn body_length(&self) -> usize {
        let mut length = 1;
        length += kadenz_msg::codec::length(&self.ones);
        length += kadenz_msg::codec::length(&self.twos);
        length += 5 + self.s.len();
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.n)?;
        writer.list("ones", &self.ones, &[("n", i64::from(self.n))])?;
        writer.list("twos", &self.twos, &[("n", i64::from(self.n))])?;
        writer.string("s", &self.s)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.enter("map.three")?;
        self.n = reader.value("n")?;
        reader.list("ones", &mut self.ones, &[i64::from(self.n)], 1)?;
        reader.list("twos", &mut self.twos, &[i64::from(self.n)], 1)?;
        reader.string("s", &mut self.s)?;
        reader.leave();
        Ok(())
    }
}

/// `map.two`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Two {
    /// `int8_t n`
    pub n: i8,
    /// `map.three[n] threes`
    pub threes: Vec<Three>,
    /// `map.one[n] ones`
    pub ones: Vec<One>,
}

impl kadenz_msg::message::Message for Two {
    const NAME: &'static str = "map.two";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0xf844de0036a151b7);
    const DESCRIPTION: &'static str =
        r"package map;

struct two {
    int8_t n;
    map.three threes[n];
    map.one ones[n];
}

struct three {
    int8_t n;
    map.one ones[n];
    map.two twos[n];
    string s;
}

// Three in a ring, with a way back.
struct one {
    int8_t n;
    map.two twos[n];
    map.one ones[n];
}
";

    fn body_length(&self) -> usize {
        let mut length = 1;
        length += kadenz_msg::codec::length(&self.threes);
        length += kadenz_msg::codec::length(&self.ones);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.n)?;
        writer.list("threes", &self.threes, &[("n", i64::from(self.n))])?;
        writer.list("ones", &self.ones, &[("n", i64::from(self.n))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.enter("map.two")?;
        self.n = reader.value("n")?;
        reader.list("threes", &mut self.threes, &[i64::from(self.n)], 6)?;
        reader.list("ones", &mut self.ones, &[i64::from(self.n)], 1)?;
        reader.leave();
        Ok(())
    }
}
