//! Secrets as they are kept: by their names, sealed. The key that opens them is never in the store.

use super::settings::set as set_setting;
use super::{StoreError, Tx, values};
use prony_lab_model::SecretName;

/// Before the name of a secret among the settings.
const PREFIX: &str = "secret:";

/// The names of all secrets, in their order.
pub fn names(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    let of_secrets = |row: &super::Row| row.text(0);
    let all = tx.query(
        "SELECT key FROM settings WHERE key >= $1 AND key < $2 ORDER BY key",
        // `;` is the character after `:`.
        values![PREFIX, "secret;"],
        of_secrets,
    )?;
    Ok(all.iter().filter_map(|key| key.strip_prefix(PREFIX)).map(str::to_owned).collect())
}

/// Keeps a secret; one of the same name is replaced.
pub fn set(tx: &mut Tx<'_>, name: &SecretName, sealed: &str) -> Result<(), StoreError> {
    set_setting(tx, &format!("{PREFIX}{name}"), sealed)
}

/// The secret `name`, sealed.
pub fn sealed(tx: &mut Tx<'_>, name: &SecretName) -> Result<Option<String>, StoreError> {
    super::settings::setting(tx, &format!("{PREFIX}{name}"))
}

/// Forgets a secret; whether there was one.
pub fn remove(tx: &mut Tx<'_>, name: &SecretName) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM settings WHERE key = $1", values![format!("{PREFIX}{name}")])? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::on_both;

    #[test]
    fn secrets_are_kept_by_their_names() {
        on_both(|store| {
            let name = |text: &str| text.parse::<SecretName>().expect("a name");
            let kept = store.write_blocking(move |tx| {
                set_setting(tx, "policy", "x")?;
                set_setting(tx, "secrets", "x")?;
                set(tx, &name("B"), "one")?;
                set(tx, &name("A"), "two")?;
                set(tx, &name("B"), "three")?;
                Ok((names(tx)?, sealed(tx, &name("B"))?, sealed(tx, &name("C"))?))
            });
            let expected = (vec!["A".to_owned(), "B".to_owned()], Some("three".to_owned()), None);
            assert_eq!(kept.expect("written"), expected);
            let removed = store
                .write_blocking(move |tx| Ok((remove(tx, &name("A"))?, remove(tx, &name("A"))?, names(tx)?)));
            assert_eq!(removed.expect("written"), (true, false, vec!["B".to_owned()]));
        });
    }
}
