//! The usual forms of a remedy: now, and for good.

use super::Machine;

/// Two lines: what mends it until the next boot, and what mends it for good.
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

/// A parameter on the kernel's command line, in the way of this machine's boot loader.
pub(super) fn kernel_parameter(machine: &Machine<'_>, parameter: &str) -> String {
    let root = machine.root;
    let any = |paths: &[&'static str]| paths.iter().copied().find(|path| root.has(path));
    if any(&["/usr/sbin/grubby", "/sbin/grubby"]).is_some() {
        return format!("sudo grubby --update-kernel=ALL --args='{parameter}' && sudo reboot");
    }
    if root.has("/etc/default/grub") {
        let update = match any(&["/usr/sbin/update-grub", "/sbin/update-grub"]) {
            Some(_) => "update-grub",
            None => "grub-mkconfig -o /boot/grub/grub.cfg",
        };
        return format!(
            "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{parameter} /' /etc/default/grub && sudo \
             {update} && sudo reboot"
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

/// A name from the machine as one word of a shell: groups and interfaces may be called anything.
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
    fn a_name_is_never_a_command() {
        assert_eq!(
            shell_word("/sys/fs/cgroup/a-b.slice"),
            "/sys/fs/cgroup/a-b.slice"
        );
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("a';reboot;'\n"), r"'a'\'';reboot;'\''?'");
    }
}
