//! What differs between two runs beyond chance.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (before, after) = (kadenz::read("before")?, kadenz::read("after")?);
    for change in kadenz::compare(&before, &after).significant() {
        println!("{change}");
    }
    Ok(())
}
