import { type ContentLine, parameterOf } from '../../../../kit/content-lines/content-line.ts'
import { makeParameter } from '../../../../kit/content-lines/print-line.ts'
import { addressOf, isOrganizer } from '../edit-attendees.ts'
import { requireOverride } from '../edit-part.ts'
import { stamp } from '../edit-times.ts'
import {
  type EventNode,
  newProperty,
  type Property,
  propertiesOf,
  replaceProperties,
  without,
} from '../event-tree.ts'
import { overrideOf } from '../open-edit.ts'
import { MissingMember } from '../unwritable.ts'
import { mailedNodes, mainNode, memberNamed, type Taking } from './open-mailed.ts'
import { isNewer, replyOf, type Revision, revisionOf, sequenceOf, withReply } from './revision.ts'

const STATUSES: ReadonlySet<string> = new Set(['ACCEPTED', 'TENTATIVE', 'DECLINED'])

interface Answer {
  address: string
  status: string
  revision: Revision
  /** Whether it names the revision of the event that it answers. */
  hasSequence: boolean
}

/** Notes the answer of an attendee to an event of the account, or to members of it. @returns whether it was noted */
export function takeReply(taking: Taking): boolean {
  const { open, own } = taking
  const main = mainNode(open)
  if (!main || !isOrganizer(main, { self: { name: null, address: '' }, own })) return false
  return mailedNodes(taking).filter(node => noteAnswer(taking, node)).length > 0
}

function noteAnswer(taking: Taking, source: EventNode): boolean {
  const { open } = taking
  const answer = answerIn(source)
  const member = memberNamed(taking, source)
  if (!answer || member === null) return false
  if (member === undefined) {
    const { master } = open
    const before = master && statusOf(master.node, answer)
    if (!master || !isDue(master.node, answer)) return false
    // Members to which the attendee answered apart keep that answer.
    const alike = open.overrides.filter(
      ({ node, event }) =>
        event?.status !== 'cancelled' && statusOf(node, answer) === before && isDue(node, answer),
    )
    for (const node of [master.node, ...alike.map(override => override.node)]) write(taking, node, answer)
    return true
  }
  const known = overrideOf(open, member)?.node ?? open.master?.node
  if (!known || !isDue(known, answer)) return false
  try {
    write(taking, requireOverride(open, member), answer)
    return true
  } catch (error) {
    // The series does not have it any more.
    if (error instanceof MissingMember) return false
    throw error
  }
}

function answerIn(source: EventNode): Answer | null {
  const [line] = propertiesOf(source, 'ATTENDEE')
  const address = line ? addressOf(line.content) : null
  const status = line && parameterOf(line.content, 'PARTSTAT')?.toUpperCase()
  if (address === null || status === undefined || !STATUSES.has(status)) return null
  return {
    address,
    status,
    revision: revisionOf(source),
    hasSequence: propertiesOf(source, 'SEQUENCE').length > 0,
  }
}

function linesOf(node: EventNode, { address }: Answer): Array<Property & { content: ContentLine }> {
  return propertiesOf(node, 'ATTENDEE').filter(({ content }) => addressOf(content) === address)
}

function statusOf(node: EventNode, answer: Answer): string | null {
  const [line] = linesOf(node, answer)
  return line ? (parameterOf(line.content, 'PARTSTAT')?.toUpperCase() ?? '') : null
}

/** An answer counts if its author is invited, if it is to the times that the event has, and if no later one came. */
function isDue(node: EventNode, answer: Answer): boolean {
  const [line] = linesOf(node, answer)
  if (!line || (answer.hasSequence && answer.revision.sequence < sequenceOf(node))) return false
  const last = replyOf(line.content)
  return last === null || isNewer(answer.revision, last)
}

function write({ open: { context } }: Taking, node: EventNode, answer: Answer): void {
  const named = new Set<Property>(linesOf(node, answer))
  const before = propertiesOf(node, 'ATTENDEE')
  const after = before.map(property => {
    if (!named.has(property)) return property
    const { rawName, parameters, value } = property.content
    const kept = without(parameters, 'PARTSTAT', 'RSVP')
    const line = { rawName, parameters: [...kept, makeParameter('PARTSTAT', [answer.status])], value }
    return withReply(newProperty(line) as Property & { content: ContentLine }, answer.revision)
  })
  replaceProperties(node, before, after)
  stamp(node, context, false)
}
