//! The token that controller, devices and logging server share.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz_udp::wire::Token;

/// Who may ask.
#[derive(Clone, Debug, Args)]
pub(super) struct TokenOption {
    /// File whose first line is the token, 8 to 64 bytes, that both sides must know: packets then
    /// carry an HMAC, and strangers get no answer
    #[arg(long, value_name = "FILE", env = "KADENZ_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

impl TokenOption {
    /// The token, if one was asked for.
    pub(super) fn token(&self) -> anyhow::Result<Option<Token>> {
        let Some(file) = &self.token_file else {
            return Ok(None);
        };
        let text = std::fs::read(file)
            .with_context(|| format!("cannot read the token in {}", file.display()))?;
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let token = Token::new(line);
        let token = token.with_context(|| {
            format!(
                "{} holds no token; make one with `head -c 24 /dev/urandom | base64 > {}`",
                file.display(),
                file.display()
            )
        })?;
        Ok(Some(token))
    }

    /// The file, as `--token-file` takes it.
    pub(super) fn file(&self) -> Option<String> {
        self.token_file.as_ref().map(|it| it.display().to_string())
    }
}
