//! How many segments of a TCP connection were sent again: the kernel knows it, and no safe interface has it.
//!
//! It is there on Linux only.

use std::os::fd::BorrowedFd;

/// Segments that this end of a connection has sent again since it began; none when the system does not say.
/// The number is the kernel's counter, which wraps at 2^32.
#[cfg(target_os = "linux")]
pub(crate) fn retransmits(socket: BorrowedFd<'_>) -> Option<u32> {
    use std::mem::{MaybeUninit, offset_of};
    use std::os::fd::AsRawFd as _;

    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel writes at most `len` bytes, which is the
    // size of `info`, and says in `len` how many it wrote; it keeps neither pointer.
    #[allow(unsafe_code)]
    let outcome = unsafe {
        let (info, len) = (info.as_mut_ptr().cast(), &raw mut len);
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info, len)
    };
    // An older kernel has fewer fields, and says so by the length.
    let needed = offset_of!(libc::tcp_info, tcpi_total_retrans) + size_of::<u32>();
    if outcome != 0 || (len as usize) < needed {
        return None;
    }
    // SAFETY: it was zeroed, and every field of it is an integer: any bytes, and so the kernel's, make a valid one.
    #[allow(unsafe_code)]
    let info = unsafe { info.assume_init() };
    Some(info.tcpi_total_retrans)
}

/// Always none: this system does not say how many segments were sent again.
#[cfg(not(target_os = "linux"))]
pub(crate) fn retransmits(_socket: BorrowedFd<'_>) -> Option<u32> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn connections_are_told_from_what_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(retransmits(near.as_fd()).is_some());
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(retransmits(udp.as_fd()), None);
    }
}
