//! The web console: a channel whose chats people read in a browser, the built page, and the files
//! that people upload. A reply is delivered once it is in the log, because the page reads the log.

mod assets;
mod channel;
mod uploads;

pub use assets::assets;
pub use channel::Web;
pub use uploads::UploadStore;
