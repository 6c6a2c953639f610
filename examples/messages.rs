//! Typed messages over the bus that `LCM_DEFAULT_URL` names.
#[derive(kadenz::Message, Debug, Default)]
struct Command {
    position: [f64; 3],
}

fn main() -> kadenz::Result {
    let bus = kadenz::Bus::open_default()?;
    let mut inbox = bus.subscribe::<Command>("ARM")?;
    bus.publish("ARM", &Command { position: [1.0; 3] })?;
    while let Some(it) = inbox.recv(std::time::Duration::from_secs(1))? {
        println!("{}: {:?}", it.delivery.channel, it.message);
    }
    Ok(())
}
