//! Load made by other programs, where they are installed: `stress-ng`, and `hackbench`.
//!
//! The program runs below a shell that waits for two things: the program's end, and the end of its own standard input,
//! which closes when [`ForeignLoad`] is dropped and also when this process is killed. Either way the shell ends the
//! program with all its processes and removes its files, so no process outlives the one that requested the load.

mod stress_ng;

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kadenz_rt::tuning::{self, Tuning};
use tempfile::TempDir;

use super::disk::DiskTarget;
use super::{ForeignProgram, LoadKind, LoadOptions, LoadRates, StartLoadError};
use crate::load::Rate;
use crate::load::options::cpus;

/// Another program's load that goes on until this is dropped.
pub struct ForeignLoad {
    task: ForeignTask,
    watched: Watched,
}

/// Arguments of a program, and the parser of its answer.
struct ForeignTask {
    /// The kinds, each with the arguments that request it.
    asked: Vec<(LoadKind, String)>,
    command: Vec<String>,
    /// The file in the program's folder that its result is read from.
    result: &'static str,
    read: fn(&ForeignTask, &str) -> Vec<LoadRates>,
}

impl ForeignLoad {
    /// Starts `program` with load of these kinds.
    ///
    /// # Errors
    /// [`StartLoadError`], also where the program is not installed or has no such load; nothing has
    /// been started then.
    pub fn start(
        program: ForeignProgram,
        kinds: &[LoadKind],
        options: &LoadOptions,
    ) -> Result<Self, StartLoadError> {
        options.check()?;
        let kinds = super::parts_of(kinds);
        if kinds.is_empty() {
            return Err(StartLoadError::Nothing);
        }
        program.find()?;
        let place = DiskTarget::choose(options, options.threads.unwrap_or(1) as u64)?;
        let folder = folder_in(&place.dir)?;
        let task = match program {
            ForeignProgram::StressNg => stress_ng::task(&kinds, options, &place, folder.path()),
            ForeignProgram::Hackbench => hackbench(&kinds, options)?,
        };
        let watched = Watched::start(folder, &task.command, task.result);
        let watched = watched.map_err(|error| StartLoadError::Program { program, error })?;
        Ok(Self { task, watched })
    }

    /// The requested load of each kind.
    pub fn asked(&self) -> impl Iterator<Item = (LoadKind, &str)> {
        let asked = self.task.asked.iter();
        asked.map(|(kind, words)| (*kind, words.as_str()))
    }

    /// Whether the program has ended by itself. Does not block.
    pub fn has_ended(&mut self) -> bool {
        self.watched.has_ended()
    }

    /// Ends the program and returns the rates that it measured.
    ///
    /// Blocks until it has ended, ten seconds at most.
    ///
    /// # Errors
    /// The program's answer cannot be read.
    pub fn stop(self) -> io::Result<Vec<LoadRates>> {
        let answer = self.watched.end()?;
        let mut rates = (self.task.read)(&self.task, &answer.result);
        if rates.iter().all(|load| load.rates.is_empty()) {
            let trouble = match answer.words.trim() {
                "" => "it gave no figures and no message".to_owned(),
                words => format!("it gave no figures; its last words: {words}"),
            };
            for load in &mut rates {
                load.trouble = Some(trouble.clone());
            }
        }
        Ok(rates)
    }
}

impl fmt::Debug for ForeignLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignLoad({})", self.task.command.join(" "))
    }
}

/// A folder for the program's files, removed with the value.
fn folder_in(dir: &Path) -> Result<tempfile::TempDir, StartLoadError> {
    let made = tempfile::Builder::new()
        .prefix("kadenz-load-")
        .tempdir_in(dir);
    made.map_err(|error| StartLoadError::Folder {
        dir: dir.to_owned(),
        error,
    })
}

/// Looks for a program as a shell does.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place| place.is_file())
}

impl ForeignProgram {
    const fn remedy(self) -> &'static str {
        match self {
            Self::StressNg => "sudo apt install stress-ng, or leave `--with` out",
            Self::Hackbench => "sudo apt install rt-tests, or leave `--with` out",
        }
    }

    /// Looks for it on PATH.
    ///
    /// # Errors
    /// [`StartLoadError::NotInstalled`].
    pub fn find(self) -> Result<(), StartLoadError> {
        let found = on_path(self.name());
        found.map(|_| ()).ok_or(StartLoadError::NotInstalled {
            program: self,
            remedy: self.remedy(),
        })
    }
}

// A program that dies with the process that started it.

/// Its parameters: the program's folder, the file with its result, the program with arguments.
///
/// Standard input closes when the process that holds the other end closes it or dies. `kill 0` reaches
/// the shell's own process group: all that the program has started.
const SHELL: &str = r#"
folder=$1 result=$2
shift 2
exec 3<&0
"$@" </dev/null >"$folder/words" 2>&1 3<&- &
program=$!
{
    read -r _ <&3
    kill -TERM "$program"
    sleep 10
    rm -rf -- "$folder"
    kill -KILL 0
} >/dev/null 2>&1 &
wait "$program"
trap '' TERM
kill -TERM 0
tail -c 1000000 "$folder/$result" 2>/dev/null
tail -n 5 "$folder/words" >&2
rm -rf -- "$folder"
"#;

/// No answer is longer.
const MAX_ANSWER: u64 = 1 << 20;

/// The shell, with the program as its child.
struct Watched {
    shell: Child,
    /// The shell removes it; this field does so if the shell was killed.
    _folder: TempDir,
}

/// Output that a program left when it ended.
struct Answer {
    /// The file with its result, empty if there is none.
    result: String,
    /// The last lines that it printed.
    words: String,
}

impl Watched {
    fn start(folder: TempDir, command: &[String], result: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SHELL, "sh"])
            .arg(folder.path())
            .arg(result);
        shell.args(command);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // A Ctrl-C at a terminal reaches this process alone, which then ends the shell in order.
            shell.process_group(0);
        }
        // The shell inherits the policy of the thread that starts it.
        let _ordinary = tuning::apply(&Tuning::default());
        Ok(Self {
            shell: shell.spawn()?,
            _folder: folder,
        })
    }

    /// Whether it has ended by itself.
    fn has_ended(&mut self) -> bool {
        // On an error, the end of the load asks the system again.
        matches!(self.shell.try_wait(), Ok(Some(_)))
    }

    /// Ends the program and takes its answer.
    fn end(mut self) -> io::Result<Answer> {
        drop(self.shell.stdin.take());
        let result = read(self.shell.stdout.take())?;
        let words = read(self.shell.stderr.take())?;
        self.shell.wait()?;
        Ok(Answer { result, words })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        drop(self.shell.stdout.take());
        drop(self.shell.stderr.take());
        // Its answer is no longer needed.
        let _ = self.shell.wait();
    }
}

fn read(from: Option<impl Read>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MAX_ANSWER).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// One run after the other, until it fails or is ended; `"$@"` is hackbench with its arguments.
const REPEAT_UNTIL_FAILURE: &str = r#"while "$@"; do :; done"#;
/// Messages that each sender sends to each of its twenty receivers: hackbench's own default.
const LOOPS: u64 = 100;
/// Messages of one group in one run, over [`LOOPS`].
const PAIRS: u64 = 20 * 20;

/// `hackbench` of rt-tests in a loop, as in Yoon.
fn hackbench(kinds: &[LoadKind], options: &LoadOptions) -> Result<ForeignTask, StartLoadError> {
    if let Some(other) = kinds.iter().find(|kind| **kind != LoadKind::Processes) {
        return Err(StartLoadError::NoSuchLoad {
            program: ForeignProgram::Hackbench,
            kind: *other,
        });
    }
    let groups = options.groups.unwrap_or_else(|| (5 * cpus()).min(20));
    let loops = LOOPS.to_string();
    let hackbench = ["hackbench", "-g", &groups.to_string(), "-l", &loops].map(str::to_owned);
    let asked = format!("{}, again and again", hackbench.join(" "));
    let shell = ["sh", "-c", REPEAT_UNTIL_FAILURE, "sh"].map(str::to_owned);
    Ok(ForeignTask {
        asked: vec![(LoadKind::Processes, asked)],
        command: shell.into_iter().chain(hackbench).collect(),
        result: "words",
        read: times,
    })
}

/// `Time: 1.234`, a line for each run: the seconds that all groups' messages took.
fn times(task: &ForeignTask, text: &str) -> Vec<LoadRates> {
    let groups = task.command.iter().skip_while(|word| *word != "-g").nth(1);
    let groups: u64 = groups.and_then(|word| word.parse().ok()).unwrap_or(0);
    let messages = (groups * PAIRS * LOOPS) as f64;
    let seconds = text
        .lines()
        .filter_map(|line| line.strip_prefix("Time:")?.trim().parse::<f64>().ok())
        .filter(|seconds| *seconds > 0.0);
    let seconds: Vec<f64> = seconds.collect();
    vec![LoadRates {
        kind: LoadKind::Processes,
        asked: task.asked[0].1.clone(),
        rates: rate(messages, &seconds).into_iter().collect(),
        trouble: None,
    }]
}

/// Each run gives one rate.
fn rate(messages: f64, seconds: &[f64]) -> Option<Rate> {
    let last = *seconds.last()?;
    let total: f64 = seconds.iter().sum();
    let (shortest, longest) = seconds
        .iter()
        .fold((last, last), |(min, max), it| (it.min(min), it.max(max)));
    Some(Rate {
        name: "delivered".to_owned(),
        unit: "messages/s".to_owned(),
        mean: messages * seconds.len() as f64 / total,
        min: Some(messages / longest),
        max: Some(messages / shortest),
        last: messages / last,
        seconds: total.round() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_gives_a_rate() {
        let options = LoadOptions {
            groups: Some(5),
            ..LoadOptions::default()
        };
        let task = hackbench(&[LoadKind::Processes], &options).unwrap();
        let text = "Running in process mode with 5 groups\nTime: 0.500\nsomething\nTime: 2.000\n";
        let loads = times(&task, text);
        let rate = &loads[0].rates[0];
        assert_eq!((rate.min, rate.max), (Some(100_000.0), Some(400_000.0)));
        assert_eq!((rate.mean, rate.seconds), (160_000.0, 3));
        for nothing in ["", "Time: 0\nTime: x\n"] {
            assert!(times(&task, nothing)[0].rates.is_empty(), "{nothing}");
        }
    }

    #[test]
    fn other_kinds_are_refused() {
        let kinds = [LoadKind::Processes, LoadKind::Disk];
        let error = hackbench(&kinds, &LoadOptions::default()).err().unwrap();
        assert!(error.to_string().contains("disk"), "{error}");
    }
}
