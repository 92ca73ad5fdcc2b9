import type { EventChange, TimesOf } from '../../changing-calendars.ts'
import { changeFrom } from '../../new-times.ts'
import { hasServed, isOrganizer, ownLines, setAgent, setResponse, type Writer } from './edit-attendees.ts'
import { addDefinitions } from './edit-context.ts'
import { changeMember, endBefore, keepRest, removeMember, requireOverride, truncate } from './edit-part.ts'
import { stamp, writeStamp } from './edit-times.ts'
import { changeWhole } from './edit-whole.ts'
import type { EventEdit } from './event-edit.ts'
import { printTree, viewOf } from './event-tree.ts'
import { becomeInvitation } from './mailed/new-invitation.ts'
import { takeMailed } from './mailed/take-mailed.ts'
import { newEvent } from './new-event.ts'
import { hasChanged, type OpenEvent, openEvent } from './open-edit.ts'
import { readEvent } from './read-event.ts'
import { readEvents, type ResolveZone } from './read-events.ts'
import { requireProperties, requireRead } from './require-read.ts'
import { MissingMember, UnheldChange, UnwritableEvents } from './unwritable.ts'

export interface EditOptions extends Writer {
  /** Whether the client or the server is to inform the people of the event; null if the server informs nobody. */
  agent: 'client' | 'server' | null
  now: Date
}

/**
 * Changes the event of a file. Only lines of the fields that differ are written.
 * @returns null if nothing of the event is left
 * @throws UnreadableEvents, UnwritableEvents, UnheldChange, MissingMember
 */
export function editEvents(
  bytes: Buffer,
  edit: EventEdit,
  options: EditOptions,
  resolveZone: ResolveZone,
): Buffer | null {
  const open = openEvent(edit.type === 'create' ? newEvent(edit.uid) : bytes, resolveZone, options)
  if (options.agent === 'client') requireSilence(open, edit, options)
  if (edit.type === 'mailed' && !takeMailed(open, edit, options.own, resolveZone)) return bytes
  apply(open, edit, options)
  const nodes = [...(open.master ? [open.master.node] : []), ...open.overrides.map(({ node }) => node)]
  if (nodes.length === 0) return null
  if (options.agent && edit.type !== 'silence')
    for (const node of nodes) setAgent(node, options.agent, options)
  for (const node of open.context.stamps.keys())
    if (open.context.stamps.get(node) || hasChanged(open, node)) writeStamp(node, open.context)
  addDefinitions(open.calendar, open.context)
  const written = printTree(open.tree)
  if (written.equals(bytes)) return written
  requireProperties(written, open.tree)
  requireRead(readEvents(written, resolveZone), open, edit)
  return written
}

/**
 * Lines that the server sends messages about cannot be taken from it: that would itself be a cancellation (RFC 6638 section
 * 3.2.1.2). An attendee may delete the own copy without a message (section 8.1).
 */
function requireSilence({ master, overrides }: OpenEvent, edit: EventEdit, options: EditOptions): void {
  const nodes = [...(master ? [master.node] : []), ...overrides.map(({ node }) => node)]
  const isServed = nodes.some(
    node => (edit.type !== 'silence' || isOrganizer(node, options)) && hasServed(node, options),
  )
  if (isServed) throw new UnheldChange('The calendar server informs people of every change of this event.')
}

function changeAll(open: OpenEvent, asked: EventChange, planned: TimesOf | null, writer: EditOptions): void {
  const start = open.master?.event.start
  const from = start && changeFrom(start, asked, planned)
  if (from === null) throw new MissingMember('The series was moved meanwhile.')
  changeWhole(open, from?.change ?? asked, { timesOf: from?.timesOf ?? null, writer })
}

function apply(open: OpenEvent, edit: EventEdit, options: EditOptions): void {
  switch (edit.type) {
    case 'create':
      return changeWhole(open, edit.fields, { isNew: true, writer: options })
    case 'change':
      if (edit.part.type === 'member') return changeMember(open, edit.part.member, edit.change, options)
      return changeAll(open, edit.change, edit.part.timesOf, options)
    case 'rest':
      keepRest(open, edit.member, edit.uid)
      return changeWhole(open, edit.change, { timesOf: edit.member, writer: options })
    case 'truncate':
      return truncate(open, edit.member)
    case 'end':
      return endBefore(open, edit.member)
    case 'remove':
      return removeMember(open, edit.part.member)
    case 'respond':
      return respond(open, edit, options)
    case 'invited':
      return becomeInvitation(open, options.own)
    case 'mailed':
    case 'silence':
      return
  }
}

function respond(
  open: OpenEvent,
  { part, response }: EventEdit & { type: 'respond' },
  options: EditOptions,
): void {
  const { context, master } = open
  const nodes =
    part.type === 'member'
      ? [requireOverride(open, part.member)]
      : [...(master ? [master.node] : []), ...open.overrides.map(({ node }) => node)]
  const invited = nodes.filter(node => ownLines(node, options.own).length > 0)
  if (invited.length === 0) throw new UnwritableEvents('The account is not invited')
  for (const node of invited) {
    if (readEvent(viewOf(node), context.zoneOf)?.status === 'cancelled') continue
    setResponse(node, response, options.own)
    stamp(node, context, false)
  }
}
