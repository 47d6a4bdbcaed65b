/** How often a server that crashes is started again before a person has to look. */

/** That many starts within that many milliseconds. */
export const MOST_RESTARTS = 5;
export const WITHIN_MILLISECONDS = 3 * 60 * 1000;

/**
 * The times of the restarts after one more crash at `now`, or undefined when it is not to be started again.
 *
 * Times are in milliseconds on any one clock; `earlier` are those of the restarts so far.
 */
export function restartsAfterCrash(earlier: readonly number[], now: number): readonly number[] | undefined {
  const recent = earlier.filter((time) => now - time < WITHIN_MILLISECONDS);
  return recent.length < MOST_RESTARTS ? [...recent, now] : undefined;
}
