//! The offset of a host's clock: a line goes there and its time comes back, a few times over one connection. The host
//! has read its clock between the two moments here; half of what is between them is the doubt.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::shell::{Shell, Started};
use super::{answers, script};
use lon_run::outputs::documents::fleet::FleetClock;

/// Round trips. The first one has the making of the connection in it.
const ROUND_TRIPS: usize = 5;
/// Longest time for a command to end after its input has ended.
const END: Duration = Duration::from_millis(500);
/// The most that is read.
const MAX_BYTES: u64 = 4 << 10;

/// The offset by the round trip with the least doubt; None when the host did not answer with a time.
pub(super) fn offset(shell: Shell<'_>, timeout: Duration) -> Option<FleetClock> {
    let command = shell.command(&script::clock()).ok()?;
    let mut started = Started::new(&command, Stdio::piped(), Stdio::piped(), Stdio::null()).ok()?;
    let (mut input, output) = (started.child.stdin.take()?, started.child.stdout.take()?);
    let (sender, receiver) = mpsc::channel();
    // Ends when the command has ended, at the latest.
    std::thread::Builder::new()
        .name("clock".to_owned())
        .spawn(move || {
            for line in BufReader::new(output.take(MAX_BYTES)).lines().map_while(Result::ok) {
                if sender.send((SystemTime::now(), line)).is_err() {
                    return;
                }
            }
        })
        .ok()?;
    let deadline = Instant::now() + timeout;
    let mut best: Option<FleetClock> = None;
    for _ in 0..ROUND_TRIPS {
        let request_time = SystemTime::now();
        let is_sent = input.write_all(b"\n").and_then(|()| input.flush()).is_ok();
        // A login shell may greet: what is no time answers nothing.
        let answer = || {
            let remaining = || deadline.saturating_duration_since(Instant::now());
            let lines = std::iter::from_fn(|| receiver.recv_timeout(remaining()).ok());
            { lines }.find(|(_, line)| answers::time(line).is_some())
        };
        let Some((answered, line)) = is_sent.then(answer).flatten() else { break };
        if let Some(clock) = between(ns(request_time), &line, ns(answered))
            && best.as_ref().is_none_or(|best| clock.uncertainty_ns < best.uncertainty_ns)
        {
            best = Some(clock);
        }
    }
    drop(input);
    let _ = started.wait(Instant::now() + END, shell.stop);
    best
}

/// The offset of a clock that said `text` between two moments here, in ns since 1970.
fn between(request_ns: i128, text: &str, answered: i128) -> Option<FleetClock> {
    let (there, doubt) = answers::time(text)?;
    let offset = i64::try_from(there - (request_ns + answered) / 2).ok()?;
    let uncertainty = u64::try_from((answered - request_ns) / 2 + doubt).ok()?;
    Some(FleetClock { offset_ns: offset, uncertainty_ns: uncertainty })
}

fn ns(time: SystemTime) -> i128 {
    let since = time.duration_since(UNIX_EPOCH).map(|since| since.as_nanos()).unwrap_or_default();
    i128::try_from(since).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_middle_of_a_round_trip_is_compared() {
        let at = 1_764_000_000_000_000_000;
        let clock = between(at, "1764000000005000000", at + 4_000_000).unwrap();
        assert_eq!((clock.offset_ns, clock.uncertainty_ns), (3_000_000, 2_000_000));
        let whole = between(at, "1764000000", at).unwrap();
        assert_eq!((whole.offset_ns, whole.uncertainty_ns), (500_000_000, 500_000_000));
        assert_eq!(between(at, "no clock", at), None);
    }

    #[test]
    fn this_machine_agrees_with_itself_and_a_mute_one_has_no_clock() {
        let stop = AtomicBool::new(false);
        let ssh = ["sh", "-c"].map(str::to_owned);
        let here = offset(Shell { ssh: &ssh, host: "h", stop: &stop }, Duration::from_secs(60)).unwrap();
        assert!(here.offset_ns.unsigned_abs() <= here.uncertainty_ns, "{here:?}");
        let greeting = ["sh", "-c", "echo Welcome; exec sh -c \"$1\"", "h"].map(str::to_owned);
        let greeted = offset(Shell { ssh: &greeting, host: "h", stop: &stop }, Duration::from_secs(60)).unwrap();
        assert!(greeted.offset_ns.unsigned_abs() <= greeted.uncertainty_ns, "{greeted:?}");
        let mute = ["sh", "-c", "exit 1"].map(str::to_owned);
        assert_eq!(offset(Shell { ssh: &mute, host: "h", stop: &stop }, Duration::from_secs(60)), None);
    }
}
