//! One connection to the server, for one request and its answer: sends, receives, and knows how long nothing came.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::error::PromptFailure;
use super::tls::{TlsStream, is_wait};

/// Longest wait of one read or write, so that the waiting thread also notices an order to stop.
pub(super) const POLL: Duration = Duration::from_millis(50);
/// Bytes of one read at most.
pub(super) const READ_BYTES: usize = 16 << 10;

/// A request on its way, and its answer. Dropping it closes the connection, which tells the server that nobody waits
/// any more.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// Time that the server may be silent.
    patience: Duration,
    request: Vec<u8>,
    /// Bytes of the request that the stream has taken.
    sent: usize,
    /// The stream holds nothing back of what it has taken.
    is_flushed: bool,
    /// When bytes last went out or came in.
    moved: Instant,
}

/// The bytes of a connection, as they are or inside TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

/// Result of one read.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    Bytes(&'a [u8]),
    NothingYet,
    Closed,
}

impl Connection {
    /// Sends what the stream takes at once; the rest goes while the answer is awaited. One read of the stream must not
    /// wait for longer than [`POLL`].
    pub(super) fn open(stream: Stream, request: Vec<u8>, patience: Duration) -> Result<Connection, PromptFailure> {
        let (sent, is_flushed, moved) = (0, false, Instant::now());
        let mut connection = Connection { stream, patience, request, sent, is_flushed, moved };
        connection.send_more().map_err(|error| PromptFailure::Send(error.to_string()))?;
        Ok(connection)
    }

    /// Sends more of the request and waits for bytes, for [`POLL`] at most. A server may answer before it has read all
    /// of the request, and its answer counts even if it refuses the rest.
    pub(super) fn receive<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Heard<'b>, PromptFailure> {
        let before = self.sent;
        let refused = self.send_more().err();
        if self.is_sending() && self.sent > before {
            return Ok(Heard::NothingYet);
        }
        match (self.stream.read(buffer), refused) {
            (Ok(len @ 1..), _) => {
                self.moved = Instant::now();
                Ok(Heard::Bytes(&buffer[..len]))
            }
            (_, Some(error)) => Err(PromptFailure::Send(error.to_string())),
            (Ok(_), None) => Ok(Heard::Closed),
            (Err(error), None) if is_wait(&error) => match self.moved.elapsed() >= self.patience {
                false => Ok(Heard::NothingYet),
                true if self.is_sending() => Err(PromptFailure::Stuck(self.patience)),
                true => Err(PromptFailure::Silent(self.patience)),
            },
            (Err(error), None) => Err(PromptFailure::Receive(error.to_string())),
        }
    }

    /// Sends what is taken within [`POLL`].
    fn send_more(&mut self) -> io::Result<()> {
        let until = Instant::now() + POLL;
        while self.is_sending() {
            match self.send_some() {
                Ok(()) => self.moved = Instant::now(),
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    fn send_some(&mut self) -> io::Result<()> {
        if self.sent < self.request.len() {
            match self.stream.write(&self.request[self.sent..])? {
                0 => return Err(ErrorKind::WriteZero.into()),
                len => self.sent += len,
            }
        } else {
            // TLS keeps what the socket did not take.
            self.stream.flush()?;
            self.is_flushed = true;
        }
        Ok(())
    }

    fn is_sending(&self) -> bool {
        !self.is_flushed
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn open(listener: &TcpListener, request: Vec<u8>, patience: Duration) -> Connection {
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(POLL)).unwrap();
        stream.set_write_timeout(Some(POLL)).unwrap();
        Connection::open(Stream::Plain(stream), request, patience).unwrap()
    }

    #[test]
    fn a_prompt_that_the_server_does_not_take_fails_and_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let patience = Duration::from_millis(200);
        // More than the buffers of both ends hold; the connection waits to be accepted for ever.
        let mut connection = open(&listener, vec![b'x'; 64 << 20], patience);
        assert!(connection.is_sending(), "what is not taken at once is kept");
        let mut buffer = [0; 16];
        let failure = loop {
            match connection.receive(&mut buffer) {
                Ok(heard) => assert!(matches!(heard, Heard::NothingYet)),
                Err(failure) => break failure,
            }
        };
        assert_eq!(failure, PromptFailure::Stuck(patience));
    }

    #[test]
    fn a_large_prompt_arrives_whole_while_its_answer_is_awaited() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = open(&listener, vec![0; 32 << 20], Duration::from_secs(300));
        let reader = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::thread::sleep(Duration::from_millis(150));
            let (mut remainder, mut buffer) = (32 << 20, vec![0; 1 << 20]);
            while remainder > 0 {
                let len = stream.read(&mut buffer).unwrap();
                assert!(len > 0, "closed");
                remainder -= buffer[..len].iter().filter(|byte| **byte == 0).count();
            }
            stream.write_all(b"done").unwrap();
        });
        let mut buffer = [0; 16];
        loop {
            match connection.receive(&mut buffer).unwrap() {
                Heard::Bytes(bytes) => break assert_eq!(bytes, b"done"),
                heard => assert!(matches!(heard, Heard::NothingYet)),
            }
        }
        reader.join().unwrap();
    }
}
