//! A program that dies with whoever started it.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};

use kadenz_rt::tuning::{self, Tuning};
use tempfile::TempDir;

/// Its parameters: the program's folder, the file with its result, the program with arguments.
///
/// Standard input closes when whoever holds the other end lets go of it or dies. `kill 0` reaches
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

/// The shell, with the program below it.
pub(super) struct Watched {
    shell: Child,
    /// Removed by the shell; by this, should somebody have killed the shell.
    _folder: TempDir,
}

/// What a program left when it ended.
pub(super) struct Answer {
    /// The file with its result, empty if there is none.
    pub(super) result: String,
    /// The last lines that it said.
    pub(super) words: String,
}

impl Watched {
    pub(super) fn start(folder: TempDir, command: &[String], result: &str) -> io::Result<Self> {
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
            // Ctrl-C at a terminal goes to this program alone, which then ends that one in order.
            shell.process_group(0);
        }
        // It begins with the policy of the thread that starts it.
        let _ordinary = tuning::apply(&Tuning::default());
        Ok(Self {
            shell: shell.spawn()?,
            _folder: folder,
        })
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        // Where the system does not tell, it is asked again at the end.
        matches!(self.shell.try_wait(), Ok(Some(_)))
    }

    /// Ends it and takes its answer.
    pub(super) fn end(mut self) -> io::Result<Answer> {
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
        // Its answer is not wanted any more.
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
