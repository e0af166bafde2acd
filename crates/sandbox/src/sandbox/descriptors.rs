//! Sends open files through a socket, with one byte of data.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The most files of one message.
const MOST: usize = 3;

/// Sends the files to the process at the other end of the socket.
pub(super) fn send_files<const N: usize>(
    to: impl AsFd,
    files: [BorrowedFd<'_>; N],
) -> io::Result<()> {
    const { assert!(N <= MOST) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(to, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives exactly `N` files. Fails if the socket ends before they come.
pub(super) async fn receive_files<const N: usize>(from: &UnixStream) -> io::Result<[OwnedFd; N]> {
    const { assert!(N <= MOST) };
    from.async_io(Interest::READABLE, || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let given = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(rights) => Some(rights),
            _ => None,
        });
        let files: Vec<OwnedFd> = given.flatten().collect();
        files.try_into().map_err(|_| ErrorKind::UnexpectedEof.into())
    })
    .await
}
