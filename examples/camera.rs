//! The newest frame of a camera, never an old one: `cargo run -p kadenz --features camera --example camera [URL]`.

use std::time::Duration;

fn main() -> kadenz::Result {
    let url = std::env::args()
        .nth(1)
        .unwrap_or("test://640x480@30".to_owned());
    let mut camera = kadenz::Camera::open(&url)?;
    for _ in 0..30 {
        let frame = camera.next(Duration::from_secs(1))?;
        let pixels = frame.to_vec()?;
        println!("frame of {} bytes: {:?} old", pixels.len(), frame.age());
    }
    Ok(())
}
