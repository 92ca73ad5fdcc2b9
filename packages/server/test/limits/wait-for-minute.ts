import { waitUntil } from '../wait-until.ts'

/** Waits until the current minute lasts this long. */
export async function waitForMinute(seconds: number): Promise<void> {
  await waitUntil('a minute that lasts', () => Promise.resolve(60 - ((Date.now() / 1000) % 60) > seconds))
}
