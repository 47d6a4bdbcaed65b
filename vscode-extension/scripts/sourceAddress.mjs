/**
 * The address on the web of a repository that git knows by `origin`, such as `https://github.com/owner/name`: of one that
 * is reached by https, and of one by SSH on a server that shows it at the same path. No user, password or port is in it.
 *
 * @param {string} origin what `git remote get-url origin` prints
 * @returns {string | undefined} undefined for a folder, a file and what is not readable
 */
export function sourceAddress(origin) {
  const found = /^(?:https:\/\/(?:[^/@]*@)?|ssh:\/\/(?:[^/@]*@)?|[\w.-]+@)([\w.-]+)(?::\d+(?=\/))?[/:](.+)$/.exec(
    origin.trim(),
  );
  const path = found?.[2].replace(/^\/+|(?:\.git)?\/*$/g, "");
  return path ? `https://${found[1]}/${path}` : undefined;
}
