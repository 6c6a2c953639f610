//! A segment as its TOML file.

use std::fmt::Write as _;

use kadenz_ethercat::sim::file::{Kind, Placed, Plan};
use kadenz_ethercat::sim::model::drive::{Motor, Parameters};

/// The file that describes a humanoid, or whatever was read; its faults are left out.
pub(super) fn toml(plan: &Plan) -> anyhow::Result<String> {
    let mut text = format!(
        "# A virtual EtherCAT segment: kadenz ethercat sim FILE.toml --interface veth0\n\
         # Each device is plugged into its parent's port; docs/ethercat.md has every field.\n\
         seed = {}\n",
        plan.seed
    );
    for placed in &plan.devices {
        text.push('\n');
        device(&mut text, placed, plan)?;
    }
    Ok(text)
}

fn device(text: &mut String, placed: &Placed, plan: &Plan) -> anyhow::Result<()> {
    let model = match &placed.kind {
        Kind::Ek1100 => "ek1100",
        Kind::Ek1914 => "ek1914",
        Kind::El2828 => "el2828",
        Kind::El2889 => "el2889",
        Kind::El3004 => "el3004",
        Kind::Drive(_) => "drive",
        Kind::Imu => "imu",
        Kind::Force => "force",
        Kind::Stamp(_) => "stamp",
        Kind::Described(_) => anyhow::bail!(
            "\"{}\" is of an ESI file, which a printed file could not name; copy the file that there is",
            placed.name
        ),
    };
    writeln!(
        text,
        "[[device]]\nname = {}\nmodel = \"{model}\"",
        quoted(&placed.name)
    )?;
    if let Some(parent) = placed.parent {
        let name = plan
            .devices
            .get(parent.device)
            .map_or("", |it| it.name.as_str());
        writeln!(text, "parent = {}\nport = {}", quoted(name), parent.port)?;
    }
    let usual = Placed::new("", Kind::Imu, None);
    if placed.ports != usual.ports {
        writeln!(text, "ports = {}", placed.ports)?;
    }
    if placed.alias != 0 {
        writeln!(text, "alias = {}", placed.alias)?;
    }
    writeln!(text, "serial = {}", placed.serial)?;
    if placed.delay_ns != usual.delay_ns {
        writeln!(text, "delay_ns = {}", placed.delay_ns)?;
    }
    if placed.jitter_ns != 0 {
        writeln!(text, "jitter_ns = {}", placed.jitter_ns)?;
    }
    if placed.drift_ppm != 0.0 {
        writeln!(text, "drift_ppm = {:?}", placed.drift_ppm)?;
    }
    if let Kind::Drive(parameters) = &placed.kind {
        writeln!(text, "drive = {{ {} }}", drive(parameters))?;
    }
    Ok(())
}

/// The motor that is nearest by name, and what differs from it.
fn drive(parameters: &Parameters) -> String {
    let named = [
        ("knee", Motor::knee()),
        ("elbow", Motor::elbow()),
        ("finger", Motor::finger()),
    ];
    let motor = &parameters.motor;
    let found = named.iter().find(|(_, it)| it.rated == motor.rated);
    let (name, usual) = found.unwrap_or(&named[1]);
    let of = Parameters::default();
    let mut fields = vec![format!("motor = \"{name}\"")];
    let numbers = [
        ("inertia", motor.inertia, usual.inertia),
        ("viscous", motor.viscous, usual.viscous),
        ("coulomb", motor.coulomb, usual.coulomb),
        ("gravity", motor.gravity, usual.gravity),
        ("load", motor.load, usual.load),
        ("rated", motor.rated, usual.rated),
        ("peak", motor.peak, usual.peak),
        ("start", parameters.start, of.start),
        ("bandwidth", parameters.bandwidth, of.bandwidth),
        (
            "following_error",
            parameters.following_error,
            of.following_error,
        ),
    ];
    let differing = numbers.iter().filter(|(_, is, usual)| is != usual);
    fields.extend(differing.map(|(name, is, _)| format!("{name} = {is:?}")));
    if motor.increments != usual.increments {
        fields.push(format!("increments = {}", motor.increments));
    }
    fields.join(", ")
}

/// A text of TOML. A name has no control characters that JSON would write otherwise than TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use kadenz_ethercat::sim::humanoid::humanoid;

    use super::*;

    fn read(text: &str) -> Plan {
        Plan::parse("printed.toml", text, &mut |_| Err("no files".to_owned())).unwrap()
    }

    #[test]
    fn what_is_printed_is_the_same_segment_when_it_is_read() {
        for devices in [1, 12, 59, 128] {
            let mut plan = humanoid(devices);
            plan.devices[0].alias = 7;
            plan.devices[0].jitter_ns = 20;
            let mut again = read(&toml(&plan).unwrap());
            // A file has one seed for all, which makes that of each.
            for (placed, of) in again.devices.iter_mut().zip(&plan.devices) {
                placed.seed = of.seed;
            }
            assert_eq!(format!("{again:?}"), format!("{plan:?}"));
        }
    }

    #[test]
    fn a_drive_that_was_changed_is_printed_so() {
        let mut plan = read(
            "[[device]]\nname = \"a \\\"b\\\" \\\\ ä\"\nmodel = \"drive\"\ndrive = { motor = \"knee\", load = 2.5, start = -1.0, increments = 4096 }",
        );
        let again = read(&toml(&plan).unwrap());
        plan.devices[0].seed = again.devices[0].seed;
        assert_eq!(format!("{again:?}"), format!("{plan:?}"));
    }
}
