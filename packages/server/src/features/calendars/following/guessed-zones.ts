import type { Logger } from '../../../kit/log.ts'
import type { GuessedZone, RemoteObject } from '../../../providers/calendars.ts'

/** Guesses that are remembered; beyond that, some are logged again. */
const REMEMBERED_MAX = 10_000
/** A reference to a definition of its own may be long. */
const NAME_CHARACTERS_MAX = 100
/** Names in a line of the log. */
const NAMES_MAX = 20

interface Place {
  accountId: string
  calendarId: string
}

/** Logs the zones of events that were guessed, once for each zone and calendar in the life of the process. */
export type ReportGuesses = (place: Place, items: readonly RemoteObject[]) => void

export function openGuessReports(log: Logger): ReportGuesses {
  const reported = new Set<string>()
  /** The name of the zone; null if its guess was logged before. */
  const nameOf = (calendarId: string, { zone, by }: GuessedZone): string | null => {
    const name = zone?.slice(0, NAME_CHARACTERS_MAX) ?? 'none'
    const guess = `${calendarId} ${by} ${name}`
    if (reported.has(guess)) return null
    if (reported.size >= REMEMBERED_MAX) reported.clear()
    reported.add(guess)
    return name
  }
  return ({ accountId, calendarId }, items) => {
    const guesses = items.flatMap(item => (item.type === 'item' ? (item.guessedZones ?? []) : []))
    for (const [kind, alike] of Map.groupBy(guesses, ({ by }) => by)) {
      const names = alike.map(guess => nameOf(calendarId, guess)).filter(name => name !== null)
      if (names.length === 0) continue
      log.warn(
        { accountId, calendarId, kind, count: names.length, names: names.slice(0, NAMES_MAX) },
        'Time zones of a calendar have no known names, so others were taken for them',
      )
    }
  }
}
