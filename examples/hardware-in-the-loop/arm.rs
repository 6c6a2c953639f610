//! A simulated arm that sends its position and receives a torque, for a controller in any language, and measures the
//! loop through it: `cargo run --release -p kadenz --example hardware_in_the_loop -- RUN [URL [RATE [SECONDS]]]`.
use kadenz::rt::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How long the arm waits for a controller.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(kadenz::Message, Default)]
struct Feedback {
    number: i64,
    sent_ns: i64,
    position: f64,
    velocity: f64,
}

#[derive(kadenz::Message, Default)]
struct Command {
    number: i64,
    sent_ns: i64,
    torque: f64,
}

/// A link of 1 kg and 0.5 m, which hangs at 0.
#[derive(Default)]
struct Arm {
    position: f64,
    velocity: f64,
}

impl Arm {
    fn step(&mut self, torque: f64, seconds: f64) {
        let gravity = 9.81 * 0.5 * self.position.sin();
        self.velocity += (torque - 0.2 * self.velocity - gravity) / 0.25 * seconds;
        self.position += self.velocity * seconds;
    }
}

/// Moves the arm and sends its position, for so long from the first answer on; returns how often it sent it.
fn drive(
    arm: &mut Arm,
    bus: &kadenz::Bus,
    ticks: kadenz::Ticks<'_>,
    torque: &AtomicU64,
    span: Duration,
) -> Result<i64, Box<dyn std::error::Error>> {
    let (mut number, mut end, mut is_held) = (0, clock::now() + TIMEOUT, false);
    for tick in ticks {
        let torque = f64::from_bits(torque.load(Relaxed));
        if torque != 0.0 && !is_held {
            (is_held, end) = (true, clock::now() + span);
        }
        if clock::now() >= end {
            break;
        }
        arm.step(torque, tick.step().as_secs_f64());
        number += 1;
        let feedback = Feedback {
            number,
            sent_ns: clock::now().as_ns().cast_signed(),
            position: arm.position,
            velocity: arm.velocity,
        };
        bus.publish("FEEDBACK", &feedback)?;
    }
    Ok(number)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or(default.to_owned());
    let (folder, url) = (next("arm"), next("udpm://239.255.76.67:7667?ttl=0"));
    let (rate, span) = (
        next("1kHz"),
        Duration::try_from_secs_f64(next("10").parse()?)?,
    );
    let bus = kadenz::Bus::open(&url)?;
    let mut commands = bus.subscribe::<Command>("COMMAND")?;
    let run = kadenz::Recording::create(folder)?;
    let mut round_trip = run.durations("round-trip")?;
    let ticks = kadenz::Periodic::new(&rate)?.record(&run, "lateness")?;
    let (torque, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut arm, mut answered) = (Arm::default(), 0);
    let sent = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let Ok(Some(it)) = commands.recv(Duration::from_millis(50)) else {
                    continue;
                };
                let sent = clock::MonotonicTime::from_ns(it.message.sent_ns.cast_unsigned());
                round_trip.record(sent, clock::now());
                torque.store(it.message.torque.to_bits(), Relaxed);
                answered += 1;
            }
        });
        let sent = drive(&mut arm, &bus, ticks, &torque, span);
        is_over.store(true, Relaxed);
        sent
    })?;
    println!("{}", run.finish()?);
    println!(
        "{sent} feedbacks, {answered} answered; the arm is at {:.3} rad",
        arm.position
    );
    Ok(())
}
