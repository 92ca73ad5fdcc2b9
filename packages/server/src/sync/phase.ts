/**
 * The time until the moment at which something that an account does once in an interval is due. Each account has its own
 * moment, by the random end of its id: accounts that were connected together, or waited together for a database, do
 * not stay in step.
 * @param now seconds, monotonic
 * @returns more than 0, at most the interval
 */
export function untilPhaseSeconds(
  accountId: string,
  intervalSeconds: number,
  now = performance.now() / 1_000,
): number {
  const share = Number.parseInt(accountId.slice(-8), 16) / 2 ** 32
  return intervalSeconds - ((now + share * intervalSeconds) % intervalSeconds)
}
