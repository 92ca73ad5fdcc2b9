import { z } from 'zod'
import { findHits } from '../../../kit/recurrence/hits.ts'
import type { Series } from '../../../kit/recurrence/split-series.ts'
import { isDay } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import { ProviderFailure } from '../../failure.ts'
import type { Times } from './event-patch.ts'
import type { HeldEvent, Json } from './held-event.ts'
import type { HeldSeries } from './series.ts'

/*
 * The members of a series at Google are named by their original starts, so another place of the series is another key. While
 * the exceptions are carried to their new places, one call after another, the plan lies in properties of the series itself.
 * It is written together with the new place of the series, so that a later write can go on where this one stopped.
 */

/** Exceptions and cancelled members of one series that a write touches. */
const PLACES_MAX = 200
/** Characters of one property; Google takes 1,024 in each. */
const PART_LENGTH = 1_000
const PARTS_MAX = 30
const NAME = 'waxwing.moving.'
/** The property of a member that names the move by which it was written. */
export const MARK = 'waxwing.moved'

const time = z.object({ wall: z.string(), zone: z.string().nullable() })
const schema = z.object({
  id: z.string(),
  former: z.object({ start: time, end: time }),
  /** Keys of exceptions with their new members, which are null if there are none. */
  moves: z.array(z.tuple([z.string(), z.string().nullable()])).max(PLACES_MAX),
  /** Keys of members that had differed, and are again as the series gives them. */
  restored: z.array(z.tuple([z.string(), z.string()])).max(PLACES_MAX),
})

export type MovePlan = z.infer<typeof schema>

const SUFFIX = /_(\d{8})(?:T(\d{6})Z)?$/

/** The part of a key of a member that is common to all members of its series. */
export const baseOf = (key: string): string => key.replace(SUFFIX, '')

/** The key of a member of a series. */
export function instanceKey(base: string, member: string, zone: string | null): string {
  if (isDay(member)) return `${base}_${member}`
  const text = new Date(toInstant(member, zone ?? 'UTC')).toISOString()
  return `${base}_${text.replaceAll(/[-:]|\.\d+/g, '')}`
}

/** The member of a series that a key names, if it is one; null if it can be none. */
function memberOf(key: string, { wall, zone }: Series['start']): string | null {
  const [, day, clock] = SUFFIX.exec(key) ?? []
  if (day === undefined || isDay(wall) !== (clock === undefined)) return null
  if (clock === undefined) return day
  const parts = /^(....)(..)(..) (..)(..)(..)$/.exec(`${day} ${clock}`)!.slice(1).map(Number)
  const [year = 0, month = 1, ...others] = parts
  return toWall(Date.UTC(year, month - 1, ...others), zone ?? 'UTC')
}

/**
 * Plans the places of what differs in a series that changes. Throws `unsupported` if that is too much for one request.
 * @param next null: the series becomes a single
 * @param members new names of exceptions by their former ones
 */
export function planMove(
  id: string,
  { master, exceptions, cancelled }: HeldSeries,
  next: Series | null,
  members: ReadonlyMap<string, string>,
): MovePlan | null {
  const { start, end } = master.fields
  const moves = exceptions.map(({ member, held }): [string, string | null] => [
    held.key,
    members.get(member) ?? null,
  ])
  const targets = new Set(moves.flatMap(move => targetOf(move, next?.start.zone ?? null) ?? []))
  const left = [...moves.map(([key]) => key), ...cancelled.map(({ key }) => key)].filter(
    key => !targets.has(key),
  )
  const restored = next ? givenAgain(left, next) : []
  if (moves.length + restored.length === 0) return null
  requireFew(moves.length + restored.length)
  if (exceptions.some(({ held }) => held.raw['attendeesOmitted'] === true))
    throw unsupported('Google Calendar does not show all attendees of an occurrence that would move.')
  return { id, former: { start, end }, moves, restored }
}

export function requireFew(count: number): void {
  if (count > PLACES_MAX)
    throw unsupported(`More than ${PLACES_MAX} occurrences of the series differ from it.`)
}

/** The key at which an exception lies after a move. */
export const targetOf = ([key, member]: [string, string | null], zone: string | null): string | null =>
  member === null ? null : instanceKey(baseOf(key), member, zone)

function givenAgain(keys: readonly string[], next: Series): Array<[string, string]> {
  const named = keys.flatMap((key): Array<[string, string]> => {
    const member = memberOf(key, next.start)
    return member === null ? [] : [[key, member]]
  })
  const taken = new Set(next.taken)
  const hits = findHits(
    next,
    named.map(([, member]) => member),
  )
  return named.filter(
    ([, member]) => hits.has(member) && !taken.has(member) && !taken.has(member.slice(0, 8)),
  )
}

/** The properties that hold a plan. Throws `unsupported` if it is too long. */
export function planProperties(plan: MovePlan): Json {
  const text = JSON.stringify(plan)
  const count = Math.ceil(text.length / PART_LENGTH)
  if (count > PARTS_MAX) throw unsupported('Too many occurrences of the series differ from it.')
  const parts = Array.from({ length: count }, (_, at) => text.slice(at * PART_LENGTH, (at + 1) * PART_LENGTH))
  return Object.fromEntries(parts.map((part, at) => [`${NAME}${at}`, part]))
}

/** The plan of a move that has not ended; null if there is none. */
export function readPlan({ event }: HeldEvent): MovePlan | null {
  const properties = event.extendedProperties?.private ?? {}
  const parts = Array.from({ length: PARTS_MAX }, (_, at) => properties[`${NAME}${at}`] ?? '')
  try {
    return schema.safeParse(JSON.parse(parts.join(''))).data ?? null
  } catch {
    return null
  }
}

/** A patch that takes the plan of a move away. */
export function withoutPlan({ event }: HeldEvent): Json {
  const names = Object.keys(event.extendedProperties?.private ?? {}).filter(name => name.startsWith(NAME))
  return { extendedProperties: { private: Object.fromEntries(names.map(name => [name, null])) } }
}

export const isMovedBy = ({ event }: HeldEvent, { id }: MovePlan): boolean =>
  event.extendedProperties?.private[MARK] === id

export const formerTimes = ({ former: { start, end } }: MovePlan): Times => ({ start, end })

function unsupported(message: string): ProviderFailure {
  return new ProviderFailure('unsupported', message, { isBeforeAcceptance: true })
}
