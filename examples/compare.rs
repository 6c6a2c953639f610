//! What differs between two runs beyond chance.
fn main() -> kadenz::Result {
    let (before, after) = (kadenz::read("before")?, kadenz::read("after")?);
    for change in kadenz::compare(&before, &after).significant() {
        println!("{change}");
    }
    Ok(())
}
