//! Server-sent events out of bytes, as <https://html.spec.whatwg.org/multipage/server-sent-events.html> has them. No
//! socket, no clock, and no knowledge of what the events say.
//!
//! The crates that do this (eventsource-stream 0.2, sse-stream 0.3, sseer 0.3) keep to the standard where servers do
//! not: they drop an event whose data stands in a field `error`, and a last event without its empty line. Nor do they
//! limit the length of an event.

/// Bytes of one event at most.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// Reads events out of bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data lines of the event that has not ended yet.
    data: Vec<u8>,
    has_data: bool,
    is_error: bool,
    /// A line ended with CR: a LF that follows belongs to it.
    after_cr: bool,
    /// The first line is over; a byte order mark can only stand at its beginning.
    has_first_line: bool,
}

/// One event of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// Its data, the lines joined by line feeds.
    pub(super) data: &'a [u8],
    /// The event is called `error`, or its data stands in a field `error`, as older servers of llama.cpp send it, or in
    /// no field of events at all.
    pub(super) is_error: bool,
}

/// An event goes on beyond the bytes that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

impl SseParser {
    /// Takes bytes as they came and calls `each` with every event that ends in them. Stops at its first error.
    pub(super) fn feed<E: From<EventTooLong>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let [first, tail @ ..] = bytes {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = tail;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.data.len() + part.len() > MAX_EVENT_BYTES {
                return Err(EventTooLong.into());
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { return Ok(()) };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(&mut each)?;
        }
        Ok(())
    }

    /// The bytes are over. `each` is called with a last event that lacks only its empty line, though the standard drops
    /// it: what it says came whole, and not every server ends its last event well.
    pub(super) fn end<E>(&mut self, mut each: impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.line.is_empty() {
            self.end_line(&mut each)?;
        }
        self.end_line(&mut each)
    }

    fn end_line<E>(&mut self, each: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut line = std::mem::take(&mut self.line);
        let text = line.as_slice();
        let text = if self.has_first_line { text } else { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text) };
        self.has_first_line = true;
        if text.is_empty() {
            let has_data = std::mem::take(&mut self.has_data);
            let event = Event { data: &self.data, is_error: std::mem::take(&mut self.is_error) };
            let outcome = if has_data || event.is_error { each(event) } else { Ok(()) };
            self.data.clear();
            outcome?;
        } else {
            self.field(text);
        }
        line.clear();
        self.line = line;
        Ok(())
    }

    /// Adds a line of data.
    fn add(&mut self, line: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(line);
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" | b"error" => {
                self.add(value);
                self.is_error |= name == b"error";
            }
            b"event" => self.is_error |= value == b"error",
            // Comments have no name, and ids and times to wait are for clients that connect again.
            b"" | b"id" | b"retry" => {}
            // The standard passes over it. Servers that fail send JSON, HTML or plain text where a stream was due.
            _ => {
                self.add(line);
                self.is_error = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of bytes, the same however the bytes are cut; those of errors begin with "!".
    fn events(bytes: &[u8]) -> Vec<String> {
        let read_in = |step: usize| {
            let (mut parser, mut events) = (SseParser::default(), Vec::new());
            let mut each = |event: Event<'_>| {
                let mark = if event.is_error { "!" } else { "" };
                events.push(format!("{mark}{}", String::from_utf8_lossy(event.data)));
                Ok::<(), EventTooLong>(())
            };
            for part in bytes.chunks(step) {
                parser.feed(part, &mut each).unwrap();
            }
            parser.end(&mut each).unwrap();
            events
        };
        let whole = read_in(bytes.len());
        for step in 1..8 {
            assert_eq!(read_in(step), whole, "in pieces of {step}");
        }
        whole
    }

    #[test]
    fn events_end_with_an_empty_line() {
        assert_eq!(events(b"data: a\n\ndata: b\n\n"), ["a", "b"]);
        assert_eq!(events(b"data: a\r\n\r\ndata: b\r\n\r\n"), ["a", "b"]);
        assert_eq!(events(b"data: a\r\rdata:b\r\r"), ["a", "b"]);
        assert_eq!(events("\u{feff}data: é\n\n".as_bytes()), ["é"]);
        assert_eq!(events(b"data: a\ndata:  b\ndata\n\n"), ["a\n b\n"]);
        assert_eq!(events(b"data:\n\n"), [""]);
    }

    #[test]
    fn what_is_no_data_is_passed_over() {
        assert_eq!(events(b": ping\n\nevent: x\nid: 7\nretry: 3\n\n: \ndata: a\n\n"), ["a"]);
        assert_eq!(events(b"data: a\n\nevent: error\ndata: b\n\ndata: c\n\nerror: d\n\n"), ["a", "!b", "c", "!d"]);
    }

    #[test]
    fn what_is_no_event_is_an_error() {
        assert_eq!(events(b"{\n  \"detail\": \"no\"\n}"), ["!{\n  \"detail\": \"no\"\n}"]);
        assert_eq!(events(b"data: a\n\nInternal Server Error"), ["a", "!Internal Server Error"]);
        assert_eq!(events(b"<html>\n\ndata: a\n\n"), ["!<html>", "a"]);
        assert_eq!(events(b"event: error\n\ndata: a\n\n"), ["!", "a"]);
    }

    #[test]
    fn the_last_event_may_lack_its_end() {
        assert_eq!(events(b"data: a\n\ndata: [DONE]\n"), ["a", "[DONE]"]);
        assert_eq!(events(b"data: a\n\ndata: [DONE]"), ["a", "[DONE]"]);
    }

    #[test]
    fn an_event_without_end_is_an_error() {
        let mut parser = SseParser::default();
        let line = [&b"data: "[..], &vec![b'x'; 1 << 20], b"\n"].concat();
        let outcome = (0..5).try_for_each(|_| parser.feed(&line, |_| Ok::<(), EventTooLong>(())));
        assert_eq!(outcome, Err(EventTooLong));
    }
}
