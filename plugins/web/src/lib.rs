//! The web console. A channel whose chats people read in a browser: a reply is delivered once it is in
//! the log, where the page reads it. Also the built page, and the files that people upload.

mod assets;
mod channel;
mod uploads;

pub use assets::assets;
pub use channel::Web;
pub use uploads::UploadStore;
