//! Files and URLs that no other source reads, by the `ffmpeg` program on the path.
//!
//! The program decodes and writes YUV4MPEG2 to a pipe; a thread reads it, and the source gives the newest picture and
//! counts older ones as missed. What the program holds back before it gives a picture is latency that Kadenz does not
//! see: for `rtsp://` it is one picture's time or more. The program gets its arguments as a list, without a shell, and
//! ends with the source; when this process is killed, it ends with its next picture, since no process reads its pipe.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::clock::{MonotonicTime, now};

use super::{Capture, Content, Next, Source, SourceError, Unit};
use crate::lock;
use crate::picture::{Chroma, Matrix, Picture, PictureError, Range, Size};

/// A line of the pipe's format has no more bytes.
const MAX_LINE: u64 = 1024;
/// The most text that is kept of the program's standard error.
const MAX_SAID: u64 = 16 << 10;

/// What the header of the YUV4MPEG2 stream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Y4mHeader {
    size: Size,
    range: Range,
}

impl Y4mHeader {
    /// Reads `YUV4MPEG2 W1920 H1080 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED`.
    fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.trim_end().split(' ');
        if words.next() != Some("YUV4MPEG2") {
            return Err("its output does not begin with YUV4MPEG2".to_owned());
        }
        let (mut width, mut height, mut range) = (0, 0, Range::Limited);
        for word in words {
            let number = |text: &str| text.parse::<u32>().unwrap_or(0);
            match word.split_at_checked(1) {
                Some(("W", text)) => width = number(text),
                Some(("H", text)) => height = number(text),
                Some(("C", "420" | "420jpeg" | "420mpeg2" | "420paldv")) => {}
                Some(("C", text)) => {
                    return Err(format!("its samples are {text}, not 8 bits of 4:2:0"));
                }
                _ if word == "XCOLORRANGE=FULL" => range = Range::Full,
                _ => {}
            }
        }
        let size = Size::new(width, height).map_err(|error| error.to_string())?;
        Ok(Self { size, range })
    }

    fn bytes(self) -> usize {
        let (width, height) = Chroma::Yuv420.plane(self.size);
        self.size.pixels() + 2 * width * height
    }

    fn picture(self, bytes: &[u8]) -> Result<Picture<'_>, PictureError> {
        let (chroma_width, chroma_height) = Chroma::Yuv420.plane(self.size);
        let (y, rest) = bytes.split_at(self.size.pixels().min(bytes.len()));
        let (u, v) = rest.split_at((chroma_width * chroma_height).min(rest.len()));
        let width = self.size.width as usize;
        let planes = [(y, width), (u, chroma_width), (v, chroma_width)];
        let matrix = Matrix::of_unspecified(self.size);
        Picture::planar(self.size, planes, Chroma::Yuv420, matrix, self.range)
    }
}

/// The state that the reading thread shares with the source.
#[derive(Default)]
struct Mailbox {
    newest: Option<Received>,
    /// A buffer to read the next picture into.
    spare: Vec<u8>,
    missed: u64,
    /// Why there are no more pictures; empty where the program ended by itself.
    end: Option<String>,
}

struct Received {
    format: Y4mHeader,
    bytes: Vec<u8>,
    first_byte: MonotonicTime,
    arrival: MonotonicTime,
}

/// The mailbox between the reading thread and the source, with the condition that signals changes.
#[derive(Default)]
struct SharedMailbox {
    mailbox: Mutex<Mailbox>,
    changed: Condvar,
}

/// A source that reads by the program `ffmpeg`.
pub(crate) struct FfmpegProgram {
    url: String,
    child: Child,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<SharedMailbox>,
    said: Arc<Mutex<String>>,
    given: Option<Received>,
    /// Whether any picture came.
    has_begun: bool,
}

impl FfmpegProgram {
    /// Starts the program for a URL or a file; a file is read at its own rate.
    ///
    /// # Errors
    /// [`SourceError`], where there is no such program, or the URL looks like an option.
    pub(crate) fn open(url: &str) -> Result<Self, SourceError> {
        let shown = super::without_credentials(url);
        if url.starts_with('-') {
            let cause = format!("`{shown}` looks like an option of ffmpeg");
            let remedy = "write ./ before the name of a file";
            return Err(SourceError::permanent(cause, remedy));
        }
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error"]);
        command.args(["-fflags", "nobuffer", "-flags", "low_delay"]);
        if !url.contains("://") {
            command.arg("-re");
        }
        if url.starts_with("rtsp://") {
            command.args(["-rtsp_transport", "tcp"]);
        }
        command.arg("-i").arg(url);
        command.args(["-map", "0:v:0", "-an", "-fps_mode", "passthrough"]);
        command.args(["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let cause = format!("cannot start the program ffmpeg for {shown}: {error}");
            let remedy = "install ffmpeg (apt install ffmpeg), or use a source that needs none";
            SourceError::permanent(cause, remedy)
        })?;
        let (shared, said) = (
            Arc::<SharedMailbox>::default(),
            Arc::<Mutex<String>>::default(),
        );
        let mut threads = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            let shared = Arc::clone(&shared);
            threads.push(std::thread::spawn(move || read_all(pipe, &shared)));
        }
        if let Some(pipe) = child.stderr.take() {
            let said = Arc::clone(&said);
            threads.push(std::thread::spawn(move || note_last_line(pipe, &said)));
        }
        Ok(Self {
            url: shown,
            child,
            threads,
            shared,
            said,
            given: None,
            has_begun: false,
        })
    }

    fn finish(&mut self) {
        // The program may have ended by itself; then this only reaps it.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }

    fn ended(&self, end: &str) -> Result<Next<'_>, SourceError> {
        let said = lock(&self.said);
        if end.is_empty() && said.is_empty() && self.has_begun {
            return Ok(Next::Ended);
        }
        let mut causes = [said.as_str(), end, "it gave no picture"].into_iter();
        let cause = causes.find(|it| !it.is_empty()).unwrap_or_default();
        Err(SourceError {
            cause: format!("ffmpeg gave up {}: {cause}", self.url),
            remedy: "see whether `ffmpeg -i` shows the stream".to_owned(),
            is_transient: true,
        })
    }
}

impl Source for FfmpegProgram {
    fn next(&mut self, until: MonotonicTime) -> Result<Next<'_>, SourceError> {
        let mut mailbox = lock(&self.shared.mailbox);
        if let Some(given) = self.given.take() {
            mailbox.spare = given.bytes;
        }
        let left = Duration::from_nanos(until.since(now()).max(0).cast_unsigned());
        let waits = |mailbox: &mut Mailbox| mailbox.newest.is_none() && mailbox.end.is_none();
        let waited = self.shared.changed.wait_timeout_while(mailbox, left, waits);
        let (mut mailbox, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (newest, end) = (mailbox.newest.take(), mailbox.end.clone());
        let missed = std::mem::take(&mut mailbox.missed);
        drop(mailbox);
        let Some(newest) = newest else {
            return end.map_or(Ok(Next::Nothing), |end| {
                // Once the program's threads have ended, all of its error text is there.
                self.finish();
                self.ended(&end)
            });
        };
        self.has_begun = true;
        let Received {
            format,
            bytes,
            first_byte,
            arrival,
        } = self.given.insert(newest);
        let picture = format.picture(bytes).map_err(|error| {
            let cause = format!("ffmpeg did not write a valid picture: {error}");
            SourceError::permanent(cause, "install another version of ffmpeg")
        })?;
        Ok(Next::Unit(Unit {
            content: Content::Picture(picture),
            is_key: true,
            capture: Capture::Unknown,
            first_byte: *first_byte,
            arrival: *arrival,
            missed,
            is_damaged: false,
        }))
    }

    fn description(&self) -> String {
        format!("{} by the program ffmpeg", self.url)
    }
}

impl Drop for FfmpegProgram {
    fn drop(&mut self) {
        self.finish();
    }
}

fn read_all(pipe: ChildStdout, shared: &SharedMailbox) {
    let end = read_pictures(BufReader::with_capacity(1 << 20, pipe), shared).err();
    lock(&shared.mailbox).end = Some(end.unwrap_or_default());
    shared.changed.notify_all();
}

/// Reads pictures until the pipe ends.
fn read_pictures(mut pipe: impl BufRead, shared: &SharedMailbox) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let mut line = String::new();
    let mut format = None;
    loop {
        line.clear();
        let mut limited = pipe.by_ref().take(MAX_LINE);
        if limited.read_line(&mut line).map_err(said)? == 0 {
            return Ok(());
        }
        let Some(format) = format else {
            format = Some(Y4mHeader::parse(&line)?);
            continue;
        };
        if !line.starts_with("FRAME") {
            return Err("its output has something else where a picture begins".to_owned());
        }
        let first_byte = now();
        let mut bytes = std::mem::take(&mut lock(&shared.mailbox).spare);
        bytes.resize(format.bytes(), 0);
        pipe.read_exact(&mut bytes).map_err(said)?;
        let arrival = now();
        let received = Received {
            format,
            bytes,
            first_byte,
            arrival,
        };
        let mut mailbox = lock(&shared.mailbox);
        if let Some(older) = mailbox.newest.replace(received) {
            mailbox.missed += 1;
            mailbox.spare = older.bytes;
        }
        drop(mailbox);
        shared.changed.notify_all();
    }
}

fn note_last_line(pipe: impl Read, said: &Mutex<String>) {
    let mut text = Vec::new();
    let mut pipe = pipe.take(MAX_SAID);
    // Text that cannot be read is left out.
    let _ = pipe.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    if let Some(last) = text.lines().rfind(|line| !line.trim().is_empty()) {
        *lock(said) = without_credentials(last);
    }
    // The program must not block because this thread stopped reading.
    let _ = std::io::copy(&mut pipe.into_inner(), &mut std::io::sink());
}

/// A line of the program without the credentials of the URLs in it.
fn without_credentials(line: &str) -> String {
    super::hide_credentials(line, &['/', ' ', '?', '\'', '"'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;
    use crate::picture::Pixels;

    #[test]
    fn a_pipe_is_read_to_its_newest_picture_and_what_is_not_a_picture_ends_it() {
        let shared = SharedMailbox::default();
        let pipe = b"YUV4MPEG2 W3 H2 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n0123456789FRAME Ip\nabcdefghijFRAME\nab";
        let end = read_pictures(&pipe[..], &shared);
        assert!(end.is_err());
        let mailbox = lock(&shared.mailbox);
        assert_eq!(mailbox.missed, 1);
        let newest = mailbox.newest.as_ref().unwrap();
        let picture = newest.format.picture(&newest.bytes).unwrap();
        let Pixels::Yuv {
            y,
            u,
            v,
            range: Range::Full,
            ..
        } = picture.pixels()
        else {
            panic!("{picture:?}");
        };
        assert_eq!(
            (y.bytes(), u.bytes(), v.bytes()),
            (&b"abcdef"[..], &b"gh"[..], &b"ij"[..])
        );
    }

    #[test]
    fn a_header_that_promises_too_much_or_another_format_is_refused() {
        assert!(Y4mHeader::parse("YUV4MPEG2 W4 H4 F1:1 C420mpeg2\n").is_ok());
        for line in [
            "",
            "RIFF",
            "YUV4MPEG2 W4",
            "YUV4MPEG2 W99999 H99999",
            "YUV4MPEG2 W4 H4 C420p10",
            "YUV4MPEG2 W4 H4 C444",
        ] {
            assert!(Y4mHeader::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_url_loses_its_password_wherever_it_is_shown() {
        let shown = without_credentials("rtsp://me:secret@host/a: rtsp://u:p@h failed");
        assert_eq!(shown, "rtsp://host/a: rtsp://h failed");
        assert_eq!(without_credentials("/a@b"), "/a@b");
    }

    #[test]
    fn what_looks_like_an_option_is_refused() {
        assert!(FfmpegProgram::open("-version").is_err());
        let Err(error) = FfmpegProgram::open("-i://me:a secret@host/x") else {
            panic!("it was opened");
        };
        assert!(error.cause.contains("-i://host/x"), "{error}");
    }

    /// The program is not there everywhere.
    fn has_program(test: &str) -> bool {
        if Command::new("ffmpeg").arg("-version").output().is_ok() {
            return true;
        }
        let message = format!("skipped: {test}: the program ffmpeg (apt install ffmpeg)");
        assert!(
            std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|it| it != "1"),
            "{message}"
        );
        eprintln!("{message}");
        false
    }

    #[test]
    #[cfg(feature = "h264")]
    fn ffmpeg_plays_the_simulator() {
        use crate::barcode::{Gray, Reader, whole};
        use crate::sim::{CameraSim, Options, Protocol};

        if !has_program("ffmpeg_plays_the_simulator") {
            return;
        }
        for protocol in [Protocol::Rtsp, Protocol::Http] {
            let options = Options {
                protocol,
                size: Size::new(320, 240).unwrap(),
                keys_every: 10,
                loop_frames: Some(30),
                ..Options::default()
            };
            let camera = CameraSim::start(options).unwrap();
            let mut source = FfmpegProgram::open(&camera.url()).unwrap();
            let until = now() + Duration::from_secs(60);
            let mut seen = 0;
            while seen < 10 {
                let Next::Unit(unit) = source.next(until).unwrap() else {
                    panic!("{protocol:?}: {seen} pictures");
                };
                let Content::Picture(picture) = unit.content else {
                    panic!("{:?}", unit.content);
                };
                let code = whole(Reader::new().read(&Gray::of(&picture).unwrap())).unwrap();
                assert!(camera.sent(code.number, unit.arrival).is_some());
                seen += 1;
            }
        }
    }

    #[test]
    fn what_ffmpeg_says_is_the_cause() {
        if !has_program("what_ffmpeg_says_is_the_cause") {
            return;
        }
        let mut source = FfmpegProgram::open("/nowhere/film.mp4").unwrap();
        let error = source.next(now() + Duration::from_secs(60)).unwrap_err();
        assert!(error.cause.contains("No such file"), "{error}");
    }
}
