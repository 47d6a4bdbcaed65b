/** A message as the user reads it: whose it is, and an end. The server's messages have none, but where they ask. */
export function sentence(message: string): string {
  return `OpenPAI: ${message}${/[.?!]$/.test(message) ? "" : "."}`;
}
