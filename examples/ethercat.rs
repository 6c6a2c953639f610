//! A control law over EtherCAT at 1 kHz: on the virtual humanoid, or at the interface that the argument names, as `eth1`.
fn main() -> kadenz::Result {
    let run = kadenz::Recording::create("run")?;
    let segment = std::env::args().nth(1).unwrap_or("sim:59".to_owned());
    let net = kadenz::ethercat::Network::open_segment(&segment)?.record(&run);
    let net = net.tuned(kadenz::Tuning::fifo(80).locked()).bring_up()?;
    let knee = net.device("left knee")?;
    let (drive, actual, target) = (knee.drive()?, knee.input(0x6064)?, knee.output(0x607A)?);
    net.run(|io| {
        io.control(drive, kadenz::ethercat::Goal::Enabled, true); // and resets a fault
        io.set(target, io.get::<i32>(actual)); // your control law
        kadenz::ethercat::Flow::until(io.number() == 2_000)
    })?;
    println!("{}", run.finish()?);
    Ok(())
}
