//! A camera that stalls, loses packets, drops connections, reboots and changes its size at random, and three readers of
//! its server in processes of their own. In the second half of the run, server and readers are killed at any time.
//!
//! No reader may hang or read an image made of parts of several pictures (which the barcode in the picture shows), and
//! the memory of each process must not grow.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::child::{self, Limits};
use super::mutate::Random;
use super::recorders::{unreadable, words};
use super::running::{Memory, Running};
use super::{Report, Request};

/// Frames in an interval of the log, and a few more for a late one.
const FRAMES_OF_AN_INTERVAL: u64 = 60;
/// The length of a run in CI.
const SHORT: Duration = Duration::from_secs(20);
/// How long a reader may take to end beyond its duration, and how long it may be without a frame: a fault lasts 3.1 s,
/// a server is away for 2 s, and a lost camera is tried again after 5 s.
const MAX_WAIT: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(50);
const SIM: &str = "camera sim --listen 127.0.0.1:0 --size 640x480";
/// The readers' options. The first reader is never killed, and so keeps one handle all the time; the last is slow.
const READERS: [&str; 3] = [
    "--layout rgb",
    "--layout gray-column-major",
    "--layout bgr-column-major --poll 100ms",
];
/// Limits of the command that reads a run.
const LIMITS: Limits = Limits {
    memory_bytes: 1 << 30,
    cpu_s: 30,
    output_bytes: 64 << 20,
    wall: Duration::from_secs(120),
};

/// Runs until the requested time is over.
pub(crate) fn attack(request: &Request<'_>) -> Result<Report> {
    let mut soak = Soak::start(request)?;
    while Instant::now() < soak.end || soak.reads() {
        std::thread::sleep(STEP);
        soak.look_at_camera()?;
        soak.look_at_server()?;
        for index in 0..READERS.len() {
            soak.look_at_reader(index)?;
        }
        soak.kill_at_random()?;
    }
    soak.stop()
}

/// One of the processes.
struct Member {
    running: Running,
    command: String,
    folder: PathBuf,
    memory: Memory,
    /// When it must have ended by itself; `None` where it runs without limit.
    ends_by: Option<Instant>,
}

struct Soak<'a> {
    request: &'a Request<'a>,
    report: Report,
    random: Random,
    name: String,
    url: String,
    begin: Instant,
    end: Instant,
    camera: Member,
    server: Option<Member>,
    readers: [Option<Member>; READERS.len()],
    /// When the next server is started, and the last time without one.
    server_due: Instant,
    server_missing: Instant,
    kill_at: Instant,
    started: usize,
    seen: SoakCounts,
}

/// The readers' results, and the kills.
#[derive(Default)]
struct SoakCounts {
    runs: u64,
    overwritten: u64,
    kills: [u64; 2],
    silence_s: f64,
    /// For each role, of the process that lived longest: its life, and its memory in the second and the last quarter.
    memory: std::collections::BTreeMap<&'static str, (Duration, u64, u64)>,
}

impl<'a> Soak<'a> {
    fn start(request: &'a Request<'a>) -> Result<Self> {
        let begin = Instant::now();
        let end = request.until.unwrap_or(begin + SHORT);
        let lasts = end.saturating_duration_since(begin);
        let (seconds, seed) = (lasts.as_secs() + 1, request.seed);
        let command = format!("{SIM} --faults {seconds}s --seed {seed}");
        let mut camera = Member::start(request, command, request.folder.join("sim"), None)?;
        let url = camera.running.when_ready(|it| {
            let said = it.said();
            let line = said.lines().find(|line| line.starts_with("rtsp://"))?;
            Some(line.split(' ').next()?.to_owned())
        })?;
        Ok(Self {
            request,
            report: Report::new("camera"),
            random: Random::of(request.seed, 0),
            name: format!("attack-{}", std::process::id()),
            url,
            begin,
            end,
            camera,
            server: None,
            readers: [const { None }; READERS.len()],
            server_due: begin,
            server_missing: begin,
            kill_at: begin + lasts / 2,
            started: 0,
            seen: SoakCounts::default(),
        })
    }

    fn reads(&self) -> bool {
        self.readers.iter().any(Option::is_some)
    }

    fn finding(&mut self, fault: String, command: &str) {
        let lasts = self.end.saturating_duration_since(self.begin).as_secs();
        let seed = self.request.seed;
        let again = format!("cargo xtask attack camera --seed {seed} --duration {lasts}");
        let again = format!("{again}: kadenz {command}");
        self.report.finding(fault, again);
    }

    fn look_at_camera(&mut self) -> Result<()> {
        self.camera.memory.look(&self.camera.running);
        if let Some(ended) = self.camera.running.ended()? {
            anyhow::bail!("the simulator ended: {}", ended.stderr);
        }
        Ok(())
    }

    /// Starts a server where there is none, over another transport each time.
    fn look_at_server(&mut self) -> Result<()> {
        let now = Instant::now();
        if let Some(server) = &mut self.server {
            server.memory.look(&server.running);
            if let Some(ended) = server.running.ended()? {
                let command = server.command.clone();
                self.lost_server();
                let fault = format!("the server ended by itself: {}", ended.stderr);
                self.finding(fault, &command);
            }
            return Ok(());
        }
        self.server_missing = now;
        if now < self.server_due || now >= self.end && !self.reads() {
            return Ok(());
        }
        let transport = *self.random.one_of(&["tcp", "udp"]);
        let (url, name) = (&self.url, &self.name);
        let command = format!(
            "camera serve {url} --name {name} --transport {transport} --silence 1s --timeout 5s"
        );
        let folder = self.folder("server");
        let mut server = Member::start(self.request, command, folder, None)?;
        // The server reports that it connects once it has its name.
        let ready = |it: &Running| (!it.said().is_empty()).then_some(());
        server.running.when_ready(ready)?;
        self.server = Some(server);
        self.server_missing = Instant::now();
        Ok(())
    }

    fn lost_server(&mut self) {
        let server = self.server.take();
        self.note_memory("server", server.as_ref());
        (self.server_due, self.server_missing) = (Instant::now() + self.span(2), Instant::now());
    }

    /// A random span of less than so many seconds.
    fn span(&mut self, seconds: usize) -> Duration {
        Duration::from_millis(self.random.below(seconds * 1000) as u64)
    }

    fn folder(&mut self, role: &str) -> PathBuf {
        self.started += 1;
        self.request.folder.join(format!("{role}-{}", self.started))
    }

    /// Checks a reader that ended, and starts another one.
    fn look_at_reader(&mut self, index: usize) -> Result<()> {
        let now = Instant::now();
        let Some(reader) = &mut self.readers[index] else {
            if self.server.is_some() && now + Duration::from_secs(1) < self.end {
                self.readers[index] = Some(self.start_reader(index)?);
            }
            return Ok(());
        };
        reader.memory.look(&reader.running);
        let is_late = reader.ends_by.is_some_and(|by| now > by);
        let ended = reader.running.ended()?;
        if ended.is_none() && !is_late {
            return Ok(());
        }
        let Some(mut reader) = self.readers[index].take() else {
            return Ok(());
        };
        let Some(ended) = ended else {
            reader.running.kill()?;
            let fault = format!("a reader hangs for {:?}", reader.running.age());
            self.finding(fault, &reader.command);
            return Ok(());
        };
        // A reader whose server was killed before the first frame reports that.
        let was_refused = ended.stderr.contains("is served on this machine")
            && reader.running.age() > self.server_missing.elapsed();
        if ended.code() == Some(2) && !was_refused || ended.fault().is_some() {
            self.finding(format!("a reader failed: {ended:?}"), &reader.command);
            return Ok(());
        }
        self.judge(index, &reader, !was_refused)
    }

    fn start_reader(&mut self, index: usize) -> Result<Member> {
        let now = Instant::now();
        let (half, left) = (self.kill_begin(), self.end - now);
        let lasts = match index {
            0 => left,
            _ if now < half => half - now,
            _ => (Duration::from_secs(2) + self.span(20)).min(left),
        };
        let (name, how) = (&self.name, READERS[index]);
        let take = format!("camera record {name} {how} --barcode --timeout 30s");
        let folder = self.folder("reader");
        let out = folder.join("run");
        let lasts_ms = lasts.as_millis();
        let command = format!("{take} --duration {lasts_ms}ms --out {}", out.display());
        // The duration counts from the reader's first frame.
        let ends_by = now + lasts + 2 * MAX_WAIT;
        Member::start(self.request, command, folder, Some(ends_by))
    }

    fn kill_begin(&self) -> Instant {
        self.begin + (self.end - self.begin) / 2
    }

    fn kill_at_random(&mut self) -> Result<()> {
        let now = Instant::now();
        if now < self.kill_at || now >= self.end {
            return Ok(());
        }
        let longest = (self.end - self.begin).as_secs() / 10;
        self.kill_at = now + self.span((longest as usize).clamp(1, 10));
        match self.random.below(4) {
            0 | 1 => {
                if let Some(server) = &mut self.server {
                    server.running.kill()?;
                    self.seen.kills[0] += 1;
                    self.lost_server();
                }
            }
            index => {
                if let Some(mut reader) = self.readers[index - 1].take() {
                    reader.running.kill()?;
                    self.seen.kills[1] += 1;
                    self.judge(index - 1, &reader, false)?;
                }
            }
        }
        Ok(())
    }

    /// Checks the run of a reader that ended, or was killed.
    fn judge(&mut self, index: usize, reader: &Member, must_be_there: bool) -> Result<()> {
        const ROLES: [&str; READERS.len()] = ["reader 1", "reader 2", "reader 3, slow"];
        self.note_memory(ROLES[index], Some(reader));
        let out = reader.folder.join("run");
        let show = format!("show {} --json", out.display());
        let ended = child::run(&words(self.request, &show), LIMITS, &reader.folder)?;
        let fault = ended.fault().or_else(|| unreadable(&out, &ended));
        let said = fs::read(reader.folder.join("stdout")).unwrap_or_default();
        let fault = fault.or_else(|| match serde_json::from_slice(&said) {
            Ok(run) => self.fault_of_run(&run, &out),
            Err(error) => must_be_there.then(|| format!("no run: {error}")),
        });
        self.seen.runs += 1;
        match fault {
            Some(fault) => self.finding(fault, &reader.command),
            None => fs::remove_dir_all(&reader.folder)?,
        }
        Ok(())
    }

    /// Returns the fault in a reader's run, where there is one.
    fn fault_of_run(&mut self, run: &Value, out: &Path) -> Option<String> {
        let frames = count_of(run, "age");
        let whole = count_of(run, "end-to-end");
        self.report.tried += frames;
        let camera = &run["runs"][0]["camera"];
        self.seen.overwritten += camera["overwritten"].as_u64().unwrap_or(0);
        // A killed reader may have written an interval of one series and not yet of the other.
        let between = match camera.is_null() {
            true => FRAMES_OF_AN_INTERVAL,
            false => 1,
        };
        if frames > whole + between || camera["torn"].as_u64() > Some(0) {
            let fault = format!("of {frames} images {whole} can be read whole: {camera}");
            return Some(fault);
        }
        let log = fs::read_to_string(out.join("age.hlog")).unwrap_or_default();
        let silence_s = longest_silence_s(&log);
        self.seen.silence_s = self.seen.silence_s.max(silence_s);
        (silence_s > MAX_WAIT.as_secs_f64()).then(|| format!("no frame for {silence_s:.1} s"))
    }

    fn note_memory(&mut self, role: &'static str, member: Option<&Member>) {
        let Some((member, (early, late))) = member.and_then(|it| Some((it, it.memory.quarters()?)))
        else {
            return;
        };
        if member.memory.has_grown() {
            let fault = format!("the memory of the {role} grew from {early} to {late} KiB");
            let command = member.command.clone();
            self.finding(fault, &command);
        }
        let life = member.running.age();
        let known = self.seen.memory.entry(role).or_insert((life, early, late));
        if life > known.0 {
            *known = (life, early, late);
        }
    }

    /// Ends server and camera by Ctrl-C, which must take effect.
    fn stop(mut self) -> Result<Report> {
        let camera = self.camera.running.interrupt()?;
        let (command, memory) = (self.camera.command.clone(), self.camera.memory.quarters());
        let life = self.camera.running.age();
        if self.camera.memory.has_grown() {
            let fault = format!("the memory of the simulator grew: {memory:?} KiB");
            self.finding(fault, &command);
        }
        if let Some((early, late)) = memory {
            self.seen.memory.insert("simulator", (life, early, late));
        }
        let mut heard = vec![(camera, command)];
        if let Some(mut server) = self.server.take() {
            self.note_memory("server", Some(&server));
            heard.push((server.running.interrupt()?, server.command));
        }
        for (_, command) in heard.iter().filter(|(took, _)| took.is_none()) {
            self.finding("Ctrl-C is not heard".to_owned(), command);
        }
        self.figures();
        clear(&format!("kadenz-camera-{}", self.name))?;
        Ok(self.report)
    }

    fn figures(&mut self) {
        let Self { report, seen, .. } = self;
        let mut figure = |name: &str, value: String| report.figure(name, value);
        figure("runs of readers", seen.runs.to_string());
        let [servers, readers] = seen.kills;
        figure("killed", format!("{servers} servers, {readers} readers"));
        figure("overwritten while copied", seen.overwritten.to_string());
        let silence = format!("{:.1} s", seen.silence_s);
        figure("longest without a frame", silence);
        for (role, (life, early, late)) in &seen.memory {
            let value = format!("{early} then {late} KiB in {:.0} s", life.as_secs_f64());
            figure(&format!("memory, {role}, second and last quarter"), value);
        }
    }
}

impl Member {
    fn start(
        request: &Request<'_>,
        command: String,
        folder: PathBuf,
        ends_by: Option<Instant>,
    ) -> Result<Self> {
        Ok(Self {
            running: Running::start(request, &command, &folder)?,
            memory: Memory::default(),
            command,
            folder,
            ends_by,
        })
    }
}

/// Removes the shared memory that killed processes left.
fn clear(prefix: &str) -> Result<()> {
    for entry in fs::read_dir("/dev/shm")?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Number of values in a series of a run.
fn count_of(run: &Value, series: &str) -> u64 {
    let mut all = run["series"].as_array().into_iter().flatten();
    let found = all.find(|it| it["name"] == series);
    found.and_then(|it| it["count"].as_u64()).unwrap_or(0)
}

/// The longest time without a value in the intervals of a log, in seconds.
fn longest_silence_s(log: &str) -> f64 {
    let (mut heard, mut longest) = (0.0_f64, 0.0_f64);
    let is_interval = |line: &&str| line.starts_with(|it: char| it.is_ascii_digit());
    for line in log.lines().filter(is_interval) {
        let fields = line.split(',').map_while(|it| it.parse::<f64>().ok());
        let [start, length, most, ..] = fields.collect::<Vec<_>>()[..] else {
            continue;
        };
        if most > 0.0 {
            longest = longest.max(start - heard);
            heard = start + length;
        } else {
            longest = longest.max(start + length - heard);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_without_values_is_silent_from_the_last_one_on() {
        let line = |start: u32, most: &str| format!("{start}.000,1.000,{most},HISTFAAAA\n");
        let text = |ends: &[u32]| -> String {
            let most = |at: &u32| if ends.contains(at) { "0.000" } else { "1.250" };
            (0..10).map(|at| line(at, most(&at))).collect()
        };
        let is = |silent: &[u32], s: f64| (longest_silence_s(&text(silent)) - s).abs() < 1e-9;
        assert!(is(&[], 0.0) && is(&[0, 1], 2.0) && is(&[3, 4, 5, 7], 3.0) && is(&[8, 9], 2.0));
    }
}
