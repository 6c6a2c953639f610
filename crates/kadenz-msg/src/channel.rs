//! Names of channels, and patterns of names.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The longest name of a channel, in bytes (`LCM_MAX_CHANNEL_NAME_LENGTH`).
pub const MAX_CHANNEL: usize = 63;

/// The name of a channel: 1 to 63 bytes of UTF-8 without NUL.
///
/// Held in place, so that cloning one allocates nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    bytes: [u8; MAX_CHANNEL],
    length: u8,
}

/// The reason for which a text is not the name of a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The name is empty.
    #[error("a channel needs a name")]
    Empty,
    /// LCM's receivers would refuse it.
    #[error(
        "the channel {name:?} has {} bytes; LCM allows {MAX_CHANNEL}: shorten it",
        name.len()
    )]
    TooLong {
        /// The name that was requested for the channel.
        name: String,
    },
    /// A NUL ends the name on the wire.
    #[error("the channel {name:?} holds a NUL byte, which ends a name on the wire")]
    Nul {
        /// The name that was requested for the channel.
        name: String,
    },
}

impl Channel {
    /// Returns a channel of that name.
    ///
    /// # Errors
    /// If the name is empty, longer than 63 bytes or holds a NUL.
    ///
    /// ```
    /// use kadenz_msg::channel::Channel;
    ///
    /// assert_eq!(Channel::new("FEEDBACK")?.as_str(), "FEEDBACK");
    /// assert!(Channel::new(&"x".repeat(64)).is_err());
    /// # Ok::<(), kadenz_msg::channel::ChannelError>(())
    /// ```
    ///
    /// # Real-time safety
    /// Real-time safe where the name is valid: it allocates only for the error.
    pub fn new(name: &str) -> Result<Self, ChannelError> {
        if name.is_empty() {
            return Err(ChannelError::Empty);
        }
        if name.len() > MAX_CHANNEL {
            let name = name.to_owned();
            return Err(ChannelError::TooLong { name });
        }
        if name.bytes().any(|byte| byte == 0) {
            let name = name.to_owned();
            return Err(ChannelError::Nul { name });
        }
        let mut bytes = [0; MAX_CHANNEL];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        Ok(Self { bytes, length })
    }

    /// The name of the channel as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

/// Hashes as its name, so that a map of channels can be searched by name.
impl Hash for Channel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for Channel {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// No name: the value of a slot before a message arrives.
impl Default for Channel {
    fn default() -> Self {
        let bytes = [0; MAX_CHANNEL];
        Self { bytes, length: 0 }
    }
}

impl AsRef<str> for Channel {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl FromStr for Channel {
    type Err = ChannelError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

/// The channels that a subscription wants: as in LCM, a regular expression that must match the whole name, so
/// that a plain name matches itself alone; `.` matches a newline as well. The channel whose name is the expression's
/// text matches too.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    /// `None` for a plain name.
    expression: Option<regex::Regex>,
}

/// A pattern that is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the channel pattern {pattern:?} is not a regular expression: {reason}")]
pub struct PatternError {
    /// The expression as the caller gave it.
    pub pattern: String,
    /// The error of the expression's parser.
    pub reason: String,
}

/// How much memory the compiled expression may take.
const MAX_EXPRESSION: usize = 1 << 20;

impl Pattern {
    /// Returns a pattern from a regular expression, or from a plain name.
    ///
    /// # Errors
    /// If the expression cannot be compiled, or would take more than 1 MiB.
    ///
    /// ```
    /// use kadenz_msg::channel::Pattern;
    ///
    /// let arms = Pattern::new("ARM_(LEFT|RIGHT)")?;
    /// assert!(arms.matches("ARM_LEFT"));
    /// assert!(!arms.matches("ARM_LEFT_ELBOW"));
    /// # Ok::<(), kadenz_msg::channel::PatternError>(())
    /// ```
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let text = pattern.to_owned();
        if is_literal(pattern) {
            let expression = None;
            return Ok(Self { text, expression });
        }
        // `.` is any character: a name with a newline in it would else escape `.*`.
        let whole = format!(r"\A(?s:{pattern})\z");
        let built = regex::RegexBuilder::new(&whole)
            .size_limit(MAX_EXPRESSION)
            .dfa_size_limit(MAX_EXPRESSION)
            .build();
        match built {
            Ok(expression) => Ok(Self {
                text,
                expression: Some(expression),
            }),
            Err(error) => Err(PatternError {
                pattern: text,
                reason: error.to_string(),
            }),
        }
    }

    /// Returns whether the pattern matches the channel.
    ///
    /// # Real-time safety
    /// It allocates nothing for a plain name.
    #[must_use]
    pub fn matches(&self, channel: &str) -> bool {
        match &self.expression {
            None => self.text == channel,
            // A name may have letters that mean something in an expression: `P+OSE.1`.
            Some(expression) => self.text == channel || expression.is_match(channel),
        }
    }

    /// Returns the expression from which the pattern was made.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the expression of the channel whose name is the text, where the pattern's own expression does not match
    /// it: for filters of other programs, which know expressions alone.
    pub(crate) fn own_name(&self) -> Option<String> {
        let expression = self.expression.as_ref()?;
        let is_apart = !expression.is_match(&self.text) && Channel::new(&self.text).is_ok();
        is_apart.then(|| regex::escape(&self.text))
    }

    /// Returns the one channel that it can match, if it is a plain name.
    #[must_use]
    pub fn exactly(&self) -> Option<&str> {
        self.expression.is_none().then_some(self.text.as_str())
    }
}

/// The channels that a caller wants of a log or a bus.
///
/// ```
/// use kadenz_msg::channel::{ChannelFilter, Pattern};
///
/// let patterns = vec![Pattern::new("CAMERA.*")?];
/// let others = ChannelFilter { patterns, inverted: true };
/// assert!(others.wants("ARM") && !others.wants("CAMERA_LEFT"));
/// assert!(ChannelFilter::default().wants("ARM"));
/// # Ok::<(), kadenz_msg::channel::PatternError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ChannelFilter {
    /// The patterns; empty for all channels.
    pub patterns: Vec<Pattern>,
    /// Whether the channels that a pattern matches are left out, and all others wanted.
    pub inverted: bool,
}

impl ChannelFilter {
    /// Returns whether a channel is wanted.
    #[must_use]
    pub fn wants(&self, channel: &str) -> bool {
        let named = self.patterns.iter().any(|it| it.matches(channel));
        self.patterns.is_empty() || named != self.inverted
    }

    /// Returns whether the wanted channels are named, not those to leave out.
    pub(crate) fn is_named(&self) -> bool {
        !self.patterns.is_empty() && !self.inverted
    }

    /// The patterns of a subscription, which may select more channels than are wanted.
    pub(crate) fn to_subscribe(&self) -> Result<Vec<Pattern>, PatternError> {
        match self.is_named() {
            true => Ok(self.patterns.clone()),
            false => Ok(vec![Pattern::new(".*")?]),
        }
    }
}

/// Returns whether a pattern is a plain name, which matches itself alone: a usual name, in which `-` and `/`
/// and the like have no meaning outside of brackets, and any other that needs no escape.
pub(crate) fn is_literal(pattern: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/#:".contains(&byte);
    pattern.bytes().all(plain) || regex::escape(pattern) == pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_channel_escapes_a_pattern_by_a_newline() {
        let all = Pattern::new(".*").unwrap();
        let arms = Pattern::new("ARM.*").unwrap();
        for name in ["ARM\nLEFT", "ARM\n", "ARM\r\n\n"] {
            assert!(all.matches(name) && arms.matches(name), "{name:?}");
        }
        let arm = Pattern::new("A(R|S)M").unwrap();
        assert!(arm.matches("ARM") && !arm.matches("ARM\n") && !arm.matches("\nARM"));
        assert!(!Pattern::new("(?m)ARM|LEG").unwrap().matches("ARM\nLEG"));
    }

    #[test]
    fn a_name_of_63_bytes_is_the_longest() {
        assert!(Channel::new(&"x".repeat(63)).is_ok());
        assert!(matches!(
            Channel::new(&"x".repeat(64)),
            Err(ChannelError::TooLong { .. })
        ));
        assert_eq!(Channel::new(""), Err(ChannelError::Empty));
        assert!(matches!(
            Channel::new("a\0b"),
            Err(ChannelError::Nul { .. })
        ));
    }

    #[test]
    fn a_pattern_matches_whole_names_alone() {
        let any = Pattern::new(".*").unwrap();
        assert!(any.matches("FEEDBACK") && any.exactly().is_none());
        let either = Pattern::new("A|BC").unwrap();
        assert!(either.matches("A") && either.matches("BC"));
        assert!(!either.matches("AC") && !either.matches("ABC"));
        let plain = Pattern::new("robot/arm-1").unwrap();
        assert_eq!(plain.exactly(), Some("robot/arm-1"));
        let odd = Pattern::new("P+OSE.1").unwrap();
        assert!(odd.matches("P+OSE.1") && odd.matches("PPOSE-1") && !odd.matches("P+OSE-1"));
        assert_eq!(odd.own_name().as_deref(), Some(r"P\+OSE\.1"));
        assert_eq!((any.own_name(), plain.own_name()), (None, None));
    }

    #[test]
    fn what_is_not_an_expression_or_a_monstrous_one_is_refused_with_the_reason() {
        let unclosed = Pattern::new("ARM_(LEFT").unwrap_err();
        assert!(unclosed.to_string().contains("unclosed"), "{unclosed}");
        assert!(Pattern::new("(((a{1000}){1000}){1000})").is_err());
    }
}
