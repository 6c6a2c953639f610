//! The code of `kadenz msg gen` in languages other than Rust: it decodes and encodes LCM's messages and those of Kadenz
//! to the byte, members have their places, and bytes that are not a message are refused.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "random members are made of random bits"
)]

#[path = "../golden/mod.rs"]
mod golden;
mod messages;
mod tools;

use std::path::Path;
use std::process::Command;

use golden::{hex, types};
use kadenz_msg::generate::{self, GenerateError, Language};
use kadenz_msg::types::Types;
use messages::{Case, cases, fields, hostile};
use tools::{code, java, list, octave, output, program, python, sanitized};

/// Passes messages, one per line, to a program that answers with the bytes it encodes again, or with `refused: ` and
/// the reason. At the end the program encodes a message that it made member by member.
fn speaks(command: &mut Command, folder: &Path, every: usize) {
    let mut cases = cases(every);
    cases.extend(hostile());
    let line = |it: &Case| format!("{} {}\n", it.name, hex(&it.bytes));
    let input: String = cases.iter().map(line).collect();
    let said = output(command, folder, &format!("{input}fields\n"));
    let mut answers = said.lines();
    for case in &cases {
        let (name, given, answer) = (&case.name, hex(&case.bytes), answers.next().unwrap_or(""));
        if case.whole {
            assert_eq!(answer, given, "{name}");
        }
        let refused = answer.strip_prefix("refused: ");
        assert_eq!(refused.is_none(), case.valid, "{name} {given}: {answer}");
        assert!(refused.is_none_or(|it| it.len() > 10), "{name}: {answer}");
    }
    assert!(cases.iter().filter(|it| it.whole).count() > 200);
    assert_eq!(answers.next(), Some(hex(&fields()).as_str()));
    assert_eq!(answers.next(), None);
}

#[test]
fn python_speaks() {
    let Some(python) = python("python_speaks") else {
        return;
    };
    let folder = code(&types(), Language::Python);
    let mut command = Command::new(&python);
    command.env("PYTHONPATH", folder.path());
    command.arg(program("echo.py"));
    speaks(&mut command, folder.path(), 8);
}

#[test]
fn python_has_types() {
    let Some(python) = python("python_has_types") else {
        return;
    };
    if !tools::has(
        "python_has_types",
        &python,
        &["-c", "import mypy"],
        "pip install mypy",
    ) {
        return;
    }
    let mypy = ["-m", "mypy", "--strict", "--cache-dir", "/dev/null", "."];
    let folder = code(&types(), Language::Python);
    output(Command::new(python).args(mypy), folder.path(), "");
}

#[test]
fn java_speaks() {
    let Some(folder) = java("java_speaks", &types(), "Echo.java") else {
        return;
    };
    let mut command = Command::new("java");
    command.args(["-Xmx64m", "-cp", "classes", "Echo"]);
    speaks(&mut command, folder.path(), 8);
}

#[test]
fn c_speaks() {
    let types = types();
    let folder = code(&types, Language::C);
    list(&types, folder.path(), "_", "h");
    if let Some(echo) = sanitized("c_speaks", "cc", &program("echo.c"), folder.path()) {
        speaks(&mut Command::new(echo), folder.path(), 8);
    }
}

#[test]
fn cpp_speaks() {
    let types = types();
    let folder = code(&types, Language::Cpp);
    list(&types, folder.path(), "::", "hpp");
    if let Some(echo) = sanitized("cpp_speaks", "c++", &program("echo.cpp"), folder.path()) {
        speaks(&mut Command::new(echo), folder.path(), 8);
    }
}

#[test]
fn octave_speaks() {
    let Some(mut command) = octave("octave_speaks") else {
        return;
    };
    let folder = code(&types(), Language::Matlab);
    speaks(command.arg(program("echo.m")), folder.path(), 149);
}

/// Names that are keywords or functions of some language, or members of the generated type.
const NAMES: &str = "package new.end;
    struct function {
        const int8_t SIZE = 4, function2 = -128;
        const int64_t LEAST = -9223372036854775808;
        const int32_t SMALL = -2147483648;
        int32_t class, def, self, type, typename, errno; // ends in a backslash \\
        double lambda, double_;
        string encode, String;   /* a */
        int8_t n;
        byte range[n], bytes[2], len[2][n];
        int64_t out, in, m, c, b, at, reader, codec, one, other, row0, i;
    }
    struct state { function function; new.end.function state[2]; mode mode[2]; mode end[2][3]; deep.new robot; }
    enum mode { SECOND = 2, FIRST = 1 }
    package deep;
    struct new { string std, java, new_end; }";

#[test]
fn words_of_the_language_are_renamed() {
    let test = "words_of_the_language_are_renamed";
    let types = Types::from_text(NAMES).unwrap();
    let generated = generate::generate(&types, Language::Java).unwrap();
    let called = |name: &str| {
        let mut renamed = generated.renamed.iter();
        renamed
            .find(|it| it.name == name)
            .map(|it| it.called.clone())
    };
    assert_eq!(called("class").as_deref(), Some("class_"));
    assert_eq!(called("lambda"), None);
    let check = "import new.end as e, deep; it = e.state(state=[e.function(n=1, range=b'x', len=[b'1', b'2'])] * 2); assert e.state.decode(it.encode()) == it; assert it.end == [[2] * 3] * 2 and e.function.LEAST == -2**63";
    if let Some(python) = python(test) {
        let folder = code(&types, Language::Python);
        output(Command::new(python).args(["-c", check]), folder.path(), "");
    }
    let check = "new_.end.state m = new new_.end.state(); m.function.class_ = 1; byte[] bytes = m.encode(); if (!new_.end.state.decode(bytes).equals(m) || m.end[1][2] != 2) bytes = null;";
    let text = tools::main_of_java(check);
    if let Some(folder) = tools::java_text(test, &types, "Shown.java", &text) {
        let mut command = Command::new("java");
        output(command.args(["-cp", "classes", "Shown"]), folder.path(), "");
    }
    let main = |language, folder: &Path, text: &str| {
        let (compiler, name) = if language == Language::C {
            ("cc", "it.c")
        } else {
            ("c++", "it.cpp")
        };
        std::fs::write(folder.join(name), text).unwrap();
        let built = sanitized(test, compiler, &folder.join(name), folder);
        if let Some(it) = built {
            output(&mut Command::new(it), folder, "");
        }
    };
    let folder = code(&types, Language::C);
    let text = "#include \"new_end_state.h\"\nint main(void) { new_end_state m = {0}; uint8_t b[999]; ptrdiff_t n = new_end_state_encode(b, sizeof b, &m);\n if (n != new_end_state_decode(b, (size_t)n, &m)) return 1;\n new_end_state_free(&m); return NEW_END_FUNCTION_LEAST == INT64_MIN && NEW_END_MODE_FIRST == 1 ? 0 : 2; }\n";
    main(Language::C, folder.path(), text);
    let folder = code(&types, Language::Cpp);
    let text = "#include \"new_/end/state.hpp\"\nint main() { new_::end::state m; m.function.class_ = 1; return new_::end::state::decode(m.encode()) == m && m.end[1][2] == 2 && new_::end::function::SMALL < 0 ? 0 : 1; }\n";
    main(Language::Cpp, folder.path(), text);
    if let Some(mut octave) = octave(test) {
        let folder = code(&types, Language::Matlab);
        let check = "m = new.end_.state(); assert(isequal(new.end_.state_decode(new.end_.state_encode(m)), m)); assert(m.end_(2, 3) == 2 && new.end_.function__constants.SMALL < 0 && new.end_.function__constants.LEAST == intmin('int64'));";
        output(octave.args(["--eval", check]), folder.path(), "");
    }
}

#[test]
fn names_that_meet_are_refused() {
    let refused = |text: &str, language| {
        let types = Types::from_text(text).unwrap();
        let error = generate::generate(&types, language).unwrap_err();
        assert!(matches!(error, GenerateError::Collision { .. }), "{error}");
    };
    refused("struct a { int8_t class, class_; }", Language::Java);
    refused(
        "package a.b; struct c { } package a; struct b_c { }",
        Language::C,
    );
    refused("struct a { } struct a_decode { }", Language::Matlab);
    refused(
        "package a.b; struct c { } package a; struct b { }",
        Language::Python,
    );
}

#[test]
fn the_page_of_types_shows_what_runs() {
    let test = "the_page_of_types_shows_what_runs";
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/messages-types.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = |fence: &str| {
        let start = format!("```{fence}\n");
        let from = page.find(&start).unwrap_or_else(|| panic!("no {fence}")) + start.len();
        page[from..].split_once("```").unwrap().0.to_owned()
    };
    let types = Types::from_text(&block("")).unwrap();
    let value = serde_json::json!({"position": [1.0, 2.0, 3.0], "n": 2, "ranges": [0.5, 0.75]});
    let value = types.value_from_json("robot.pose_t", &value).unwrap();
    let expected = hex(&types.encode(&value).unwrap());
    let prints = |command: &mut Command, folder: &Path| {
        assert_eq!(output(command, folder, "").trim(), expected, "{command:?}");
    };
    if let Some(python) = python(test) {
        let folder = code(&types, Language::Python);
        let text = block("python") + "print(payload.hex())\n";
        prints(Command::new(python).args(["-c", &text]), folder.path());
    }
    let text = tools::main_of_java(&block("java"));
    if let Some(folder) = tools::java_text(test, &types, "Shown.java", &text) {
        let mut command = Command::new("java");
        prints(command.args(["-cp", "classes", "Shown"]), folder.path());
    }
    for (language, compiler, fence) in [(Language::C, "cc", "c"), (Language::Cpp, "c++", "cpp")] {
        let folder = code(&types, language);
        let source = folder.path().join(format!("shown.{fence}"));
        std::fs::write(&source, tools::main_of_c(&block(fence))).unwrap();
        if let Some(it) = sanitized(test, compiler, &source, folder.path()) {
            prints(&mut Command::new(it), folder.path());
        }
    }
    if let Some(mut octave) = octave(test) {
        let folder = code(&types, Language::Matlab);
        let text = block("matlab") + "printf('%02x', bytes);\n";
        prints(octave.args(["--eval", &text]), folder.path());
    }
}
