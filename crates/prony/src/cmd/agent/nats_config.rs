//! `prony agent nats-config`: a configuration of nats-server in which each agent may do what it must and no more.

use std::fs;
use std::path::Path;

use prony_fleet::bus::Nkey;
use prony_fleet::protocol::AgentName;

use crate::args::NatsConfigArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::{lab_key, output};

/// Writes `nats.conf`, `lab.nk` and a `.nk` for each agent.
pub(super) fn nats_config(args: &NatsConfigArgs) -> Result<Exit, CliError> {
    if !args.listen.ip().is_loopback() && args.cert.is_none() {
        return Err(CliError::usage(format!(
            "others may reach {}, where plans and their secrets would pass unencrypted",
            args.listen
        ))
        .hint("give the broker a certificate: --cert FILE --key FILE"));
    }
    let folder = &args.folder;
    let config = folder.join("nats.conf");
    if config.exists() {
        return Err(CliError::usage(format!("{} is there already", config.display()))
            .hint("name another folder: new keys would lock out the agents that have the old ones"));
    }
    let key = |name: &str| -> Result<String, CliError> {
        let nkey = Nkey::generate().map_err(CliError::internal)?;
        let path = folder.join(format!("{name}.nk"));
        if path.exists() {
            return Err(
                CliError::usage(format!("{} is there already", path.display())).hint("name another folder")
            );
        }
        lab_key::write_secret(&path, &nkey.seed).map_err(|error| failed(&path, &error))?;
        Ok(nkey.public)
    };
    let mut users = vec![lab_user(&key("lab")?)];
    for agent in &args.agents {
        if agent.as_str() == "lab" {
            return Err(CliError::usage("`lab` is the name of the controller's key")
                .hint("give the agent another name"));
        }
        users.push(agent_user(agent, &key(agent.as_str())?));
    }
    let files =
        args.cert.as_deref().zip(args.key.as_deref()).map(|(cert, key)| [absolute(cert), absolute(key)]);
    let text = text(&args.listen.to_string(), files.as_ref(), &users);
    fs::write(&config, text).map_err(|error| failed(&config, &error))?;
    let agent = &args.agents[0];
    output::print(&format!(
        "{0}/nats.conf, {0}/lab.nk and {1} keys of agents\n\n\
         broker       nats-server -c {0}/nats.conf\n\
         each agent   prony agent --name {agent} --nkey {agent}.nk --lab-key {2} …\n\
         controller   prony run URL --agents {agent},… --nkey {0}/lab.nk …\n",
        folder.display(),
        args.agents.len(),
        lab_key::private(None)?.0.public(),
    ))?;
    Ok(Exit::Good)
}

/// The file: a broker at `listen`, with the certificate and the key in `files`.
pub(in crate::cmd) fn text(listen: &str, files: Option<&[String; 2]>, users: &[String]) -> String {
    let tls = files.map_or_else(String::new, |[cert, key]| {
        format!("tls {{\n  cert_file: {cert:?}\n  key_file: {key:?}\n}}\n\n")
    });
    format!(
        "# nats-server 2.11.16, 2.12.7, 2.14 or later, for the agents of prony. Written by `prony agent nats-config`.\n\
         listen: {listen:?}\nmax_payload: 1MB\n\n{tls}authorization {{\n  users: [\n{}  ]\n}}\n",
        users.concat()
    )
}

/// What the controller may do: send commands, hear agents.
pub(in crate::cmd) fn lab_user(public: &str) -> String {
    format!(
        "    # the controller: prony run --nkey lab.nk\n    {{\n      nkey: {public}\n      permissions: {{\n        \
         publish: [\"lab.v1.cmd.*\", \"lab.v1.bcast\"]\n        \
         subscribe: [\"lab.v1.clk.*\", \"lab.v1.hb.*\", \"lab.v1.live.*.*\", \"lab.v1.evt.*.*\", \"lab.v1.res.*.*\"]\n      \
         }}\n    }}\n"
    )
}

/// What an agent may do: speak for itself, hear commands to itself.
pub(in crate::cmd) fn agent_user(agent: &AgentName, public: &str) -> String {
    format!(
        "    # prony agent --name {agent} --nkey {agent}.nk\n    {{\n      nkey: {public}\n      permissions: {{\n        \
         publish: [\"lab.v1.clk.{agent}\", \"lab.v1.hb.{agent}\", \"lab.v1.live.{agent}.*\", \"lab.v1.evt.{agent}.*\", \"lab.v1.res.{agent}.*\"]\n        \
         subscribe: [\"lab.v1.cmd.{agent}\", \"lab.v1.bcast\"]\n      }}\n    }}\n"
    )
}

/// As nats-server finds it from wherever it is started.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("{}: {error}", path.display()))
}
