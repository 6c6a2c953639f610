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
    let pi = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];
    if ["/usr/sbin/grubby", "/sbin/grubby"]
        .iter()
        .any(|path| root.has(path))
    {
        format!("sudo grubby --update-kernel=ALL --args='{parameter}' && sudo reboot")
    } else if root.has("/etc/default/grub") {
        format!(
            "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{parameter} /' /etc/default/grub && sudo update-grub && sudo reboot"
        )
    } else if let Some(path) = pi.iter().find(|path| root.has(path)) {
        format!("sudo sed -i '1s/$/ {parameter}/' {path} && sudo reboot")
    } else {
        format!("add {parameter} to the kernel's command line in the boot loader, then reboot")
    }
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
