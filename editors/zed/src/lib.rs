//! Starts `pai-lsp server`, which the user has installed, for YAML.

use zed_extension_api::{
    self as zed, settings::LspSettings, Command, LanguageServerId, Result, Worktree,
};

const PROGRAM: &str = "pai-lsp";

struct PaiLsp;

impl zed::Extension for PaiLsp {
    fn new() -> Self {
        PaiLsp
    }

    /// The program and its arguments as the settings name them (`lsp.pai-lsp.binary`), else those on PATH.
    fn language_server_command(
        &mut self,
        server: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Command> {
        let chosen = LspSettings::for_worktree(server.as_ref(), worktree)
            .ok()
            .and_then(|settings| settings.binary);
        let (path, arguments) = match chosen {
            Some(binary) => (binary.path, binary.arguments),
            None => (None, None),
        };
        let command = path.or_else(|| worktree.which(PROGRAM)).ok_or_else(|| {
            format!("{PROGRAM} is not on PATH; install it, or set lsp.pai-lsp.binary.path in the settings")
        })?;
        Ok(Command {
            command,
            args: arguments.unwrap_or_else(|| vec!["server".to_string()]),
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(PaiLsp);
