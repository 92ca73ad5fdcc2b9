import { describe } from 'vitest'
import { describeCalendars, type WrittenEvent } from '../src/providers/conformance/calendars.ts'
import { describeChangingCalendars } from '../src/providers/conformance/changing-calendars.ts'
import { type ChangingCalendarsArrangement } from '../src/providers/conformance/changing-calendars-account.ts'
import { type CalendarsKind, MemoryCalendars, PLAIN_EVENT } from './memory-calendars.ts'

const KINDS: readonly CalendarsKind[] = ['files', 'members']

function arrange(kind: CalendarsKind): Promise<ChangingCalendarsArrangement> {
  const memory = new MemoryCalendars(kind)
  const [calendarKey = ''] = memory.calendars.keys()
  const timeOf = (wall: string) => ({ wall, zone: wall.includes('T') ? 'Europe/Berlin' : null })
  const add = ({ subject, start, end, rule }: WrittenEvent) =>
    memory.add(
      calendarKey,
      { subject, start: timeOf(start), end: timeOf(end) },
      { recurrence: rule === undefined ? null : [`RRULE:${rule}`] },
    ).key
  return Promise.resolve({
    world: {
      add: async events => events.map(add),
      rename: async (key, subject) => void memory.update(key, { subject }),
      remove: async key => memory.remove(key),
      except: async (key, member, subject) => void memory.setMember(key, member, { ...PLAIN_EVENT, subject }),
      take: async (key, member) => void memory.setMember(key, member, null),
      addCalendar: async () => {
        memory.createCalendar('second')
        return 'second'
      },
    },
    calendarKey,
    connect: () => Promise.resolve({ calendars: memory.connect(), [Symbol.asyncDispose]: async () => {} }),
    spoil: cursor => ({ ...cursor, epoch: 0 }),
    unknownKey: `${calendarKey}/unknown`,
    eventsOfSteps: 8,
    self: { name: 'Me', address: 'me@example.org' },
    holds: {
      showAs: ['free', 'tentative', 'oof', 'working_elsewhere', 'busy'],
      sensitivity: ['personal', 'private', 'confidential', 'normal'],
      text: true,
      html: true,
      description: true,
      color: true,
      silence: true,
    },
    async [Symbol.asyncDispose]() {},
  })
}

describe.each(KINDS)('memory of %s', kind => {
  describeCalendars(kind, () => arrange(kind))
  describeChangingCalendars(kind, () => arrange(kind))
})
