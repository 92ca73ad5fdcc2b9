import { DAY_MS, printWall, requireWall } from '../../src/kit/wall-clock.ts'
import { type HeldItem, type MemoryCalendars, PLAIN_EVENT } from '../memory-calendars.ts'
import type { Random } from '../seeded.ts'

export const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const HOUR_MS = 3_600_000

export class Killed extends Error {}

const wallOf = (time: number) => printWall(time)
export const timesAt = (time: number) => ({
  start: { wall: wallOf(time), zone: 'UTC' },
  end: { wall: wallOf(time + HOUR_MS), zone: 'UTC' },
})

interface Acting {
  /** The address of the account, which others invite; by default nobody does. */
  invited?: string
  /** Whether calendars are shared otherwise, removed and made. */
  changesCalendars?: boolean
}

/** Another client of an account, and kills of the process that follows it. */
export class History {
  readonly #memory: MemoryCalendars
  readonly #random: Random
  readonly #acting: Acting
  #names = 0
  isOver = false

  constructor(memory: MemoryCalendars, random: Random, acting: Acting = {}) {
    this.#memory = memory
    this.#random = random
    this.#acting = acting
    for (let nth = 0; nth < 6; nth++) this.#add()
  }

  /** Called wherever the provider awaits. */
  disturb(): void {
    if (this.isOver) return
    if (this.#random.chance(0.4)) this.act()
    if (this.#random.chance(0.08)) throw new Killed()
  }

  #add(): void {
    const calendar = this.#random.pick([...this.#memory.calendars.keys()])
    const isSeries = this.#random.chance(0.5)
    const recurrence = isSeries ? [`RRULE:FREQ=DAILY;COUNT=${this.#random.pick([3, 5, 8])}`] : null
    const start = TODAY + this.#random.pick([1, 2, 3, 4, 5]) * DAY_MS + 9 * HOUR_MS
    const { invited } = this.#acting
    const isInvited = invited !== undefined && this.#random.chance(0.3)
    const people = isInvited
      ? {
          organizer: { name: null, address: 'boss@example.com' },
          attendees: [{ name: null, address: invited, type: 'required', response: 'needs_action' } as const],
        }
      : {}
    this.#memory.add(calendar, { ...timesAt(start), ...people, subject: this.#name() }, { recurrence })
  }

  /** Shares a calendar otherwise, removes it, or makes another one. The primary one stays as it is. */
  #changeCalendars(): void {
    const [memory, random] = [this.#memory, this.#random]
    const others = [...memory.calendars.values()].filter(({ isPrimary }) => !isPrimary)
    if (others.length === 0 || random.chance(0.2)) return void memory.createCalendar(this.#name())
    const { key } = random.pick(others)
    if (others.length > 1 && random.chance(0.3)) memory.removeCalendar(key)
    else memory.updateCalendar(key, { access: random.pick(['owner', 'writer', 'reader']) })
  }

  #name(): string {
    return `Name ${++this.#names}`
  }

  /** Does something as another client. */
  act(): void {
    const [memory, random] = [this.#memory, this.#random]
    const items = [...memory.items.values()]
    const item = items.length === 0 ? null : random.pick(items)
    const act = random.next()
    if (this.#acting.changesCalendars && random.chance(0.1)) return this.#changeCalendars()
    if (!item || act < 0.2) this.#add()
    else if (act < 0.35) memory.update(item.key, { subject: this.#name() })
    else if (act < 0.45) memory.remove(item.key)
    else if (act < 0.5) memory.loseCursors()
    else if (act < 0.52) memory.setUnreadable(item.key, !item.isUnreadable)
    else if (act < 0.55) memory.move(item.key, random.pick([...memory.calendars.keys()]))
    else if (act < 0.6) memory.update(item.key, {}, item.recurrence ? null : ['RRULE:FREQ=DAILY;COUNT=4'])
    else this.#changeMember(item)
  }

  #changeMember({ key, event, recurrence, members }: HeldItem): void {
    if (!event || !recurrence) return
    const random = this.#random
    const start = requireWall(event.start.wall) + random.pick([0, 1, 2]) * DAY_MS
    const member = wallOf(start)
    if (members.has(member) && random.chance(0.4)) this.#memory.clearMember(key, member)
    else if (random.chance(0.3)) this.#memory.setMember(key, member, null)
    else
      this.#memory.setMember(key, member, {
        ...PLAIN_EVENT,
        ...timesAt(start + 2 * HOUR_MS),
        subject: this.#name(),
      })
  }
}
