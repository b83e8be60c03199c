//! The name that DNS has for an address. The C library would look into `/etc/hosts` first, where containers have the
//! name that they are to learn here replaced by their id.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, Question, TYPE};

/// Where the servers of DNS are listed.
const RESOLVERS: &str = "/etc/resolv.conf";

/// The port of DNS.
const DNS_PORT: u16 = 53;

/// Longest wait for an answer, and the number of times that the question is asked.
const PATIENCE: Duration = Duration::from_secs(1);
const ATTEMPTS: usize = 3;

/// The longest message over UDP.
const MAX_MESSAGE_BYTES: usize = 512;

/// Number of the question, which its answer repeats.
const QUESTION_ID: u16 = 0x104e;

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
    let question = question(address).map_err(io::Error::other)?;
    let mut message = [0; MAX_MESSAGE_BYTES];
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for _ in 0..ATTEMPTS {
        socket.send(&question)?;
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
fn question(address: Ipv4Addr) -> Result<Vec<u8>, simple_dns::SimpleDnsError> {
    let [a, b, c, d] = address.octets();
    let name = format!("{d}.{c}.{b}.{a}.in-addr.arpa");
    let mut packet = Packet::new_query(QUESTION_ID);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    packet.questions.push(Question::new(Name::new(&name)?, TYPE::PTR.into(), CLASS::IN.into(), false));
    packet.build_bytes_vec()
}

/// The name that a message answers with; none in one that has none or that cannot be read.
fn name_in(message: &[u8]) -> Option<String> {
    let packet = Packet::parse(message).ok().filter(|packet| packet.id() == QUESTION_ID)?;
    let name = packet.answers.into_iter().find_map(|record| match record.rdata {
        RData::PTR(name) => Some(name.0.to_string()),
        _ => None,
    });
    name.filter(|name| !name.is_empty())
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
        let query = Packet::parse(&query).unwrap();
        assert_eq!(query.questions[0].qname.to_string(), "3.0.18.172.in-addr.arpa");
    }

    #[test]
    fn what_is_no_answer_names_nobody() {
        let question = question([172, 18, 0, 3].into()).unwrap();
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
