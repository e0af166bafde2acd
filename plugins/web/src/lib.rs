//! The web console: a channel whose chats people read in a browser, the built page, and the files
//! that people and programs upload. A reply is delivered once it is in the log, because the page reads the log.

mod assets;
mod channel;
mod program_files;
mod uploads;

pub use assets::assets;
pub use channel::{KeptFiles, Web};
pub use program_files::ProgramFileStore;
pub use uploads::UploadStore;
