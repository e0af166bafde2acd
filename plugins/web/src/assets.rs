//! The built page, which is a part of the program.

use std::sync::OnceLock;

use avocet_protocol::channel::WebAsset;

/// The files of `console/dist`, by their paths there. `true` stands for bytes of gzip.
const FILES: &[(&str, &[u8], bool)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Media types (RFC 6838) by the ends of names.
const MEDIA_TYPES: [(&str, &str); 9] = [
    (".css", "text/css; charset=utf-8"),
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".json", "application/json"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain; charset=utf-8"),
    (".webmanifest", "application/manifest+json"),
    (".woff2", "font/woff2"),
];

/// Returns the files of the built page.
#[must_use]
pub fn assets() -> &'static [WebAsset] {
    static ASSETS: OnceLock<Vec<WebAsset>> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let asset = |&(path, bytes, is_gzipped): &_| {
            let media_type = media_type(path);
            WebAsset { path, media_type, bytes, is_gzipped }
        };
        FILES.iter().map(asset).collect()
    })
}

fn media_type(path: &str) -> &'static str {
    let known = MEDIA_TYPES.iter().find(|(end, _)| path.ends_with(end));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_the_page_and_the_files_that_it_names() {
        let page = assets().iter().find(|asset| asset.path == "index.html").unwrap();
        let text = std::str::from_utf8(page.bytes).unwrap();
        assert!(page.media_type.starts_with("text/html"), "{page:?}");
        let built = assets().iter().filter(|asset| asset.path.starts_with("assets/"));
        let built: Vec<_> = built.map(|asset| (asset.path, asset.media_type)).collect();
        for end in [".js", ".css"] {
            let named = |(path, _): &&(&str, &str)| path.ends_with(end) && text.contains(path);
            assert!(built.iter().any(|file| named(&file)), "{end}: {built:?}\n{text}");
        }
        assert!(built.iter().all(|(_, media)| !media.ends_with("octet-stream")), "{built:?}");
        assert!(assets().iter().any(|asset| asset.path == "icon.svg"));
    }

    /// Browsers check the sum and the length, so a wrong one would cost the page.
    #[test]
    fn assets_that_are_gzipped_are_the_built_files() {
        let gzipped: Vec<_> = assets().iter().filter(|asset| asset.is_gzipped).collect();
        assert!(gzipped.iter().any(|asset| asset.path.ends_with(".js")), "{gzipped:?}");
        for asset in gzipped {
            let root = env!("CARGO_MANIFEST_DIR");
            let path = format!("{root}/console/dist/{}", asset.path);
            let output = std::process::Command::new("python3")
                .args(["-c", "import gzip, sys; sys.stdout.buffer.write(gzip.decompress(sys.stdin.buffer.read()))"])
                .stdin(gzip_file(asset.bytes))
                .output()
                .unwrap();
            assert!(output.stdout == std::fs::read(path).unwrap(), "{}", asset.path);
            assert!(asset.bytes.len() * 2 < output.stdout.len(), "{}", asset.path);
        }
    }

    fn gzip_file(bytes: &[u8]) -> std::fs::File {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, bytes).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        file
    }

    #[test]
    fn media_type_follows_the_end_of_the_name() {
        for (path, expected) in [
            ("assets/app-1.js", "text/javascript; charset=utf-8"),
            ("icon.svg", "image/svg+xml"),
            ("checksums.json", "application/json"),
            ("assets/font", "application/octet-stream"),
        ] {
            assert_eq!(media_type(path), expected, "{path}");
        }
    }
}
