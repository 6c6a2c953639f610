// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages of the package `robot`.

/// `robot.arrays`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arrays {
    /// `double[3] position`
    pub position: [f64; 3],
    /// `double[0x2][3] matrix`
    pub matrix: [[f64; 3]; 2],
    /// `int8_t n`
    pub n: i8,
    /// `int16_t m`
    pub m: i16,
    /// `int32_t[n] samples`
    pub samples: Vec<i32>,
    /// `byte[m][n] image`
    pub image: Vec<Vec<u8>>,
    /// `float[2][n][3] mixed`
    pub mixed: [Vec<[f32; 3]>; 2],
    /// `string[n] names`
    pub names: Vec<String>,
    /// `boolean[2] flags`
    pub flags: [bool; 2],
    /// `string[0x2] labels`
    pub labels: [String; 2],
    /// `int64_t[n][m][2] cube`
    pub cube: Vec<Vec<[i64; 2]>>,
    /// `robot.primitives[n] some`
    pub some: Vec<Primitives>,
    /// `robot.primitives[2] pair`
    pub pair: [Primitives; 2],
    /// `string[2][m] table`
    pub table: [Vec<String>; 2],
}

impl Arrays {
    /// `const int32_t AXES`
    pub const AXES: i32 = 3;

    /// `const int32_t ROWS`
    pub const ROWS: i32 = 2;

    /// `const double GRAVITY`
    pub const GRAVITY: f64 = 9.80665;

    /// `const double TINY`
    pub const TINY: f64 = -0.0015;

    /// `const int64_t MASK`
    pub const MASK: i64 = 4042322160;

    /// `const float HALF`
    pub const HALF: f32 = 0.5;

    /// `const int8_t LEAST`
    pub const LEAST: i8 = -128;
}

impl kadenz_msg::message::Message for Arrays {
    const NAME: &'static str = "robot.arrays";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x0fd0e073fc20b16e);
    const DESCRIPTION: &'static str =
        r"package robot;

struct arrays {
    const int32_t AXES = 3;
    const int32_t ROWS = 0x2;
    const double GRAVITY = 9.80665;
    const double TINY = -1.5e-3;
    const int64_t MASK = 0xf0f0f0f0;
    const float HALF = .5;
    const int8_t LEAST = -128;
    double position[3];
    double matrix[0x2][3];
    int8_t n;
    int16_t m;
    int32_t samples[n];
    byte image[m][n];
    float mixed[2][n][3];
    string names[n];
    boolean flags[2];
    string labels[0x2];
    int64_t cube[n][m][2];
    robot.primitives some[n];
    robot.primitives pair[2];
    string table[2][m];
}

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
        let mut length = 77;
        length += self.samples.len() * 4;
        length += kadenz_msg::codec::length(&self.image);
        length += kadenz_msg::codec::length(&self.mixed);
        length += kadenz_msg::codec::length(&self.names);
        length += kadenz_msg::codec::length(&self.labels);
        length += kadenz_msg::codec::length(&self.cube);
        length += kadenz_msg::codec::length(&self.some);
        length += kadenz_msg::codec::length(&self.pair);
        length += kadenz_msg::codec::length(&self.table);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.array(&self.position)?;
        writer.list("matrix", &self.matrix, &[])?;
        writer.value(self.n)?;
        writer.value(self.m)?;
        writer.list("samples", &self.samples, &[("n", i64::from(self.n))])?;
        writer.list("image", &self.image, &[("m", i64::from(self.m)), ("n", i64::from(self.n))])?;
        writer.list("mixed", &self.mixed, &[("n", i64::from(self.n))])?;
        writer.list("names", &self.names, &[("n", i64::from(self.n))])?;
        writer.array(&self.flags)?;
        writer.list("labels", &self.labels, &[])?;
        writer.list("cube", &self.cube, &[("n", i64::from(self.n)), ("m", i64::from(self.m))])?;
        writer.list("some", &self.some, &[("n", i64::from(self.n))])?;
        writer.list("pair", &self.pair, &[])?;
        writer.list("table", &self.table, &[("m", i64::from(self.m))])?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        reader.array("position", &mut self.position)?;
        reader.list("matrix", &mut self.matrix, &[], 0)?;
        self.n = reader.value("n")?;
        self.m = reader.value("m")?;
        reader.list("samples", &mut self.samples, &[i64::from(self.n)], 4)?;
        reader.list("image", &mut self.image, &[i64::from(self.m), i64::from(self.n)], 1)?;
        reader.list("mixed", &mut self.mixed, &[2, i64::from(self.n), 3], 4)?;
        reader.list("names", &mut self.names, &[i64::from(self.n)], 5)?;
        reader.array("flags", &mut self.flags)?;
        reader.list("labels", &mut self.labels, &[], 0)?;
        reader.list("cube", &mut self.cube, &[i64::from(self.n), i64::from(self.m), 2], 8)?;
        reader.list("some", &mut self.some, &[i64::from(self.n)], 34)?;
        reader.list("pair", &mut self.pair, &[], 0)?;
        reader.list("table", &mut self.table, &[2, i64::from(self.m)], 5)?;
        Ok(())
    }
}

/// [`Arrays`] as it lies in a message: its arrays of numbers, the last index running fastest,
/// and its strings are not copied.
#[derive(Debug, Clone)]
pub struct ArraysView<'a> {
    /// `double[3] position`
    pub position: kadenz_msg::codec::View<'a, f64>,
    /// `double[0x2][3] matrix`
    pub matrix: kadenz_msg::codec::View<'a, f64>,
    /// `int8_t n`
    pub n: i8,
    /// `int16_t m`
    pub m: i16,
    /// `int32_t[n] samples`
    pub samples: kadenz_msg::codec::View<'a, i32>,
    /// `byte[m][n] image`
    pub image: kadenz_msg::codec::View<'a, u8>,
    /// `float[2][n][3] mixed`
    pub mixed: kadenz_msg::codec::View<'a, f32>,
    /// `string[n] names`
    pub names: Vec<String>,
    /// `boolean[2] flags`
    pub flags: kadenz_msg::codec::View<'a, bool>,
    /// `string[0x2] labels`
    pub labels: [String; 2],
    /// `int64_t[n][m][2] cube`
    pub cube: kadenz_msg::codec::View<'a, i64>,
    /// `robot.primitives[n] some`
    pub some: Vec<Primitives>,
    /// `robot.primitives[2] pair`
    pub pair: [Primitives; 2],
    /// `string[2][m] table`
    pub table: [Vec<String>; 2],
}

impl<'a> ArraysView<'a> {
    /// Looks into a whole message. Allocates only for members that are neither numbers nor strings.
    ///
    /// # Errors
    /// Where the message is of another type, or its bytes do not follow the description.
    pub fn decode(bytes: &'a [u8]) -> kadenz_msg::codec::DecodeResult<Self> {
        let reader = &mut kadenz_msg::codec::Reader::new(bytes);
        let name = <Arrays as kadenz_msg::message::Message>::NAME;
        let fingerprint = <Arrays as kadenz_msg::message::Message>::FINGERPRINT;
        reader.fingerprint(fingerprint, name)?;
        let member_position = reader.view("position", 3_usize)?;
        let member_matrix = reader.view("matrix", 2_usize.saturating_mul(3_usize))?;
        let member_n: i8 = reader.value("n")?;
        let member_m: i16 = reader.value("m")?;
        let length_0 = kadenz_msg::codec::Reader::length("samples", i64::from(member_n))?;
        let member_samples = reader.view("samples", length_0)?;
        let length_0 = kadenz_msg::codec::Reader::length("image", i64::from(member_m))?;
        let length_1 = kadenz_msg::codec::Reader::length("image", i64::from(member_n))?;
        let member_image = reader.view("image", length_0.saturating_mul(length_1))?;
        let length_1 = kadenz_msg::codec::Reader::length("mixed", i64::from(member_n))?;
        let member_mixed = reader.view("mixed", 2_usize.saturating_mul(length_1).saturating_mul(3_usize))?;
        let mut member_names: Vec<String> = Vec::new();
        reader.list("names", &mut member_names, &[i64::from(member_n)], 5)?;
        let member_flags = reader.view("flags", 2_usize)?;
        let mut member_labels: [String; 2] = ::std::array::from_fn(|_| String::new());
        reader.list("labels", &mut member_labels, &[], 0)?;
        let length_0 = kadenz_msg::codec::Reader::length("cube", i64::from(member_n))?;
        let length_1 = kadenz_msg::codec::Reader::length("cube", i64::from(member_m))?;
        let member_cube = reader.view("cube", length_0.saturating_mul(length_1).saturating_mul(2_usize))?;
        let mut member_some: Vec<Primitives> = Vec::new();
        reader.list("some", &mut member_some, &[i64::from(member_n)], 34)?;
        let mut member_pair: [Primitives; 2] = ::std::array::from_fn(|_| Default::default());
        reader.list("pair", &mut member_pair, &[], 0)?;
        let mut member_table: [Vec<String>; 2] = ::std::array::from_fn(|_| Vec::new());
        reader.list("table", &mut member_table, &[2, i64::from(member_m)], 5)?;
        reader.end()?;
        Ok(Self {
            position: member_position,
            matrix: member_matrix,
            n: member_n,
            m: member_m,
            samples: member_samples,
            image: member_image,
            mixed: member_mixed,
            names: member_names,
            flags: member_flags,
            labels: member_labels,
            cube: member_cube,
            some: member_some,
            pair: member_pair,
            table: member_table,
        })
    }
}

/// Deprecated, and still in use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default,
)]
pub struct Mode(
    /// What is sent: one of the constants, or what a newer sender knows.
    pub i32,
);

impl Mode {
    /// `OFF = 0`
    pub const OFF: Self = Self(0);

    /// `IDLE = 1`
    pub const IDLE: Self = Self(1);

    /// `MOVING = 7`
    pub const MOVING: Self = Self(7);

    /// `FAULT = -1`
    pub const FAULT: Self = Self(-1);
}

impl kadenz_msg::message::Message for Mode {
    const NAME: &'static str = "robot.mode";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x9abcdefb92909a73);
    const DESCRIPTION: &'static str =
        r"package robot;

// Deprecated, and still in use.
enum mode {
    OFF = 0,
    IDLE = 1,
    MOVING = 7,
    FAULT = -1
}
";

    fn body_length(&self) -> usize {
        4
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.0)
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.0 = reader.value("robot.mode")?;
        Ok(())
    }
}

/// `robot.nothing`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nothing {}

impl kadenz_msg::message::Message for Nothing {
    const NAME: &'static str = "robot.nothing";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x000000002468acf0);
    const DESCRIPTION: &'static str =
        r"package robot;

struct nothing {
}
";

    fn body_length(&self) -> usize {
        0
    }

    fn encode_body(&self, _: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        Ok(())
    }

    fn decode_body(&mut self, _: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        Ok(())
    }
}

/// One of each type that the language brings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Primitives {
    /// -128 to 127
    pub small: i8,
    /// -32768 to 32767
    pub medium: i16,
    /// `int32_t large`
    pub large: i32,
    /// `int64_t huge`
    pub huge: i64,
    /// 0 to 255
    pub raw: u8,
    /// `float single`
    pub single: f32,
    /// `double precise`
    pub precise: f64,
    /// `string text`
    pub text: String,
    /// `boolean yes`
    pub yes: bool,
}

impl kadenz_msg::message::Message for Primitives {
    const NAME: &'static str = "robot.primitives";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x5b59d18d9b4f35e7);
    const DESCRIPTION: &'static str =
        r"package robot;

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
        let mut length = 29;
        length += 5 + self.text.len();
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        writer.value(self.small)?;
        writer.value(self.medium)?;
        writer.value(self.large)?;
        writer.value(self.huge)?;
        writer.value(self.raw)?;
        writer.value(self.single)?;
        writer.value(self.precise)?;
        writer.string("text", &self.text)?;
        writer.value(self.yes)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        self.small = reader.value("small")?;
        self.medium = reader.value("medium")?;
        self.large = reader.value("large")?;
        self.huge = reader.value("huge")?;
        self.raw = reader.value("raw")?;
        self.single = reader.value("single")?;
        self.precise = reader.value("precise")?;
        reader.string("text", &mut self.text)?;
        self.yes = reader.value("yes")?;
        Ok(())
    }
}

/// `robot.state`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// What the robot does.
    pub now: Mode,
    /// `int32_t count`
    pub count: i32,
    /// `robot.mode[count] history`
    pub history: Vec<Mode>,
    /// `robot.mode[2] wanted`
    pub wanted: [Mode; 2],
    /// from another package
    pub pose: super::map::Pose,
    /// `map.path way`
    pub way: super::map::Path,
}

impl kadenz_msg::message::Message for State {
    const NAME: &'static str = "robot.state";
    const FINGERPRINT: kadenz_msg::message::Fingerprint = kadenz_msg::message::Fingerprint(0x163a3b1b2d39b629);
    const DESCRIPTION: &'static str =
        r"package robot;

struct state {
    // What the robot does.
    robot.mode now;
    int32_t count;
    robot.mode history[count];
    robot.mode wanted[2];
    // from another package
    map.pose pose;
    map.path way;
}

// Deprecated, and still in use.
enum mode {
    OFF = 0,
    IDLE = 1,
    MOVING = 7,
    FAULT = -1
}

package map;

struct pose {
    double x;
    double y;
    double heading;
}

struct path {
    int16_t length;
    map.pose points[length];
    map.pose corners[2][2];
}
";

    fn body_length(&self) -> usize {
        let mut length = 40;
        length += self.history.len() * 4;
        length += kadenz_msg::message::Message::body_length(&self.way);
        length
    }

    fn encode_body(&self, writer: &mut kadenz_msg::codec::Writer<'_>) -> kadenz_msg::codec::EncodeResult {
        kadenz_msg::message::Message::encode_body(&self.now, writer)?;
        writer.value(self.count)?;
        writer.list("history", &self.history, &[("count", i64::from(self.count))])?;
        writer.list("wanted", &self.wanted, &[])?;
        kadenz_msg::message::Message::encode_body(&self.pose, writer)?;
        kadenz_msg::message::Message::encode_body(&self.way, writer)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut kadenz_msg::codec::Reader<'_>) -> kadenz_msg::codec::DecodeResult {
        kadenz_msg::message::Message::decode_body(&mut self.now, reader)?;
        self.count = reader.value("count")?;
        reader.list("history", &mut self.history, &[i64::from(self.count)], 4)?;
        reader.list("wanted", &mut self.wanted, &[], 0)?;
        kadenz_msg::message::Message::decode_body(&mut self.pose, reader)?;
        kadenz_msg::message::Message::decode_body(&mut self.way, reader)?;
        Ok(())
    }
}
