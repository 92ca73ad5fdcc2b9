import { type EventNode, propertiesOf, replaceProperties, setValue, viewOf } from './event-tree.ts'
import { nodeOfLines } from './edit-context.ts'
import type { EventTimes } from '../../new-times.ts'
import { minutesOfAlarm } from './reminder.ts'

/**
 * Sets the minutes of the alarm that is shown, which is the first one that reminds of the start. Without a reminder, no such
 * alarm stays. Alarms of other kinds stay in any case.
 */
export function setReminder(node: EventNode, minutes: number | null, times: EventTimes): void {
  const shown = node.items.filter(
    item => item.type === 'component' && minutesOfAlarm(viewOf(item), times) !== null,
  ) as EventNode[]
  const [first] = shown
  if (minutes === null) {
    const gone = new Set<EventNode['items'][number]>(shown)
    node.items = node.items.filter(item => !gone.has(item))
  } else if (first) {
    setValue(first, 'TRIGGER', `-PT${minutes}M`, () => [])
    // It is no longer the one that the calendar gives to each event.
    replaceProperties(first, propertiesOf(first, 'X-APPLE-DEFAULT-ALARM'), [])
  } else node.items.push(nodeOfLines(ALARM.map(line => line.replace('MINUTES', String(minutes)))))
}

const ALARM = ['BEGIN:VALARM', 'ACTION:DISPLAY', 'DESCRIPTION:Reminder', 'TRIGGER:-PTMINUTESM', 'END:VALARM']
