//! The pages under docs/start: their commands run as printed, and print what the page says. README.md shows a check.
//!
//! A block of `sh` runs; the block of `text` below it is its output, except for numbers, where `...` stands for any
//! text. A block of another language is a file. HTML comments above a block, which the rendered page does not show, are
//! marks for the test: `not run: REASON`, `needs: WHAT`, `file: NAME`.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

mod common;
#[path = "common/examples.rs"]
mod examples;

use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{Said, folder, kadenz, parted, skip};
use examples::{Block, blocks};

/// Seconds after which the test considers a block hung.
const HANGS_AFTER: &str = "300";

/// The words of an output, with every number and its unit replaced by `0`, since figures differ between machines.
fn shape(text: &str) -> Vec<String> {
    const UNITS: [&str; 12] = [
        "ns", "us", "ms", "s", "min", "h", "%", "B", "kB", "MB", "Hz", "kHz",
    ];
    let mut shape: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let number = word.contains(|c: char| c.is_ascii_digit());
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        let is_unit = UNITS.contains(&bare) && shape.last().is_some_and(|it| it.ends_with('0'));
        if number {
            let kept: String = word
                .chars()
                .filter(|c| !c.is_ascii_digit() && !".,".contains(*c))
                .collect();
            // pandas prints large figures as 3.1e+06.
            shape.push(format!("{}0", kept.trim_end_matches("e+")));
        } else if !is_unit {
            shape.push(word.to_owned());
        }
    }
    shape
}

/// Checks that the output contains the pieces between `...` in their order.
fn says(said: &str, expected: &str) -> Result<(), String> {
    let said = shape(said);
    let expected = shape(expected);
    let mut rest = &said[..];
    for piece in expected.split(|word| word == "...") {
        if piece.is_empty() {
            continue;
        }
        let at = rest.windows(piece.len()).position(|it| it == piece);
        let at = at.ok_or_else(|| piece.join(" "))?;
        rest = &rest[at + piece.len()..];
    }
    Ok(())
}

/// The first word of each line, with every number replaced by `0`.
fn labels(text: &str) -> Vec<String> {
    let first = |line| shape(line).into_iter().next();
    text.lines().filter_map(first).collect()
}

/// The reason why the machine cannot run a block with this need; `None` if it can.
fn lacks(need: &str) -> Option<String> {
    let there = match need {
        "multicast" => has_multicast(),
        "pandas" => python_with_pandas().is_some(),
        program => on_path(program),
    };
    let remedy = match need {
        "multicast" => "ip route add 224.0.0.0/4 dev lo",
        "pandas" => "pip install pandas pyarrow matplotlib, and KADENZ_PYTHON",
        _ => "install it",
    };
    (!there).then(|| format!("{need} ({remedy})"))
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether messages to LCM's group come back.
fn has_multicast() -> bool {
    let group = Ipv4Addr::new(239, 255, 76, 67);
    let try_it = || -> std::io::Result<()> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
        socket.set_multicast_ttl_v4(0)?;
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
        socket.send_to(b"heard?", (group, socket.local_addr()?.port()))?;
        socket.recv(&mut [0; 8]).map(|_| ())
    };
    try_it().is_ok()
}

/// The folder of a Python that has the modules that the pages import.
fn python_with_pandas() -> Option<PathBuf> {
    let named = std::env::var_os("KADENZ_PYTHON").map(PathBuf::from);
    let found = [named, Some(PathBuf::from("/usr/bin/python3"))];
    let imports = "import matplotlib, pandas, pyarrow";
    let python = found.into_iter().flatten().find(|python| {
        let command = Command::new(python).args(["-c", imports]).output();
        command.is_ok_and(|output| output.status.success())
    })?;
    python.parent().map(Path::to_path_buf)
}

/// A page that is run in a folder of its own.
struct Page {
    name: String,
    folder: tempfile::TempDir,
    /// The output of the last block of shell; `None` if the block did not run.
    said: Option<String>,
    /// The number of blocks that ran.
    ran: usize,
}

impl Page {
    fn new(path: &Path) -> Self {
        let folder = folder();
        let programs = folder.path().join(".programs");
        std::fs::create_dir(&programs).unwrap();
        // `sudo` gives no further rights here: commands that need them are refused, and the page continues.
        let sudo = programs.join("sudo");
        std::fs::write(&sudo, "#!/bin/sh\nexec \"$@\"\n").unwrap();
        std::fs::set_permissions(&sudo, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kadenz"), programs.join("kadenz")).unwrap();
        let conformance = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
        let bag = folder.path().join("bag");
        std::fs::create_dir(&bag).unwrap();
        for file in std::fs::read_dir(conformance.join("logs/ros2-mcap")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), bag.join(file.file_name())).unwrap();
        }
        Self {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            folder,
            said: None,
            ran: 0,
        }
    }

    /// Runs a block of shell; an error says where it failed.
    fn run(&mut self, block: &Block) -> Result<(), String> {
        // A busy machine may miss a limit (exit code 1). A recorder in the background listens before the next command.
        let listens =
            "for n in $(seq 600); do grep -qs '^recording ' .said && break; sleep 0.1; done";
        let text = block.text.replace(" &\n", &format!(" &\n{listens}\n"));
        let script =
            format!("set -E; trap 'code=$?; [ $code -le 1 ] || exit $code' ERR\n{text}wait\n");
        let programs = self.folder.path().join(".programs");
        let mut folders = vec![programs];
        folders.extend(python_with_pandas().filter(|_| block.mark.contains("pandas")));
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path));
        let port = UdpSocket::bind("0.0.0.0:0").unwrap().local_addr().unwrap();
        let output = Command::new("timeout")
            .args([
                HANGS_AFTER,
                "bash",
                "-c",
                &format!("exec >.said 2>&1; {script}"),
            ])
            .current_dir(self.folder.path())
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("HOME", self.folder.path())
            .env(
                "LCM_DEFAULT_URL",
                format!("udpm://239.255.76.67:{}?ttl=0", port.port()),
            )
            .env_remove("RUST_LOG")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let said = std::fs::read(self.folder.path().join(".said")).unwrap();
        let said = String::from_utf8_lossy(&said).into_owned();
        let place = format!("{}:{}", self.name, block.line);
        self.ran += 1;
        match output.status.code() {
            Some(0 | 1) => {
                self.said = Some(said);
                Ok(())
            }
            code => Err(format!("{place}: exit code {code:?}: {said}")),
        }
    }

    fn block(&mut self, block: &Block) -> Result<(), String> {
        let place = format!("{}:{}", self.name, block.line);
        let mark = block.mark.split_once(": ");
        match (block.language.as_str(), mark) {
            ("sh", Some(("not run", _))) => self.said = None,
            ("sh", Some(("needs", need))) if lacks(need).is_some() => {
                skip(&place, &lacks(need).unwrap());
                self.said = None;
            }
            ("sh", _) => return self.run(block),
            ("text", _) => {
                let Some(said) = &self.said else {
                    return Ok(());
                };
                return says(said, &block.text)
                    .map_err(|piece| format!("{place}: no command printed `{piece}`: {said}"));
            }
            (_, Some(("file", name))) => {
                let path = self.folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, &block.text).unwrap();
            }
            (_, Some(("not run", _))) => {}
            (language, _) => return Err(format!("{place}: {language} without a mark")),
        }
        Ok(())
    }
}

/// Runs a page until a block fails; returns the number of blocks that ran.
fn run_page(path: &Path) -> Result<usize, String> {
    let mut page = Page::new(path);
    for block in blocks(&std::fs::read_to_string(path).unwrap()) {
        page.block(&block)?;
    }
    Ok(page.ran)
}

#[test]
fn every_start_page_does_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/start");
    let pages: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|page| page.unwrap().path())
        .collect();
    assert!(pages.len() >= 10, "{}", pages.len());
    let results: Vec<Result<usize, String>> = std::thread::scope(|scope| {
        let running: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(|| run_page(page)))
            .collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let failed: Vec<_> = results.iter().filter_map(|it| it.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let ran: usize = results.into_iter().flatten().sum();
    assert!(ran > 20, "{ran} blocks ran");
}

#[test]
fn the_readme_shows_the_lines_that_check_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let pages = blocks(&std::fs::read_to_string(readme).unwrap());
    let shown = |it: &Block| it.text.strip_prefix("$ kadenz ").map(str::to_owned);
    let shown = pages.iter().find_map(shown).unwrap();
    let (line, answer) = shown.split_once('\n').unwrap();
    let folder = folder();
    // 5 s are enough for round trips, and a bus that is asked for is measured in a check of any length.
    let shorter = "--duration 5s --no-tune --url memq://";
    let mut command = kadenz(&[parted(line), parted(shorter)].concat());
    let said = Said::of(command.current_dir(folder.path()).output().unwrap());
    assert!(said.code == 0 || said.code == 1, "{}", said.err);
    let mut printed = labels(&said.out).into_iter();
    for label in labels(answer).iter().filter(|it| *it != "...") {
        let is_printed = printed.any(|it| it == *label);
        assert!(is_printed, "{label}: {}", said.out);
    }
    let page = answer.lines().last().unwrap();
    assert_eq!(says(&said.out, page), Ok(()), "{}", said.out);
}

#[test]
fn a_page_that_says_something_else_is_found() {
    let said = " series  samples  50 %\n lateness 3,000 29.41 us\nkept after 2.5 s\n";
    assert_eq!(
        says(said, "lateness 2,000 1.2 ms\n...\nkept after 3 s\n"),
        Ok(())
    );
    assert_eq!(says(said, "... samples ..."), Ok(()));
    let missing = says(said, "lateness 3,000\nmissed\n");
    assert_eq!(missing, Err("lateness 0 missed".to_owned()));
    assert!(says(said, "kept ... series").is_err(), "the order counts");
}
