//! The layers between this program and the machine: a hypervisor, a container, or none.

use super::Root;

/// A hypervisor or container and where it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// Its name, for example `kvm` or `docker`.
    pub name: String,
    /// The file and its words that say so.
    pub evidence: String,
}

/// The detected layers; both absent on bare metal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Virtualisation {
    /// The hypervisor beneath the kernel.
    pub hypervisor: Option<Layer>,
    /// The container around the process.
    pub container: Option<Layer>,
    /// Whether anything was readable at all: if not, absence proves nothing.
    pub readable: bool,
}

impl Virtualisation {
    /// `kvm`, `kvm, docker`, `none`; absent when nothing was readable.
    #[must_use]
    pub(crate) fn describe(&self) -> Option<String> {
        let layers = [&self.hypervisor, &self.container];
        let names: Vec<&str> = layers
            .into_iter()
            .flatten()
            .map(|l| l.name.as_str())
            .collect();
        match (names.is_empty(), self.readable) {
            (true, false) => None,
            (true, true) => Some("none".to_owned()),
            (false, _) => Some(names.join(", ")),
        }
    }
}

/// Looks for a hypervisor and a container.
#[must_use]
pub(crate) fn read(root: &Root) -> Virtualisation {
    let readable = root.read("/proc/cpuinfo").is_ok() || root.read(DMI_VENDOR).is_ok();
    Virtualisation {
        hypervisor: hypervisor(root),
        container: container(root),
        readable,
    }
}

const DMI_VENDOR: &str = "/sys/devices/virtual/dmi/id/sys_vendor";

/// Words in the DMI tables that name a hypervisor.
const DMI_WORDS: [(&str, &str); 12] = [
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek GmbH", "virtualbox"),
    ("QEMU", "qemu"),
    ("KVM", "kvm"),
    ("Xen", "xen"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Amazon EC2", "amazon ec2"),
    ("Google Compute Engine", "google compute engine"),
    ("OpenStack", "openstack"),
    ("Virtual Machine", "hyper-v"),
];

fn hypervisor(root: &Root) -> Option<Layer> {
    let flag = cpu_flag(root);
    // Cloud providers rent bare machines under the same vendor name: there the flag is absent, and on x86, where
    // the flag exists, it decides.
    if root
        .read("/proc/cpuinfo")
        .is_ok_and(|text| text.contains("vendor_id"))
        && flag.is_none()
    {
        return None;
    }
    cpuid_name(root)
        .or_else(|| from_files(root))
        .or_else(|| from_dmi(root))
        .or(flag)
}

fn cpu_flag(root: &Root) -> Option<Layer> {
    let cpuinfo = root.read("/proc/cpuinfo").ok()?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    flags
        .split_whitespace()
        .any(|flag| flag == "hypervisor")
        .then(|| Layer {
            name: "unnamed hypervisor".to_owned(),
            evidence: "/proc/cpuinfo: flag hypervisor".to_owned(),
        })
}

fn from_files(root: &Root) -> Option<Layer> {
    let path = "/sys/hypervisor/type";
    if let Ok(name) = root.read(path)
        && !name.is_empty()
    {
        return Some(Layer {
            evidence: format!("{path}: {name}"),
            name,
        });
    }
    // ARM and RISC-V machines have no such flag; their device tree names the hypervisor.
    let path = "/proc/device-tree/hypervisor/compatible";
    let name = root.read(path).ok()?;
    let name = name.trim_matches('\0').to_owned();
    Some(Layer {
        evidence: format!("{path}: {name}"),
        name,
    })
}

fn from_dmi(root: &Root) -> Option<Layer> {
    let files = ["sys_vendor", "product_name", "board_vendor", "bios_vendor"];
    let readings = files.iter().filter_map(|file| {
        let path = format!("/sys/devices/virtual/dmi/id/{file}");
        let text = root.read(&path).ok()?;
        let (_, name) = DMI_WORDS.iter().find(|(word, _)| text.contains(word))?;
        Some(Layer {
            name: (*name).to_owned(),
            evidence: format!("{path}: {text}"),
        })
    });
    readings.into_iter().next()
}

/// The name that the hypervisor reports at CPUID leaf 0x4000_0000; `None` for a fake root.
fn cpuid_name(root: &Root) -> Option<Layer> {
    if root.is_live() { cpuid() } else { None }
}

/// The hypervisor beneath, as the processor reports it; always `None` on processors other than x86_64.
pub(super) fn cpuid() -> Option<Layer> {
    #[cfg(target_arch = "x86_64")]
    let signature = crate::os::x86_64::hypervisor_signature()?;
    #[cfg(not(target_arch = "x86_64"))]
    let signature = Option::<String>::None?;
    let known = [
        ("KVMKVMKVM", "kvm"),
        ("VMwareVMware", "vmware"),
        ("Microsoft Hv", "hyper-v"),
        ("XenVMMXenVMM", "xen"),
        ("VBoxVBoxVBox", "virtualbox"),
        ("TCGTCGTCGTCG", "qemu (emulated)"),
        ("bhyve bhyve", "bhyve"),
        ("ACRNACRNACRN", "acrn"),
    ];
    let name = known.iter().find(|(word, _)| signature == *word);
    let name = name.map_or(signature.as_str(), |(_, name)| name).to_owned();
    Some(Layer {
        name,
        evidence: format!("CPUID leaf 0x40000000: {signature}"),
    })
}

fn container(root: &Root) -> Option<Layer> {
    let layer = |name: &str, evidence: String| {
        Some(Layer {
            name: name.to_owned(),
            evidence,
        })
    };
    for (path, name) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if root.has(path) {
            return layer(name, format!("{path} exists"));
        }
    }
    let path = "/run/systemd/container";
    if let Ok(name) = root.read(path) {
        return layer(&name, format!("{path}: {name}"));
    }
    let path = "/proc/1/cgroup";
    let text = root.read(path).ok()?;
    let words = [
        ("docker", "docker"),
        ("kubepods", "kubernetes"),
        ("lxc", "lxc"),
        ("libpod", "podman"),
    ];
    let (line, name) = text.lines().find_map(|line| {
        let (_, name) = words.iter().find(|(word, _)| line.contains(word))?;
        Some((line, name))
    })?;
    layer(name, format!("{path}: {line}"))
}
