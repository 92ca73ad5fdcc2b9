import { differingEvents, foldCalendars } from '../../calendars/folded-feed.ts'
import { MADE, MEETING } from '../event-names.ts'
import type { CalendarState } from '../evidence.ts'
import { entriesOf, type EventMark, type RequestEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'
import { compareLines } from './mailboxes.ts'

/**
 * The calendars of the index equal those of the provider, which has each single that the API acknowledged, and has it once
 * (I5). The feed leads from the events before the faults to those of the end, and no event gets another id (I6).
 */
export const checkCalendars: Check = evidence => [
  ...evidence.end.calendars.flatMap(state => [
    ...compareLines(`calendars of account ${state.accountId}`, state.index, state.truth),
    ...findDoubled(state),
    ...compareFolded(state),
    ...findRenumbered(state),
  ]),
  ...findLost(evidence),
]

/** Only the API makes such singles, each with a name of its own. */
const isOfApi = (subject: string) => subject.startsWith(MADE) || subject.startsWith(MEETING)
const subjectOf = (line: string) => line.slice(line.indexOf(' ') + 1)

function findDoubled({ accountId, truth }: CalendarState): Violation[] {
  const subjects = truth.map(subjectOf).filter(isOfApi)
  const doubled = new Set(subjects.filter((subject, at) => subjects.indexOf(subject) !== at))
  return [...doubled].map(subject => broken('I5', accountId, `the server has “${subject}” more than once`))
}

function compareFolded({ accountId, before, feed, after }: CalendarState): Violation[] {
  try {
    return differingEvents(foldCalendars(before, feed), after).map(what => broken('I6', accountId, what))
  } catch (error) {
    return [broken('I6', accountId, String(error))]
  }
}

function findRenumbered({ accountId, before, feed, after }: CalendarState): Violation[] {
  const ids = new Map<string, Set<string>>()
  const seen = [...before.values(), ...feed.flatMap(({ event }) => event ?? []), ...after.values()]
  for (const { id, subject } of seen)
    if (isOfApi(subject ?? '')) ids.set(subject ?? '', (ids.get(subject ?? '') ?? new Set()).add(id))
  return [...ids].flatMap(([subject, held]) =>
    held.size === 1 ? [] : [broken('I6', accountId, `“${subject}” had ${held.size} ids`)],
  )
}

/** Singles that the API has made, and that nobody asked it to delete. */
const findLost: Check = ({ history, end }) => {
  const marked = markedRequests(history)
  const nameIn = ({ event: { accountId, subject } }: { event: EventMark }) => `${accountId} ${subject}`
  const asked = new Set(marked.filter(({ method }) => method === 'DELETE').map(nameIn))
  const made = marked.filter(({ method, outcome }) => method === 'POST' && outcome === 'ok').map(nameIn)
  const there = new Set(
    end.calendars.flatMap(({ accountId, truth }) => truth.map(line => `${accountId} ${subjectOf(line)}`)),
  )
  return [...new Set(made)].flatMap((name): Violation[] =>
    asked.has(name) || there.has(name)
      ? []
      : [{ invariant: 'I5', message: `the event ${name} was acknowledged, and the server does not have it` }],
  )
}

/** Requests that make or delete singles of the API. */
export function markedRequests(
  history: Parameters<Check>[0]['history'],
): Array<RequestEntry & { event: EventMark }> {
  return entriesOf(history, 'request').filter(
    (entry): entry is RequestEntry & { event: EventMark } => entry.event !== null,
  )
}

function broken(invariant: 'I5' | 'I6', accountId: string, message: string): Violation {
  return { invariant, message: `account ${accountId}: ${message}` }
}
