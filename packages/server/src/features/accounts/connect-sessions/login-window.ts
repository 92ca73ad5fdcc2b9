import type { OpenWindows } from '../../../limits/limits.ts'
import { refuse } from '../../refuse.ts'

const LOGINS_MAX = 20
const WINDOW_MINUTES = 60
const CLIENTS_MAX = 100_000

/** Limits how many logins a client tries by the form, in whatever sessions. */
export interface LoginWindow {
  /** Counts a login, or refuses it. */
  count(client: string): Promise<void>
}

/** Counts in windows of one hour. */
export function createLoginWindow(openWindows: OpenWindows): LoginWindow {
  const logins = openWindows({ windowsMax: CLIENTS_MAX, minutes: WINDOW_MINUTES })
  return {
    async count(client) {
      const { isAccepted, resetSeconds } = await logins.count([
        { name: `login:${client}`, limit: LOGINS_MAX },
      ])
      if (!isAccepted) refuse('rate_limited', undefined, { retryAfterSeconds: resetSeconds })
    },
  }
}
