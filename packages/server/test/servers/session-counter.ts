import { type HostileImap, startHostileImap } from './hostile-imap.ts'

/** One connection on which a user is logged in, by `performance.now()`. */
export interface CountedSession {
  from: number
  /** Infinity while it is open. */
  until: number
}

/** An IMAP server for empty inboxes that records who was logged in when. */
export interface SessionCounter extends HostileImap {
  sessions: ReadonlyMap<string, readonly CountedSession[]>
}

export async function startSessionCounter(): Promise<SessionCounter> {
  const sessions = new Map<string, CountedSession[]>()
  const server = await startHostileImap(({ command, socket }) => {
    const [, user] = /^LOGIN "?([^" ]+)/.exec(command) ?? []
    if (user === undefined) return false
    const session = { from: performance.now(), until: Number.POSITIVE_INFINITY }
    const ofUser = sessions.get(user) ?? []
    sessions.set(user, [...ofUser, session])
    socket.once('close', () => (session.until = performance.now()))
    return false
  })
  return Object.assign(server, { sessions })
}

/** The longest time for which a user had two sessions or more, in seconds. */
export function longestOverlap(sessions: readonly CountedSession[]): number {
  const now = performance.now()
  let [longest, covered] = [0, Number.NEGATIVE_INFINITY]
  for (const { from, until } of sessions) {
    longest = Math.max(longest, Math.min(covered, until, now) - from)
    covered = Math.max(covered, until)
  }
  return longest / 1_000
}

/** The longest time for which a user had no session after the first one, in seconds. */
export function longestGap(sessions: readonly CountedSession[]): number {
  const [first, ...rest] = sessions
  if (!first) return Number.POSITIVE_INFINITY
  let [longest, covered] = [0, first.until]
  for (const { from, until } of rest) {
    longest = Math.max(longest, from - covered)
    covered = Math.max(covered, until)
  }
  return Math.max(longest, performance.now() - covered) / 1_000
}
