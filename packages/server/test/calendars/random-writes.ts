import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { expect } from 'vitest'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import type { Answer, Caller } from '../caller.ts'
import type { Random } from '../seeded.ts'
import { readTakingPlace } from './caldav-account.ts'
import { isUntouchable, KEPT } from './other-calendars.ts'

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const HOUR_MS = 3_600_000
/** Answers after which a client asks again. */
const UNCLEAR = new Set([429, 502, 503])
const TRIES_MAX = 8
/** The event may be gone, changed meanwhile, forbidden by a share, or impossible at a provider. */
const REFUSALS = new Set([400, 403, 404, 409])
/** Refusals of requests that are never right. */
const MISTAKES = new Set(['invalid_idempotency_key', 'invalid_input', 'invalid_range', 'invalid_recurrence'])
const MADE = 'Made'
/** The name of calendars that are deleted again. */
const PASSING = 'Passing'

const at = (time: number) => ({ dateTime: new Date(time).toISOString(), timeZone: 'UTC' })
const timesAt = (time: number) => ({ start: at(time), end: at(time + HOUR_MS) })

interface Refusal {
  code?: string
}

/** A caller of the interface who writes to the calendars of an account at random. */
export class RandomWrites {
  readonly log: string[] = []
  /** Answers that no request may get. */
  readonly failures: string[] = []
  readonly #caller: Caller
  readonly #path: string
  readonly #accountId: string
  readonly #random: Random
  /** Subjects of events that nobody changes, and whether their creation was acknowledged. */
  readonly #kept = new Map<string, boolean>()
  #names = 0

  constructor(caller: Caller, accountId: string, random: Random) {
    this.#caller = caller
    this.#accountId = accountId
    this.#path = `/v1/accounts/${accountId}`
    this.#random = random
  }

  async act(): Promise<void> {
    const [random, choice] = [this.#random, this.#random.next()]
    if (choice < 0.1) return void (await this.#caller.post(`${this.#path}/sync`, { kinds: ['calendar'] }))
    const calendars = await this.#calendars()
    const permanent = calendars.filter(({ name, canEdit }) => canEdit && !name.startsWith(PASSING))
    if (choice < 0.18) return this.#createKept(random.pick(permanent).id)
    if (choice < 0.36) return this.#create(random.pick(calendars).id)
    if (choice < 0.42) return this.#changeCalendars(calendars)
    const events = (await readTakingPlace(this.#caller, this.#accountId)).filter(
      ({ subject }) => !isUntouchable(subject ?? ''),
    )
    if (events.length === 0) return this.#create(random.pick(permanent).id)
    const event = random.pick(events)
    if (event.selfResponse !== 'organizer' && event.organizer !== null && choice < 0.8)
      return this.#respond(event)
    if (choice < 0.52) return this.#remove(event)
    if (choice < 0.62) return this.#move(event, random.pick(calendars).id)
    return this.#change(event)
  }

  /** Checks that each event was made once that nobody changes, and that no other was made twice. */
  expectKept(lines: readonly string[], events: readonly CalendarEvent[]): void {
    for (const [subject, isAcknowledged] of this.#kept) {
      const count = lines.filter(line => line.endsWith(`Z ${subject}`)).length
      expect(count, `${subject} at the provider`).toBeLessThanOrEqual(1)
      if (isAcknowledged) expect(count, `${subject} at the provider`).toBe(1)
    }
    const roots = new Map<string, Set<string>>()
    for (const { id, kind, seriesId, subject } of events) {
      if (kind === 'exception' || !subject?.startsWith(MADE)) continue
      roots.set(subject, (roots.get(subject) ?? new Set()).add(seriesId ?? id))
    }
    for (const [subject, ids] of roots) expect([subject, ids.size]).toEqual([subject, 1])
  }

  async #calendars(): Promise<Calendar[]> {
    return (await this.#caller.get<{ items: Calendar[] }>(`${this.#path}/calendars`)).body.items
  }

  #name(word: string): string {
    return `${word} ${++this.#names}`
  }

  async #create(calendarId: string): Promise<void> {
    const random = this.#random
    const subject = this.#name(MADE)
    const recurrence = random.chance(0.5) ? [`RRULE:FREQ=DAILY;COUNT=${random.between(2, 6)}`] : null
    const time = TODAY + random.between(1, 60) * DAY_MS + 9 * HOUR_MS
    await this.#post('calendar-events', subject, { calendarId, ...timesAt(time), subject, recurrence })
  }

  async #createKept(calendarId: string): Promise<void> {
    const subject = this.#name(KEPT)
    this.#kept.set(subject, false)
    const time = TODAY + this.#random.between(70, 90) * DAY_MS
    const answer = await this.#post('calendar-events', subject, { calendarId, ...timesAt(time), subject })
    if (answer.status === 200) this.#kept.set(subject, true)
  }

  async #changeCalendars(calendars: readonly Calendar[]): Promise<void> {
    const passing = calendars.find(({ name }) => name.startsWith(PASSING))
    if (!passing) return void (await this.#post('calendars', 'calendar', { name: this.#name(PASSING) }))
    const path = `${this.#path}/calendars/${passing.id}`
    if (this.#random.chance(0.5)) await this.#send(`delete ${passing.name}`, () => this.#caller.delete(path))
    else
      await this.#send(`rename ${passing.name}`, () =>
        this.#caller.patch(path, { name: this.#name(PASSING) }),
      )
  }

  async #respond({ id, subject }: CalendarEvent): Promise<void> {
    const response = this.#random.pick(['accepted', 'tentative', 'declined'])
    const path = `${this.#path}/calendar-events/${id}/respond`
    await this.#send(`${response} ${subject}`, () => this.#caller.post(path, { response }))
  }

  async #remove(event: CalendarEvent): Promise<void> {
    const path = this.#pathOf(event)
    await this.#send(`delete ${event.subject} ${path}`, () => this.#caller.delete(path))
  }

  async #move(event: CalendarEvent, calendarId: string): Promise<void> {
    const path = `${this.#path}/calendar-events/${event.seriesId ?? event.id}`
    await this.#send(`move ${event.subject}`, () => this.#caller.patch(path, { calendarId }))
  }

  async #change(event: CalendarEvent): Promise<void> {
    const [random, path] = [this.#random, this.#pathOf(event)]
    const subject = this.#name(MADE)
    const later = at(Date.parse(event.start.dateTime ?? '') + HOUR_MS)
    const change = random.pick<object>([
      { subject },
      { subject, start: later },
      { subject, location: this.#name('Room') },
      ...(event.kind === 'single' ? [{ subject, recurrence: ['RRULE:FREQ=DAILY;COUNT=4'] }] : []),
    ])
    await this.#send(`change ${event.subject} ${path} ${JSON.stringify(change)}`, () =>
      this.#caller.patch(path, change),
    )
  }

  #pathOf({ id, kind }: CalendarEvent): string {
    const scope = kind === 'single' ? '' : `?scope=${this.#random.pick(['this', 'following', 'series'])}`
    return `${this.#path}/calendar-events/${id}${scope}`
  }

  #post(what: string, name: string, body: object): Promise<Answer<Refusal | null>> {
    const headers = { 'idempotency-key': `${this.#accountId}-${this.#names}` }
    return this.#send(`create ${name}`, () => this.#caller.post(`${this.#path}/${what}`, body, headers))
  }

  /** Sends a request until its outcome is clear, or too often. */
  async #send(name: string, send: () => Promise<Answer<Refusal | null>>): Promise<Answer<Refusal | null>> {
    for (let tries = 1; ; tries++) {
      const answer = await send()
      const isUnderWay = answer.body?.code === 'idempotency_key_in_progress'
      const isUnclear = UNCLEAR.has(answer.status) || isUnderWay
      if (isUnclear && tries < TRIES_MAX) continue
      const described = `interface: ${name}: ${answer.status} ${answer.body?.code ?? ''}`
      this.log.push(described)
      const isRefused = REFUSALS.has(answer.status) && !MISTAKES.has(answer.body?.code ?? '')
      const isKnown = answer.status === 200 || isUnclear || isRefused
      if (!isKnown) this.failures.push(`${described} ${JSON.stringify(answer.body)}`)
      return answer
    }
  }
}
