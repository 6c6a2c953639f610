//! The result of a check.

use std::fmt;

use serde::Serialize;

use super::Machine;
use crate::host::{self, ReadFactError, Root};

/// How much a finding matters to a loop that must keep a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Looked at, and as it should be.
    Fine,
    /// Worth knowing, or not known; costs nothing by itself.
    Note,
    /// Makes wake-ups later or less even.
    Costs,
    /// Can by itself stop a loop for milliseconds, or makes a measurement here worth little.
    Spoils,
}

impl Severity {
    /// [`Severity::Costs`] if `so`, else [`Severity::Note`].
    pub(super) fn costs_if(so: bool) -> Self {
        if so { Self::Costs } else { Self::Note }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Fine => "fine",
            Self::Note => "note",
            Self::Costs => "costs",
            Self::Spoils => "spoils",
        })
    }
}

/// One finding of the doctor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The check's stable name, for example `cpu-governor`.
    pub id: &'static str,
    /// The state found, in one line.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// The cost, in words, with its source.
    pub cost: String,
    /// How it was seen: file and value. Begins with `not known here:` when it could not be seen.
    pub evidence: String,
    /// The command that fixes it. Where fixing it now and for good differ there are two lines,
    /// `now: ...` and `for good: ...`.
    pub remedy: Option<String>,
}

impl Finding {
    /// A finding without cost, evidence and remedy; the builder methods add them.
    #[must_use]
    pub fn new(id: &'static str, severity: Severity, title: impl Into<String>) -> Self {
        Self {
            id,
            title: one_line(&title.into()),
            severity,
            cost: String::new(),
            evidence: String::new(),
            remedy: None,
        }
    }

    /// Makes a finding of severity [`Severity::Fine`].
    #[must_use]
    pub fn fine(id: &'static str, title: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(id, Severity::Fine, title)
            .cost("none")
            .evidence(evidence)
    }

    /// Sets what the finding costs a real-time program, in one line.
    #[must_use]
    pub fn cost(mut self, cost: impl Into<String>) -> Self {
        self.cost = one_line(&cost.into());
        self
    }

    /// Sets the value that was read and where, in one line.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = one_line(&evidence.into());
        self
    }

    /// Sets the command or step that removes the cause, in one line.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The title, the cost and the evidence in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self {
            title,
            cost,
            evidence,
            ..
        } = self;
        format!("{title}: {cost} (seen: {evidence})")
    }

    /// False when the check could not read the state it looks for.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.evidence.starts_with("not known here:")
    }
}

/// A finding of a check: [`Check::examine`](super::Check::examine) adds the check's name.
pub(super) fn found(severity: Severity, title: impl Into<String>) -> Finding {
    Finding::new("", severity, title)
}

pub(super) fn fine(title: impl Into<String>, evidence: impl Into<String>) -> Finding {
    Finding::fine("", title, evidence)
}

pub(super) fn note(title: impl Into<String>) -> Finding {
    found(Severity::Note, title)
}

pub(super) fn costs(title: impl Into<String>) -> Finding {
    found(Severity::Costs, title)
}

pub(super) fn spoils(title: impl Into<String>) -> Finding {
    found(Severity::Spoils, title)
}

/// The findings, or the given one where there are none.
pub(super) fn or_else(
    findings: impl Iterator<Item = Finding>,
    none: impl FnOnce() -> Finding,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = findings.collect();
    if findings.is_empty() {
        findings.push(none());
    }
    findings
}

/// Why a check cannot read the state it looks for; `?` makes one of a file that cannot be read.
#[derive(Clone, Debug)]
pub(super) struct Unknown(String);

impl Unknown {
    pub(super) fn because(why: &str) -> Self {
        Self(format!("not known here: {why}"))
    }

    pub(super) fn absent(paths: &str) -> Self {
        Self::because(&format!("{paths} absent"))
    }

    pub(super) fn and(self, more: &str) -> Self {
        Self(format!("{}, and {more}", self.0))
    }

    /// The finding of a check that looks for `what`.
    pub(super) fn finding(self, what: &str) -> Finding {
        note(format!("{what}: not known"))
            .cost("unknown")
            .evidence(self.0)
    }
}

impl From<ReadFactError> for Unknown {
    fn from(why: ReadFactError) -> Self {
        Self(why.to_string())
    }
}

/// Names of processes and messages of the kernel may hold anything, also control sequences of a terminal: white
/// space becomes one blank, other control characters a question mark.
fn one_line(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.replace(|c: char| c.is_control(), "?"))
        .collect();
    words.join(" ")
}

// The usual forms of a remedy: now, and for good.

/// Two lines: the remedy until the next boot, and the permanent remedy.
pub(super) fn now_and_for_good(now: &str, for_good: &str) -> String {
    format!("now: {now}\nfor good: {for_good}")
}

/// A value below `/proc/sys`, for example `("kernel.timer_migration", "0")`.
pub(super) fn sysctl(key: &str, value: &str) -> String {
    now_and_for_good(
        &format!("sudo sysctl -w {key}={value}"),
        &format!("echo '{key} = {value}' | sudo tee -a /etc/sysctl.d/90-kadenz.conf"),
    )
}

/// A file below `/sys`; `*` in the path stands for every CPU.
pub(super) fn sysfs(path: &str, value: &str) -> String {
    now_and_for_good(
        &format!("echo {value} | sudo tee {path}"),
        &format!("echo 'w {path} - - - - {value}' | sudo tee -a /etc/tmpfiles.d/90-kadenz.conf"),
    )
}

/// A parameter on the kernel's command line, in the form of this machine's boot loader, at the end of the line: of
/// several values of a parameter the kernel takes the last.
pub(super) fn kernel_parameter(machine: &Machine<'_>, parameter: &str) -> String {
    let command = boot_loader_command(machine.root, parameter);
    // One that needs another has both.
    let contrary = parameter.split(' ').find_map(|word| {
        let (name, wanted) = word.split_once('=').unwrap_or((word, ""));
        let present = host::kernel::parameter(machine.root, name)?;
        (present != wanted).then(|| format!("{name}={}", one_line(&present)))
    });
    match contrary {
        Some(contrary) => {
            format!("first remove {contrary} from the kernel's command line: {command}")
        }
        None => command,
    }
}

fn boot_loader_command(root: &Root, parameter: &str) -> String {
    let any = |paths: &[&'static str]| paths.iter().copied().find(|path| root.has(path));
    if any(&["/usr/sbin/grubby", "/sbin/grubby"]).is_some() {
        return format!("sudo grubby --update-kernel=ALL --args='{parameter}' && sudo reboot");
    }
    if root.has("/etc/default/grub") {
        // Both are shell scripts. Debian's folder is read after the file, in the order of the names.
        let debian = any(&["/usr/sbin/update-grub", "/sbin/update-grub"]).is_some();
        let update = match debian {
            true => "update-grub",
            false => "grub-mkconfig -o /boot/grub/grub.cfg",
        };
        let file = match debian && root.has("/etc/default/grub.d") {
            true => "/etc/default/grub.d/zz-kadenz.cfg",
            false => "/etc/default/grub",
        };
        return format!(
            "printf '\\n%s\\n' 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {parameter}\"' | \
             sudo tee -a {file} && sudo {update} && sudo reboot"
        );
    }
    // Raspberry Pi, and the boards of NVIDIA and others that boot by extlinux.
    if let Some(path) = any(&["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"]) {
        return format!("sudo sed -i '1s/$/ {parameter}/' {path} && sudo reboot");
    }
    if let Some(path) = any(&["/boot/extlinux/extlinux.conf"]) {
        return format!("sudo sed -i 's/^ *APPEND .*/& {parameter}/I' {path} && sudo reboot");
    }
    format!("add {parameter} to the kernel's command line in the boot loader, then reboot")
}

/// A command that has to run at every boot, as a unit of systemd called `kadenz-<name>`.
pub(super) fn at_boot(name: &str, command: &str) -> String {
    let unit = format!("kadenz-{name}.service");
    let text = [
        "[Unit]".to_owned(),
        "After=network.target".to_owned(),
        "[Service]".to_owned(),
        "Type=oneshot".to_owned(),
        format!("ExecStart=/bin/sh -c \"{command}\""),
        "[Install]".to_owned(),
        "WantedBy=multi-user.target".to_owned(),
    ];
    let text = text.join("\\n");
    format!(
        "printf '{text}\\n' | sudo tee /etc/systemd/system/{unit} && sudo systemctl enable {unit}"
    )
}

/// A name from the machine as one word of a shell: groups and interfaces may have any name.
pub(super) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-,:@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    let shown = text.replace(|c: char| c.is_control(), "?");
    format!("'{}'", shown.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_commanded_by_evidence() {
        let finding = Finding::fine("id", "title", "name\t\x1b[2J\n evil");
        assert_eq!(finding.evidence, "name ?[2J evil");
    }
}

#[cfg(test)]
mod remedy_tests {
    use super::*;

    #[test]
    fn a_name_is_never_a_command() {
        assert_eq!(
            shell_word("/sys/fs/cgroup/a-b.slice"),
            "/sys/fs/cgroup/a-b.slice"
        );
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("a';reboot;'\n"), r"'a'\'';reboot;'\''?'");
    }

    /// The remedy on a machine whose file of GRUB has this text, and the value that GRUB then passes to the kernel.
    fn with_grub(text: &str, command_line: &[u8], folder: Option<&str>) -> (String, String) {
        let machine = tempfile::tempdir().unwrap();
        let files = [
            ("/etc/default/grub", text.as_bytes()),
            ("/usr/sbin/update-grub", b""),
            ("/proc/cmdline", command_line),
        ];
        let later = folder.map(|text| ("/etc/default/grub.d/50-cloud.cfg", text.as_bytes()));
        let files = files.into_iter().chain(later);
        for (path, bytes) in files {
            let path = machine.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let root = Root::at(machine.path());
        let remedy = kernel_parameter(&Machine::read(&root), "nosmt");
        let command = remedy.split(" && ").next().unwrap();
        let command = command.rsplit(": ").next().unwrap();
        let command = command
            .replace("sudo ", "")
            .replace("/etc/", &format!("{}/etc/", machine.path().display()));
        let sourced = format!(
            "{command} >&2; cd {}/etc/default; for it in ./grub ./grub.d/*.cfg; do if test -e $it; then . $it; fi; \
             done; echo $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT",
            machine.path().display()
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &sourced])
            .output()
            .unwrap();
        (remedy, String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn the_parameter_is_the_last_on_the_command_line_however_grub_is_set_up() {
        for (text, before) in [
            ("", ""),
            ("GRUB_CMDLINE_LINUX=\"nosmt=no\"\n", "nosmt=no "),
            (
                "GRUB_CMDLINE_LINUX_DEFAULT='quiet splash'\n",
                "quiet splash ",
            ),
            ("GRUB_CMDLINE_LINUX_DEFAULT=quiet\n", "quiet "),
            (
                "GRUB_CMDLINE_LINUX_DEFAULT=quiet\n# no end of line",
                "quiet ",
            ),
        ] {
            let (remedy, line) = with_grub(text, b"ro quiet\n", None);
            assert_eq!(line, format!("{before}nosmt\n"), "{remedy}");
            assert!(
                remedy.ends_with("&& sudo update-grub && sudo reboot"),
                "{remedy}"
            );
        }
        let later = Some("GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0\"\n");
        let (remedy, line) = with_grub("GRUB_CMDLINE_LINUX_DEFAULT=quiet\n", b"ro\n", later);
        assert_eq!(line, "console=ttyS0 nosmt\n", "{remedy}");
    }

    #[test]
    fn a_contrary_parameter_is_to_be_removed_first() {
        let (remedy, _) = with_grub("", b"ro nosmt=force quiet\n", None);
        assert!(
            remedy.starts_with("first remove nosmt=force from"),
            "{remedy}"
        );
        let (remedy, _) = with_grub("", b"ro nosmtx quiet\n", None);
        assert!(remedy.starts_with("printf"), "{remedy}");
        let machine = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(machine.path().join("proc")).unwrap();
        std::fs::write(
            machine.path().join("proc/cmdline"),
            "ro nohz_full=3 rcu_nocbs=2\n",
        )
        .unwrap();
        let root = Root::at(machine.path());
        let remedy = kernel_parameter(&Machine::read(&root), "nohz_full=3 rcu_nocbs=3");
        assert!(
            remedy.starts_with("first remove rcu_nocbs=2 from"),
            "{remedy}"
        );
    }
}
