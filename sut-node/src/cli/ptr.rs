//! The name that DNS has for an address. The C library would look into `/etc/hosts` first, where containers have the
//! name that they are to learn here replaced by their id.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Where the servers of DNS are listed.
const RESOLVERS: &str = "/etc/resolv.conf";

/// The port of DNS.
const DNS_PORT: u16 = 53;

/// Longest wait for an answer, and the number of times that the question is asked.
const PATIENCE: Duration = Duration::from_secs(1);
const ATTEMPTS: usize = 3;

/// The longest message over UDP.
const MAX_MESSAGE_BYTES: usize = 512;

/// The most labels of a name, which bounds what a name that points at itself can cost.
const MAX_LABELS: usize = 128;

const HEADER_BYTES: usize = 12;
/// Type and class behind the name in a question: a pointer to a name, on the Internet.
const QUESTION_END: [u8; 4] = [0, 12, 0, 1];
/// A question of ours, which the server may pass on; one of them.
const HEADER: [u8; HEADER_BYTES] = [0x10, 0x4e, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/// The name of this address, as the first server in `/etc/resolv.conf` has it.
///
/// # Errors
/// There is no server, no answer within three seconds, or no such name.
pub(super) fn name_of(address: Ipv4Addr) -> io::Result<String> {
    let listed = std::fs::read_to_string(RESOLVERS)?;
    let server = resolver(&listed).ok_or_else(|| io::Error::other(format!("{RESOLVERS} lists no server")))?;
    ask(SocketAddr::new(server, DNS_PORT), address)
}

/// Asks a server for the name of an address.
fn ask(server: SocketAddr, address: Ipv4Addr) -> io::Result<String> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut message = [0; MAX_MESSAGE_BYTES];
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for _ in 0..ATTEMPTS {
        socket.send(&question(address))?;
        match socket.recv(&mut message) {
            Ok(length) => {
                let answer = message.get(..length).unwrap_or_default();
                return name_in(answer).ok_or_else(|| io::Error::other(format!("{server} knows no name")));
            }
            Err(error) => last = error,
        }
    }
    Err(io::Error::new(last.kind(), format!("{server} does not answer: {last}")))
}

/// The first server that is listed.
fn resolver(listed: &str) -> Option<IpAddr> {
    listed.lines().find_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse().ok())
}

/// The message that asks for the name of an address.
fn question(address: Ipv4Addr) -> Vec<u8> {
    let mut message = HEADER.to_vec();
    let [a, b, c, d] = address.octets().map(|octet| octet.to_string());
    for label in [&d, &c, &b, &a, "in-addr", "arpa"] {
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend_from_slice(&QUESTION_END);
    message
}

/// The name that a message answers with; none in one that has none or that cannot be read.
fn name_in(message: &[u8]) -> Option<String> {
    let count = |at: usize| Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]));
    if message.get(..2) != Some(&HEADER[..2]) {
        return None;
    }
    let (questions, answers) = (count(4)?, count(6)?);
    let mut at = HEADER_BYTES;
    for _ in 0..questions {
        at = name_at(message, at)?.1 + QUESTION_END.len();
    }
    for _ in 0..answers {
        // Behind a name: type, class, how long it holds (4 bytes), length, content.
        let fields = name_at(message, at)?.1;
        let (kind, length) = (count(fields)?, usize::from(count(fields + 8)?));
        let content = fields + 10;
        if kind == u16::from(QUESTION_END[1]) {
            return name_at(message, content).map(|(name, _)| name).filter(|name| !name.is_empty());
        }
        at = content + length;
    }
    None
}

/// The name that begins at `at`, and where what follows it begins. Names may go on elsewhere in the message.
fn name_at(message: &[u8], at: usize) -> Option<(String, usize)> {
    let (mut at, mut end, mut labels) = (at, None, Vec::new());
    while labels.len() < MAX_LABELS {
        match *message.get(at)? {
            0 => return Some((labels.join("."), end.unwrap_or(at + 1))),
            length @ 1..=63 => {
                let label = message.get(at + 1..at + 1 + usize::from(length))?;
                labels.push(String::from_utf8_lossy(label).into_owned());
                at += 1 + usize::from(length);
            }
            high @ 192.. => {
                let to = usize::from(u16::from_be_bytes([high & 63, *message.get(at + 1)?]));
                end.get_or_insert(at + 2);
                // Always backwards, so that there is an end.
                at = Some(to).filter(|&to| to < at)?;
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a server's answer to `question`: a name that begins in the question and ends elsewhere in the message.
    fn answer(question: &[u8]) -> Vec<u8> {
        let mut message = question.to_vec();
        // An answer, and a record of another type before it.
        message[2..8].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 2]);
        message.extend_from_slice(&[0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 2, 0xc0, 12]);
        message.extend_from_slice(&[0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 60, 0, 12]);
        message.extend_from_slice(b"\x09lab_sut_3");
        message.extend_from_slice(&[0xc0, 12 + 2 + 2 + 3 + 4]);
        message
    }

    #[test]
    fn a_server_is_asked_and_its_answer_read() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let mut message = [0; MAX_MESSAGE_BYTES];
            let (length, client) = server.recv_from(&mut message).unwrap();
            server.send_to(&answer(&message[..length]), client).unwrap();
            message[..length].to_vec()
        });
        let name = ask(at, [172, 18, 0, 3].into()).unwrap();
        let query = serving.join().unwrap();
        assert!(name.starts_with("lab_sut_3."), "{name}");
        assert_eq!(name_at(&query, HEADER_BYTES).unwrap().0, "3.0.18.172.in-addr.arpa");
    }

    #[test]
    fn what_is_no_answer_names_nobody() {
        let question = question([172, 18, 0, 3].into());
        assert_eq!(name_in(&question), None, "no answer in it");
        let whole = answer(&question);
        assert!(name_in(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(name_in(&whole[..length]), None, "cut off at {length}");
        }
        let mut endless = whole;
        // The name in the answer points at itself.
        let at = endless.len() - 12;
        endless[at..at + 2].copy_from_slice(&[0xc0, at as u8]);
        assert_eq!(name_in(&endless), None);
    }

    #[test]
    fn the_first_server_that_is_listed_is_asked() {
        assert_eq!(resolver("# nameserver 1.1.1.1\nsearch lab\nnameserver 127.0.0.11\n"), "127.0.0.11".parse().ok());
        assert_eq!(resolver("options ndots:0\n"), None);
    }
}
