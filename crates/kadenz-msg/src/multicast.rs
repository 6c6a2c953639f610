//! The causes for which LCM's multicast fails on this host, with their remedies, in place of a failed
//! self-test.
//!
//! ```
//! use kadenz_msg::multicast::examine;
//! use kadenz_msg::provider::parameters::Address;
//!
//! let address = Address::parse("udpm://239.255.76.67:7667?ttl=0&iface=nowhere0")?;
//! let findings = examine(&address)?;
//! # if cfg!(target_os = "linux") {
//! let interface = findings.iter().find(|it| it.id == "multicast-interface").unwrap();
//! assert!(interface.title.contains("nowhere0"));
//! assert!(interface.remedy.is_some());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::net::IpAddr;

use kadenz_rt::doctor::{Finding, Severity};
use kadenz_rt::net::interface::InterfaceKind;
use kadenz_rt::net::multicast::{LinkState, MulticastFacts, situation};
use kadenz_rt::tuning::Measure;

use crate::provider::parameters::Address;
use crate::provider::udpm::{Options, SelfTest, Udpm};
use crate::provider::{Provider as _, ProviderError};

/// Examines the way of a `udpm://` URL's messages: the state of each part, its cost, and its remedy; the
/// worst first. Sends a few datagrams to the URL's group, which every LCM program ignores, and changes
/// nothing. Takes up to a second.
///
/// [`Severity::Spoils`] means here that messages do not arrive, and [`Severity::Costs`] that some may
/// not.
///
/// # Errors
/// If the URL is not `udpm://`, or has an invalid parameter.
pub fn examine(address: &Address) -> Result<Vec<Finding>, ProviderError> {
    if address.scheme() != "udpm" {
        let reason = format!("{}:// is not multicast", address.scheme());
        return Err(address.wrong(reason, "give a URL that begins with udpm://"));
    }
    let bus = Udpm::open(address)?;
    let asked = bus.asked();
    let seen = situation(asked.group.ip(), asked.interface.as_deref());
    let tested = bus.self_test();
    Ok(judge(asked, &seen, &tested, &bus))
}

fn judge(asked: &Options, seen: &MulticastFacts, tested: &SelfTest, bus: &Udpm) -> Vec<Finding> {
    let mut findings = network(asked, seen, tested);
    findings.extend(granted(bus));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Returns whether messages can arrive, by what was found.
#[must_use]
pub fn works(findings: &[Finding]) -> bool {
    findings.iter().all(|it| it.severity < Severity::Spoils)
}

// The settings that the kernel refused to the sockets themselves.

/// Returns one finding for each setting that was requested and refused.
fn granted(bus: &Udpm) -> Vec<Finding> {
    let refused = |measure: &Measure| !measure.ok;
    let measures = bus.measures();
    measures
        .iter()
        .filter(|it| refused(it))
        .map(finding)
        .collect()
}

fn finding(measure: &Measure) -> Finding {
    let title = format!(
        "{}: {} asked, {} granted",
        measure.name, measure.requested, measure.granted
    );
    let finding = Finding::new("multicast-socket", Severity::Costs, title)
        .cost("a receiver that pauses loses what does not fit into its buffer")
        .evidence(measure.reason.clone().unwrap_or_default());
    match &measure.remedy {
        Some(remedy) => finding.remedy(remedy.clone()),
        None => finding,
    }
}

// The facts of a network, judged without a look at it, so that every case is tested.

/// The minimum receive buffer: an image of a camera does not fit into less.
const SMALL_BUFFER: u64 = 2_000_000;

/// Returns one finding for each part of the way.
fn network(asked: &Options, seen: &MulticastFacts, tested: &SelfTest) -> Vec<Finding> {
    let all = [
        Some(self_test(asked, tested)),
        route(asked, seen),
        Some(interface(asked, seen)),
        flag(seen),
        Some(ttl(asked, seen)),
        several(asked, seen),
        members(seen),
        wireless(seen),
        buffer(asked, seen),
        reverse_path(seen),
        firewall(asked, seen),
    ];
    all.into_iter().flatten().collect()
}

fn self_test(asked: &Options, tested: &SelfTest) -> Finding {
    let id = "multicast-self-test";
    let group = asked.group;
    match tested {
        SelfTest::Heard { after } => Finding::fine(
            id,
            format!("this host receives its own messages to {group}"),
            format!("received after {after:?}"),
        ),
        SelfTest::Silent { sent } => Finding::new(
            id,
            Severity::Spoils,
            format!("this host does not receive its own messages to {group}"),
        )
        .cost("no message arrives, not even on this host")
        .evidence(format!("{sent} datagrams were sent within a second and none was received"))
        .remedy("see the other findings; where there are none, `sudo nft list ruleset` and `sudo iptables -S` show rules that drop"),
        SelfTest::Refused { why } => Finding::new(
            id,
            Severity::Spoils,
            format!("no socket takes part in {group}"),
        )
        .cost("no message arrives, not even on this host")
        .evidence(why.clone())
        .remedy("the evidence names it; the finding about route or interface has the command"),
    }
}

fn route(asked: &Options, seen: &MulticastFacts) -> Option<Finding> {
    let id = "multicast-route";
    let group = seen.group;
    if asked.interface.is_some() {
        return None;
    }
    Some(match &seen.route {
        Ok(route) => {
            let by = route.interface.as_deref().unwrap_or("an unknown interface");
            let title = format!("messages leave by {by}, as the routes lead");
            Finding::fine(id, title, format!("the route to {group} has the source {}", route.source))
        }
        Err(error) => Finding::new(id, Severity::Spoils, format!("no route leads to {group}"))
            .cost("LCM's programs do not start here, and nothing is sent")
            .evidence(error.to_string())
            .remedy(format!(
                "on a network: put `iface=` with its interface into the URL, or sudo ip route add {} dev INTERFACE; \
                 without one: sudo ip link set lo up multicast on && sudo ip route add {} dev lo",
                all_groups(group),
                all_groups(group)
            )),
    })
}

fn all_groups(group: IpAddr) -> &'static str {
    if group.is_ipv4() {
        "224.0.0.0/4"
    } else {
        "ff00::/8"
    }
}

fn interface(asked: &Options, seen: &MulticastFacts) -> Finding {
    let id = "multicast-interface";
    let Some(name) = &seen.interface else {
        return Finding::new(id, Severity::Note, "no interface is known to be looked at")
            .cost("unknown")
            .evidence("neither the URL nor a route names one");
    };
    let broken = |title: String| {
        Finding::new(id, Severity::Spoils, title).cost("nothing is sent and nothing arrives")
    };
    match seen.state {
        None if asked.interface.is_none() => Finding::new(
            id,
            Severity::Note,
            format!("the state of {name} is unknown"),
        )
        .cost("unknown")
        .evidence("unknown"),
        None => broken(format!("there is no interface {name}"))
            .evidence("the kernel knows none of that name")
            .remedy("`ip -br link` lists those that there are; put one into `iface=`"),
        Some(LinkState { up: false, .. }) => broken(format!("the interface {name} is down"))
            .evidence("its flags lack UP")
            .remedy(format!("sudo ip link set {name} up")),
        Some(_) => Finding::fine(
            id,
            format!("the interface {name} is up"),
            "its flags have UP",
        ),
    }
}

/// Linux lets the loopback take part without the flag, but not LCM's users' routes.
fn flag(seen: &MulticastFacts) -> Option<Finding> {
    let (name, state) = (seen.interface.as_ref()?, seen.state?);
    if state.multicast {
        return None;
    }
    let (severity, cost) = if state.loopback {
        (
            Severity::Note,
            "nothing on this host; some programs look for the flag",
        )
    } else {
        (Severity::Costs, "its driver may pass no multicast")
    };
    let title = format!("the interface {name} has no MULTICAST flag");
    let finding = Finding::new("multicast-flag", severity, title)
        .cost(cost)
        .evidence("its flags lack MULTICAST");
    Some(finding.remedy(format!("sudo ip link set {name} multicast on")))
}

fn ttl(asked: &Options, seen: &MulticastFacts) -> Finding {
    let id = "multicast-ttl";
    let on_loopback = seen.state.is_some_and(|state| state.loopback);
    match asked.ttl {
        0 => Finding::new(id, Severity::Note, "ttl=0 keeps messages on this host")
            .cost("programs on other hosts do not receive them")
            .evidence("the URL has ttl=0, or no ttl")
            .remedy("for several hosts: ?ttl=1 in the URL, on all of them"),
        ttl if on_loopback => {
            Finding::new(id, Severity::Costs, format!("ttl={ttl}, but messages leave by the loopback"))
                .cost("programs on other hosts do not receive them")
                .evidence("the loopback leads to no other host")
                .remedy("put `iface=` with the interface of the robot's network into the URL; `ip -br address` lists them")
        }
        1 => Finding::fine(id, "ttl=1 lets messages through the network", "the URL"),
        ttl => Finding::new(id, Severity::Note, format!("ttl={ttl} lets routers forward messages"))
            .cost("every network on the way carries the messages; routers pass multicast only if so configured")
            .evidence("the URL")
            .remedy("where all hosts are in one network: ?ttl=1"),
    }
}

fn several(asked: &Options, seen: &MulticastFacts) -> Option<Finding> {
    if asked.interface.is_some() || seen.others.is_empty() || asked.ttl == 0 {
        return None;
    }
    let others = seen.others.join(", ");
    let chosen = seen.interface.as_deref().unwrap_or("one");
    let title = format!("the routes choose {chosen} among several interfaces");
    let finding = Finding::new("multicast-several-interfaces", Severity::Costs, title)
        .cost("when the routes change, programs that run go on by the old one and new ones take another")
        .evidence(format!("also up: {others}"));
    Some(finding.remedy("put `iface=` with the robot's interface into the URL, on this host"))
}

fn members(seen: &MulticastFacts) -> Option<Finding> {
    let id = "multicast-members";
    let chosen = seen.interface.as_ref()?;
    let elsewhere: Vec<&str> = seen
        .members
        .iter()
        .filter(|it| *it != chosen)
        .map(String::as_str)
        .collect();
    if elsewhere.is_empty() {
        let title = match seen.members.len() {
            0 => "no program on this host has joined the group".to_owned(),
            _ => format!("programs on this host have joined the group on {chosen}"),
        };
        return Some(Finding::fine(id, title, "/proc/net/igmp"));
    }
    let elsewhere = elsewhere.join(", ");
    let title =
        format!("a program on this host has joined the group on {elsewhere}, and not on {chosen}");
    let finding = Finding::new(id, Severity::Costs, title)
        .cost("it may not receive what is sent here: it joined when the routes led elsewhere, or names an interface")
        .evidence("/proc/net/igmp");
    Some(finding.remedy("start it again, or give both the same `iface=`"))
}

fn wireless(seen: &MulticastFacts) -> Option<Finding> {
    let (name, state) = (seen.interface.as_ref()?, seen.state?);
    if state.kind != Some(InterfaceKind::Wireless) {
        return None;
    }
    let title = format!("{name} is Wi-Fi");
    let finding = Finding::new("multicast-wireless", Severity::Costs, title)
        .cost("access points send multicast at their lowest rate, unacknowledged, and hold it back for sleeping stations")
        .evidence("the interface's kind");
    Some(finding.remedy(format!(
        "a cable, or a unicast bus between the hosts; at least: sudo iw dev {name} set power_save off"
    )))
}

fn buffer(asked: &Options, seen: &MulticastFacts) -> Option<Finding> {
    let id = "multicast-receive-buffer";
    let most = seen.largest_receive_buffer?;
    let wanted = (asked.receive_buffer() as u64).max(SMALL_BUFFER);
    if most >= SMALL_BUFFER {
        let title = format!("a receiver may have a buffer of {most} bytes");
        return Some(Finding::fine(id, title, "net.core.rmem_max"));
    }
    let title = format!("a receiver without rights may have a buffer of {most} bytes only");
    let finding = Finding::new(id, Severity::Costs, title)
        .cost("a message longer than that is lost, and so is what comes while a receiver pauses: LCM's commonest trouble")
        .evidence(format!("net.core.rmem_max = {most}"));
    Some(finding.remedy(format!(
        "now: sudo sysctl -w net.core.rmem_max={wanted}\n\
         for good: echo net.core.rmem_max={wanted} | sudo tee -a /etc/sysctl.d/90-kadenz-net.conf"
    )))
}

fn reverse_path(seen: &MulticastFacts) -> Option<Finding> {
    let (name, filter) = (seen.interface.as_ref()?, seen.reverse_path_filter?);
    let id = "multicast-reverse-path";
    if filter != 1 || seen.others.is_empty() {
        let title = "what comes is not dropped for the way back";
        let fine = Finding::fine(
            id,
            title,
            format!("net.ipv4.conf.{name}.rp_filter = {filter}"),
        );
        return Some(fine);
    }
    let title = format!("what comes by {name} is dropped where the way back leads elsewhere");
    let finding = Finding::new(id, Severity::Costs, title)
        .cost("messages of hosts with addresses of another of this host's networks vanish without a trace")
        .evidence(format!("net.ipv4.conf.{name}.rp_filter = 1, and there are other interfaces"));
    Some(finding.remedy(format!(
        "sudo sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.{name}.rp_filter=2"
    )))
}

fn firewall(asked: &Options, seen: &MulticastFacts) -> Option<Finding> {
    let loaded = seen.firewall.as_ref()?;
    if asked.ttl == 0 {
        return None;
    }
    let (ip, port) = (asked.group.ip(), asked.group.port());
    let finding = Finding::new(
        "multicast-firewall",
        Severity::Note,
        "a packet filter is loaded",
    )
    .cost("where its rules drop what comes from outside, only this host's own messages arrive")
    .evidence(loaded.clone());
    Some(finding.remedy(format!(
        "see the rules: sudo nft list ruleset; sudo iptables -S\n\
         let it in: sudo iptables -I INPUT -d {ip} -p udp --dport {port} -j ACCEPT; sudo iptables -I INPUT -p igmp -j ACCEPT"
    )))
}

#[cfg(test)]
mod tests;
