//! How long strsim takes to compare every pair of some titles: the best of many turns, in microseconds.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

const TITLES: [&str; 12] = [
    "The Old Man and the Sea",
    "The Old Man and the See",
    "A Tale of Two Cities",
    "Tale of Two Cities, A",
    "One Hundred Years of Solitude",
    "Hundred Years of Solitude",
    "The Brothers Karamazov",
    "Братья Карамазовы",
    "Crime and Punishment",
    "Crimes and Punishments",
    "À la recherche du temps perdu",
    "A la recherche du temps perdu",
];

fn main() {
    // The stack of the main thread begins at a random place, and tables on it are faster or slower for that.
    let best = thread::spawn(|| (0..500).map(|_| turn()).min().unwrap()).join().unwrap();
    println!("compare_us: {:.2}", best.as_secs_f64() * 1e6);
}

fn turn() -> Duration {
    let start = Instant::now();
    for a in TITLES {
        for b in TITLES {
            black_box(strsim::levenshtein(black_box(a), black_box(b)));
        }
    }
    start.elapsed()
}
