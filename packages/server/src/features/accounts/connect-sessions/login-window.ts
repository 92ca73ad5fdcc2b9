import type { OpenWindows } from '../../../limits/limits.ts'
import { refuse } from '../../../calls/refuse.ts'

const LOGINS_MAX = 20
const WINDOW_MINUTES = 60
const CLIENTS_MAX = 100_000

/** Limits how many logins a client tries by the form, in all sessions together. */
export interface LoginWindow {
  /** Refuses a client that has no login left. */
  require(client: string): Promise<void>
  /** Counts a login, or refuses it. Called when a server is contacted. */
  count(client: string): Promise<void>
}

/** Counts in windows of one hour. */
export function createLoginWindow(openWindows: OpenWindows): LoginWindow {
  const logins = openWindows({ windowsMax: CLIENTS_MAX, minutes: WINDOW_MINUTES })
  async function ask(client: string, isOnlyChecked: boolean): Promise<void> {
    const window = { name: `login:${client}`, limit: LOGINS_MAX, isOnlyChecked }
    const { isAccepted, resetSeconds } = await logins.count([window])
    if (!isAccepted) refuse('rate_limited', undefined, { retryAfterSeconds: resetSeconds })
  }
  return { require: client => ask(client, true), count: client => ask(client, false) }
}
