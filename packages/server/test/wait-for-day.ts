import { waitUntil } from './wait-until.ts'

/** Longer than what is counted by the day takes in a test. */
const SECONDS = 60
const DAY_SECONDS = 86_400

/** Waits until the current day of UTC lasts a minute, so that what is counted by the day is not divided. */
export async function waitForDay(): Promise<void> {
  const left = () => DAY_SECONDS - ((Date.now() / 1_000) % DAY_SECONDS)
  await waitUntil('a day that lasts', () => Promise.resolve(left() > SECONDS))
}
