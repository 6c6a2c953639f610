//! The cost of a conversion: yuv420p of the named sizes into layouts, beside a copy of the same bytes.
//!
//!     cargo run --release -p kadenz-camera --example layout_cost -- [LAYOUT]... [--milliseconds N]
//!
//! Prints one JSON object: for each layout and `copy` of its bytes, for each size the first decile in nanoseconds,
//! since other load of the machine lengthens the other times. Gray is of luma in full range.
#![allow(clippy::print_stdout, reason = "an example's answer goes there")]

use std::time::{Duration, Instant};

use kadenz_camera::layout::{Channels, Converter, Layout};
use kadenz_camera::picture::{Chroma, Matrix, Picture, Pixels, Plane, Range, Size};
use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut layouts = Vec::new();
    let mut budget = Duration::from_millis(200);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--milliseconds" {
            let number = arguments.next().ok_or("--milliseconds needs a number")?;
            budget = Duration::from_millis(number.parse()?);
        } else {
            layouts.push(argument.parse::<Layout>()?);
        }
    }
    if layouts.is_empty() {
        layouts.push("rgb-column-major".parse()?);
    }
    let mut answer = Map::new();
    for layout in layouts {
        let (mut converted, mut copied) = (Map::new(), Map::new());
        for (name, size) in Size::NAMED {
            let (ns, copy_ns) = measure(layout, size, budget)?;
            converted.insert(name.to_owned(), ns.into());
            copied.insert(name.to_owned(), copy_ns.into());
        }
        answer.insert(layout.to_string(), Value::Object(converted));
        answer.insert(format!("copy of {layout}"), Value::Object(copied));
    }
    println!("{}", Value::Object(answer));
    Ok(())
}

/// Nanoseconds of a conversion and of a copy of its output, in turns.
fn measure(
    layout: Layout,
    size: Size,
    budget: Duration,
) -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let chroma = Chroma::Yuv420;
    let (width, height) = (size.width as usize, size.height as usize);
    let (chroma_width, chroma_height) = chroma.plane(size);
    let bytes = |length: usize, step: usize| -> Vec<u8> {
        (0..length).map(|i| (i * step + (i >> 9)) as u8).collect()
    };
    let y = bytes(width * height, 3);
    let (u, v) = (
        bytes(chroma_width * chroma_height, 5),
        bytes(chroma_width * chroma_height, 7),
    );
    let pixels = Pixels::Yuv {
        y: Plane::new(&y, width, height, width)?,
        u: Plane::new(&u, chroma_width, chroma_height, chroma_width)?,
        v: Plane::new(&v, chroma_width, chroma_height, chroma_width)?,
        chroma,
        matrix: Matrix::Bt601,
        range: if layout.channels == Channels::Gray {
            Range::Full
        } else {
            Range::Limited
        },
    };
    let picture = Picture::new(size, pixels)?;
    let mut converter = Converter::new(layout);
    let mut out = vec![1; layout.bytes(size)?];
    let mut copy = vec![2; out.len()];
    converter.convert(&picture, &mut out)?;
    copy.copy_from_slice(&out);
    let (mut converted, mut copied) = (Vec::new(), Vec::new());
    let end = Instant::now() + budget;
    while Instant::now() < end || converted.len() < 5 {
        let start = Instant::now();
        converter.convert(&picture, &mut out)?;
        let between = Instant::now();
        copy.copy_from_slice(std::hint::black_box(&out));
        std::hint::black_box(&mut copy);
        converted.push((between - start).as_nanos() as u64);
        copied.push(between.elapsed().as_nanos() as u64);
    }
    Ok((first_decile(converted), first_decile(copied)))
}

fn first_decile(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 10]
}
