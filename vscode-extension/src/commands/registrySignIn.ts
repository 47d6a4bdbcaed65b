/** Asks for the user's account at an image registry. */

import * as vscode from "vscode";
import { keepAccount, registryName } from "../registryAccounts";
import { sentence } from "../sentence";

const TITLE = "Sign In to Image Registry";

/** Ask for an account, and keep it in the secret storage; an empty password removes it. */
export async function signInToRegistry(secrets: vscode.SecretStorage): Promise<void> {
  const typed = await vscode.window.showInputBox({
    title: TITLE,
    prompt: "The registry, such as registry.example.com or docker.io",
    validateInput: (text) => (registryName(text) === undefined ? "A host name" : undefined),
  });
  const registry = typed === undefined ? undefined : registryName(typed);
  if (registry === undefined) {
    return;
  }
  const name = await vscode.window.showInputBox({ title: TITLE, prompt: `Your user name at ${registry}` });
  if (name === undefined) {
    return;
  }
  const password = await vscode.window.showInputBox({
    title: TITLE,
    prompt: "Your password or access token; leave it empty to remove the account",
    password: true,
  });
  if (password === undefined) {
    return;
  }
  await keepAccount(secrets, registry, { name: name.trim(), password });
  const done = password === "" ? "is removed" : "is used by Check Images, for this registry alone";
  void vscode.window.showInformationMessage(sentence(`your account at ${registry} ${done}`));
}
