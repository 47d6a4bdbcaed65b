/** The versions of servers: what `pai-lsp --version` prints, and which of them this extension works with. */

/** The oldest server that this extension works with; an older one would misunderstand it. */
export const OLDEST_SERVER = "0.1.0";

/** The version in what `pai-lsp --version` printed, or undefined when that was something else. */
export function versionIn(printed: string): string | undefined {
  return /^pai-lsp (\d+(?:\.\d+)+\S*)\s*$/.exec(printed.trim())?.[1];
}

/** Whether a version is the other or comes after it. What follows the numbers, such as `rc1`, does not count. */
export function isAtLeast(version: string, oldest: string): boolean {
  const [ours, theirs] = [numbers(version), numbers(oldest)];
  for (let index = 0; index < Math.max(ours.length, theirs.length); index++) {
    const difference = (ours[index] ?? 0) - (theirs[index] ?? 0);
    if (difference !== 0) {
      return difference > 0;
    }
  }
  return true;
}

function numbers(version: string): number[] {
  return (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
}
