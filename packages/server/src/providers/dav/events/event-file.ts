import { type Component, FileRefused, splitFile } from '../../../kit/content-lines/content-file.ts'
import type { ContentLine } from '../../../kit/content-lines/content-line.ts'
import { unescapeText } from '../../../kit/content-lines/text-value.ts'
import { openBudget, type ZoneDefinition } from '../../../kit/zones/vtimezone.ts'

/* A calendar object resource (RFC 4791 section 4.1): the events of one file, and the time zones that it defines. */

/** A component with its own lines. Malformed lines are left out. */
export interface EventComponent {
  /** In upper case. */
  name: string
  lines: readonly FileContentLine[]
  /** By their names in upper case. */
  named: ReadonlyMap<string, readonly FileContentLine[]>
  components: readonly EventComponent[]
}

export interface FileContentLine extends ContentLine {
  /** The whole line without folds. */
  text: string
}

export interface EventFile {
  events: readonly EventComponent[]
  /** Whether it has components of other kinds: tasks, notes, free and busy times. */
  hasOthers: boolean
  /** By their TZID. */
  zones: ReadonlyMap<string, ZoneDefinition>
}

/** A file that has no event that can be read, or exceeds a bound. */
export class UnreadableEvents extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'UnreadableEvents'
  }
}

/** The most time zones of one file that are looked at. */
const ZONES_MAX = 100

/**
 * Takes the file of an event apart.
 * @throws UnreadableEvents if it is no iCalendar, or exceeds the bounds of `splitFile`
 */
export function openEvents(bytes: Buffer): EventFile {
  const file = split(bytes)
  const calendars = file.components.filter(({ name }) => name === 'VCALENDAR')
  if (calendars.length === 0) throw new UnreadableEvents('The file has no calendar')
  const open = (component: Component): EventComponent => {
    const lines = component.lines.flatMap(index => {
      const { content, raw } = file.lines[index]!
      return content ? [{ ...content, text: Buffer.from(raw, 'latin1').toString('utf8') }] : []
    })
    return {
      name: component.name,
      lines,
      named: Map.groupBy(lines, ({ name }) => name),
      components: component.components.map(open),
    }
  }
  const inner = calendars.flatMap(({ components }) => components)
  const zones = new Map<string, ZoneDefinition>()
  const budget = openBudget()
  for (const component of inner.filter(({ name }) => name === 'VTIMEZONE').slice(0, ZONES_MAX)) {
    const lines = component.lines.map(index => file.lines[index]!.content)
    const tzid = lines.find(content => content?.name === 'TZID')
    // The property is a text (RFC 5545 section 3.8.3.1), and the parameter that names it is not.
    if (tzid) zones.set(unescapeText(tzid.value).trim(), { file, component, budget })
  }
  return {
    events: inner.filter(({ name }) => name === 'VEVENT').map(open),
    hasOthers: inner.some(({ name }) => name !== 'VEVENT' && name !== 'VTIMEZONE'),
    zones,
  }
}

function split(bytes: Buffer): ReturnType<typeof splitFile> {
  try {
    return splitFile(bytes)
  } catch (error) {
    if (error instanceof FileRefused) throw new UnreadableEvents(error.message, { cause: error })
    throw error
  }
}

/** The first line of a property; undefined if the component does not have it. */
export function lineOf({ named }: Pick<EventComponent, 'named'>, name: string): FileContentLine | undefined {
  return named.get(name)?.[0]
}

export function linesOf({ named }: Pick<EventComponent, 'named'>, name: string): readonly FileContentLine[] {
  return named.get(name) ?? []
}

/** The value of a property whose values are words, in upper case; an empty text if the component does not have it. */
export function wordOf(component: Pick<EventComponent, 'named'>, name: string): string {
  return lineOf(component, name)?.value.trim().toUpperCase() ?? ''
}
