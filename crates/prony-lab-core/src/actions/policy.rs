//! The target policy: set, and written out.

use super::{AccessError, Ctx};
use crate::egress::POLICY;
use crate::policy::Rules;
use prony_lab_store::{Tx, settings};

/// Makes `text` the target policy.
pub fn set(tx: &mut Tx<'_>, ctx: &Ctx, text: &str) -> Result<(), AccessError> {
    let rules: Rules = toml::from_str(text).map_err(|error| syntax(text, &error))?;
    rules.check()?;
    settings::set(tx, POLICY, text)?;
    ctx.note(tx, "policy.set", "policy", text)?;
    Ok(())
}

/// What is wrong, on one line, with the line of `text` where it is known.
fn syntax(text: &str, error: &toml::de::Error) -> AccessError {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!(" in line {}", before.matches('\n').count() + 1));
    let message = error.message().trim().replace('\n', ", ");
    AccessError::PolicySyntax(format!("{message}{}", line.unwrap_or_default()))
}

/// `rules` as TOML, each line a rule.
pub fn written(rules: &Rules) -> String {
    let list = |entries: &[String]| {
        let quoted: Vec<String> = entries.iter().map(|entry| format!("{entry:?}")).collect();
        format!("[{}]", quoted.join(", "))
    };
    let caps = |name: &str, caps: &crate::policy::Caps| {
        format!(
            "\n[{name}]\nrate_per_s = {}\nconnections = {}\nduration_s = {}\nbytes = {}\n",
            caps.rate_per_s, caps.connections, caps.duration_s, caps.bytes
        )
    };
    let authorities = rules.authorities.iter();
    let authorities: Vec<String> =
        authorities.map(|(name, file)| format!("{name} = {:?}\n", file.to_string_lossy())).collect();
    let authorities = authorities.concat();
    format!(
        "loopback = {}\nprivate = {}\nhosts = {}\nnetworks = {}\nrefused = {}\nports = {}\n{}{}\n[user_caps]\nbuilds = {}\n\n[authorities]\n{authorities}",
        rules.loopback,
        rules.private,
        list(&rules.hosts),
        list(&rules.networks),
        list(&rules.refused),
        list(&rules.ports),
        caps("caps", &rules.caps),
        caps("public_caps", &rules.public_caps),
        rules.user_caps.builds
    )
}
