import { type ContentLine, parameterOf } from '../../../../kit/content-lines/content-line.ts'
import { makeParameter } from '../../../../kit/content-lines/print-line.ts'
import { readTime } from '../../cards/revision-time.ts'
import { sequenceOf as writtenSequence } from '../edit-times.ts'
import { type EventNode, newProperty, type Property, propertiesOf, replaceProperties } from '../event-tree.ts'

/*
 * The order of objects about one event (RFC 5546 section 2.1.5). A file notes the revision in which it came from its organizer, since
 * changes of an attendee give it another one, and the last reply of each attendee.
 */

export interface Revision {
  sequence: number
  /** DTSTAMP in milliseconds. */
  stamp: number
}

/** Parameters of ours begin so. They are not taken from mails. */
export const OWN_PARAMETER = /^X-WAXWING-/
const ORGANIZERS_NOTE = 'X-WAXWING-REVISION'
const REPLY_NOTE = 'X-WAXWING-REPLIED'
const SEQUENCE_MAX = 2_147_483_647

/** The revision of a component as it is written. */
export function revisionOf(node: EventNode): Revision {
  return { sequence: sequenceOf(node), stamp: stampIn(propertiesOf(node, 'DTSTAMP')[0]?.content.value) }
}

export function sequenceOf(node: EventNode): number {
  return Math.min(writtenSequence(node), SEQUENCE_MAX)
}

/** The organizer's revision that a component of a file has. */
export function organizersRevision(node: EventNode): Revision {
  const [organizer] = propertiesOf(node, 'ORGANIZER')
  return (organizer && noteIn(organizer.content, ORGANIZERS_NOTE)) ?? revisionOf(node)
}

/** Notes the revision in which a component came from its organizer. */
export function noteRevision(node: EventNode, revision: Revision): void {
  const before = propertiesOf(node, 'ORGANIZER')
  const after = before.map(property => withNote(property, ORGANIZERS_NOTE, revision))
  replaceProperties(node, before, after)
}

/** The last reply of an attendee; null if none came by mail. */
export function replyOf(line: ContentLine): Revision | null {
  return noteIn(line, REPLY_NOTE)
}

export function withReply(property: Property & { content: ContentLine }, reply: Revision): Property {
  return withNote(property, REPLY_NOTE, reply)
}

export function isNewer(one: Revision, other: Revision): boolean {
  return one.sequence === other.sequence ? one.stamp > other.stamp : one.sequence > other.sequence
}

function noteIn(line: ContentLine, name: string): Revision | null {
  const [, sequence, stamp] = /^(\d{1,10})-(.*)$/.exec(parameterOf(line, name) ?? '') ?? []
  return sequence === undefined ? null : { sequence: Number(sequence), stamp: stampIn(stamp) }
}

function withNote(
  property: Property & { content: ContentLine },
  name: string,
  { sequence, stamp }: Revision,
): Property {
  const { rawName, parameters, value } = property.content
  const note = `${sequence}-${Number.isFinite(stamp) ? printStamp(stamp) : ''}`
  if (parameterOf(property.content, name) === note) return property
  const kept = parameters.filter(parameter => parameter.name !== name)
  return newProperty({ rawName, parameters: [...kept, makeParameter(name, [note])], value })
}

function stampIn(value: string | undefined): number {
  return readTime(value ?? '')?.getTime() ?? Number.NEGATIVE_INFINITY
}

/** The value of a DTSTAMP. */
export function printStamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}
