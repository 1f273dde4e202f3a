//! The change points of series on stdin: a line is a name, a tab and the values. What `bench/otava/run` asks.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::io::BufRead;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (name, values) = line.split_once('\t').ok_or("a line without a tab")?;
        let values = values.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let points = prony_stats::change_points(&values, 0.0, 1)?;
        let words: Vec<String> = points
            .iter()
            .map(|point| format!("{} {:?}", point.index, point.certainty).to_lowercase())
            .collect();
        println!("{name}\t{}", if words.is_empty() { "-".to_owned() } else { words.join(", ") });
    }
    Ok(())
}
