//! Names of the values of enums.

/// Gives an enum the names under which the store and the forms know its values.
macro_rules! named {
    ($type:ident, $what:literal, $($value:ident = $name:literal),+) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// As it is stored and written.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.name() == text);
                found.ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!(concat!("unknown ", $what, ": write one of {}"), names.join(", "))
                })
            }
        }
    };
}

pub(crate) use named;
