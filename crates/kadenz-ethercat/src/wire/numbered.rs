//! Enums and codes that the standard numbers, each written once as a table.

/// An enum whose variants are all the numbers of the standard.
macro_rules! numbered {
    ($(#[$about:meta])* pub enum $Name:ident: $number:ident { $($(#[$what:meta])* $variant:ident = $value:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr($number)]
        pub enum $Name { $($(#[$what])* $variant = $value,)+ }

        impl $Name {
            /// All variants, in the order of the numbers.
            pub const ALL: [Self; [$($value),+].len()] = [$(Self::$variant),+];

            /// The variant of that number, if there is one.
            #[must_use]
            pub const fn from_number(number: $number) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)+ _ => None }
            }

            /// Its number on the wire.
            #[must_use]
            pub const fn number(self) -> $number {
                self as $number
            }
        }
    };
}

/// An enum with a variant for each number that the standard names, and one for all others.
macro_rules! numbered_or_other {
    ($(#[$about:meta])* pub enum $Name:ident { $($(#[$what:meta])* $variant:ident = $value:literal $(or $also:literal)?,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Name {
            $($(#[$what])* $variant,)+
            /// A number that the standard does not name.
            Other(u8),
        }

        impl $Name {
            /// The variant of that number.
            #[must_use]
            pub(crate) const fn from_number(number: u8) -> Self {
                match number { $($value $(| $also)? => Self::$variant,)+ other => Self::Other(other) }
            }

            /// The number that stands on the wire.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self { $(Self::$variant => $value,)+ Self::Other(other) => other }
            }
        }
    };
}

/// Codes of a type that wraps a number, with their meanings.
macro_rules! codes {
    ($Code:ident; $($name:ident = $number:literal, $text:literal;)*) => {
        impl $Code {
            $(#[doc = $text] pub const $name: Self = Self($number);)*

            /// The code's meaning; `None` for a code that the standard does not have.
            #[must_use]
            pub const fn text(self) -> Option<&'static str> {
                match self.0 { $($number => Some($text),)* _ => None }
            }
        }
    };
}
