//! Which servers of NATS are good enough.

use super::BusError;

/// The least release of each line that is still maintained; lines in between have none, later lines are good. Older
/// ones lack fixes of authorization and silently ignore options that they don't know.
const LEAST: [(u64, u64, u64); 3] = [(2, 11, 16), (2, 12, 7), (2, 14, 0)];

/// Whether a server of this version may carry a load's commands.
pub fn check_version(version: &str) -> Result<(), BusError> {
    let number = |text: &str| text.split(['-', '+']).next().and_then(|number| number.parse::<u64>().ok());
    let numbers: Vec<Option<u64>> = version.trim_start_matches('v').splitn(3, '.').map(number).collect();
    let good = match numbers[..] {
        [Some(major), Some(minor), Some(patch)] => {
            let line = LEAST.iter().find(|least| (least.0, least.1) == (major, minor));
            line.map_or((major, minor) > (2, 14), |least| patch >= least.2)
        }
        _ => false,
    };
    if good {
        return Ok(());
    }
    let shown: String = version.chars().filter(|character| !character.is_control()).take(40).collect();
    Err(BusError::Connect(format!(
        "the broker is nats-server {shown}, and agents need 2.11.16 or later, 2.12.7 or later, or 2.14 or later"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        for good in ["2.11.16", "2.11.99", "2.12.7", "2.14.0", "2.15.2", "2.15.0-RC.1", "3.0.0", "v2.14.1"] {
            assert_eq!(check_version(good), Ok(()), "{good}");
        }
        for bad in ["2.9.10", "2.10.29", "2.11.15", "2.12.6", "2.13.9", "1.4.1", "", "2.14", "x", "2.14.x"] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }
}
