import type { Logger } from '../../../kit/log.ts'
import type { GuessedZone, RemoteObject } from '../../../providers/calendars.ts'

/** Guesses that are remembered; beyond that, some are logged again. */
const REMEMBERED_MAX = 10_000
/** A reference to a definition of its own may be long. */
const NAME_CHARACTERS_MAX = 100

interface Place {
  accountId: string
  calendarId: string
}

/** Logs the zones of events that were guessed, once for each zone and calendar in the life of the process. */
export type ReportGuesses = (place: Place, items: readonly RemoteObject[]) => void

export function openGuessReports(log: Logger): ReportGuesses {
  const reported = new Set<string>()
  const report = ({ accountId, calendarId }: Place, { zone, by }: GuessedZone) => {
    const name = zone?.slice(0, NAME_CHARACTERS_MAX) ?? 'none'
    const guess = `${calendarId} ${by} ${name}`
    if (reported.has(guess)) return
    if (reported.size >= REMEMBERED_MAX) reported.clear()
    reported.add(guess)
    log.warn(
      { accountId, calendarId, kind: by, names: [name] },
      'A time zone of a calendar has no known name, so another one was taken for it',
    )
  }
  return (place, items) => {
    for (const item of items)
      if (item.type === 'item') for (const guessed of item.guessedZones ?? []) report(place, guessed)
  }
}
