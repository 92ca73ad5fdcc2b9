import { comparedAddress } from '../../../kit/compared-address.ts'
import { type ContentLine, type Parameter, parameterOf } from '../../../kit/content-lines/content-line.ts'
import { makeParameter } from '../../../kit/content-lines/print-line.ts'
import type { EventAddress } from '../../calendars.ts'
import type { AskedAttendee, EventResponse, WriteOptions } from '../../changing-calendars.ts'
import {
  type EventNode,
  newProperty,
  type Property,
  propertiesOf,
  replaceProperties,
  without,
} from './event-tree.ts'
import { escapeText } from '../../../kit/content-lines/text-value.ts'
import { readAddress, typeOf } from './people.ts'

/** The account that writes, and all of its addresses. */
export type Writer = Pick<WriteOptions, 'self' | 'own'>

export const addressOf = (line: ContentLine): string | null => {
  const person = readAddress(line)
  return person && comparedAddress(person.address)
}

/**
 * Replaces the attendees by their addresses. Attendees who stay keep their parameters, among them their responses. Lines of
 * the account itself, and those without a mail address, stay.
 */
export function setAttendees(node: EventNode, asked: readonly AskedAttendee[], { self, own }: Writer): void {
  const before = propertiesOf(node, 'ATTENDEE')
  const wanted = new Map(asked.map(one => [comparedAddress(one.address), one]))
  const kept = before.flatMap(property => {
    const address = addressOf(property.content)
    if (address === null || own.has(address)) return [property]
    const one = wanted.get(address)
    wanted.delete(address)
    return one ? [keep(property, one)] : []
  })
  const added = [...wanted.values()].map(attendee => newProperty(lineOf(attendee)))
  if (asked.length > 0 && propertiesOf(node, 'ORGANIZER').length === 0)
    replaceProperties(node, [], [newProperty(organizerLine(self))])
  replaceProperties(node, before, [...kept, ...added], ['ORGANIZER'])
}

function keep(property: Property & { content: ContentLine }, { name, type }: AskedAttendee): Property {
  const { rawName, parameters, value } = property.content
  const hasName = name === null || readAddress(property.content)?.name === name
  const hasType = typeOf(property.content) === type
  if (hasName && hasType) return property
  const named = hasName ? parameters : [...without(parameters, 'CN'), makeParameter('CN', [name])]
  const typed = hasType ? named : [...without(named, 'CUTYPE', 'ROLE'), ...typeParameters(type)]
  return newProperty({ rawName, parameters: typed, value })
}

/** CUTYPE and ROLE (RFC 5545 sections 3.2.3 and 3.2.16). */
function typeParameters(type: AskedAttendee['type']): Parameter[] {
  if (type === 'resource')
    return [makeParameter('CUTYPE', ['RESOURCE']), makeParameter('ROLE', ['NON-PARTICIPANT'])]
  return [
    makeParameter('CUTYPE', ['INDIVIDUAL']),
    makeParameter('ROLE', [type === 'optional' ? 'OPT-PARTICIPANT' : 'REQ-PARTICIPANT']),
  ]
}

const nameParameters = (name: string | null): Parameter[] =>
  name === null ? [] : [makeParameter('CN', [name])]
/** Readers decode it as a URI. */
const mailto = (address: string): string => `mailto:${address.replaceAll(/[%?#]/g, encodeURIComponent)}`

function lineOf({ name, address, type }: AskedAttendee) {
  const parameters = [
    ...nameParameters(name),
    ...typeParameters(type),
    makeParameter('PARTSTAT', ['NEEDS-ACTION']),
    makeParameter('RSVP', ['TRUE']),
  ]
  return { rawName: 'ATTENDEE', parameters, value: mailto(address) }
}

const organizerLine = ({ name, address }: EventAddress) => ({
  rawName: 'ORGANIZER',
  parameters: nameParameters(name),
  value: mailto(address),
})

const RESPONSES = { accepted: 'ACCEPTED', tentative: 'TENTATIVE', declined: 'DECLINED' } as const

/** The properties by which the account is invited. */
export function ownLines(
  node: EventNode,
  own: ReadonlySet<string>,
): Array<Property & { content: ContentLine }> {
  return propertiesOf(node, 'ATTENDEE').filter(({ content }) => own.has(addressOf(content) ?? ''))
}

/** Sets the account's response. */
export function setResponse(
  node: EventNode,
  { response, comment }: EventResponse,
  own: ReadonlySet<string>,
): void {
  const before = propertiesOf(node, 'ATTENDEE')
  const mine = new Set<Property>(ownLines(node, own))
  const after = before.map(property => {
    if (!mine.has(property)) return property
    const { rawName, parameters, value } = property.content
    const status = makeParameter('PARTSTAT', [RESPONSES[response]])
    return newProperty({ rawName, parameters: [...without(parameters, 'PARTSTAT', 'RSVP'), status], value })
  })
  replaceProperties(node, before, after)
  setComment(node, comment)
}

/** A parameter by which the comment on the last answer is known. Others may have comments of their own. */
const OWN_COMMENT = 'X-WAXWING-RESPONSE'

function setComment(node: EventNode, comment: string | null): void {
  const before = propertiesOf(node, 'COMMENT').filter(
    ({ content }) => parameterOf(content, OWN_COMMENT) !== null,
  )
  const parameters = [makeParameter(OWN_COMMENT, ['TRUE'])]
  const line = { rawName: 'COMMENT', parameters, value: escapeText(comment ?? '') }
  replaceProperties(node, before, comment === null ? [] : [newProperty(line)], ['COMMENT', 'ATTENDEE'])
}

/**
 * Whether the server is to mail the people of an event (RFC 6638 section 7.1). A line that says it with another value, such as
 * NONE, stays.
 */
export function setAgent(node: EventNode, agent: 'client' | 'server', writer: Writer): void {
  const before = propertiesOf(node, isOrganizer(node, writer) ? 'ATTENDEE' : 'ORGANIZER')
  const informed = new Set<Property>(informedLines(node, writer))
  const after = before.map(property => {
    if (!informed.has(property)) return property
    const { rawName, parameters, value } = property.content
    const current = agentOf(property.content)
    if (current !== undefined && current !== 'CLIENT' && current !== 'SERVER') return property
    if (agent === 'client' ? current === 'CLIENT' : current !== 'CLIENT') return property
    const kept = without(parameters, AGENT)
    const added = agent === 'client' ? [...kept, makeParameter(AGENT, ['CLIENT'])] : kept
    return newProperty({ rawName, parameters: added, value })
  })
  replaceProperties(node, before, after)
}

const AGENT = 'SCHEDULE-AGENT'

const agentOf = ({ parameters }: ContentLine): string | undefined =>
  parameters.find(({ name }) => name === AGENT)?.values[0]?.toUpperCase()

/** Whether the account organizes an event. */
export const isOrganizer = (node: EventNode, { own }: Writer): boolean =>
  propertiesOf(node, 'ORGANIZER').some(({ content }) => own.has(addressOf(content) ?? ''))

/** Whether somebody else organizes an event. An organizer without a mail address is not known to be somebody else. */
export const isOfOther = (node: EventNode, own: ReadonlySet<string>): boolean =>
  propertiesOf(node, 'ORGANIZER').some(({ content }) => {
    const address = addressOf(content)
    return address !== null && !own.has(address)
  })

/** A server looks at the attendees of the organizer, and at the organizer of an attendee. */
function informedLines(node: EventNode, writer: Writer) {
  if (!isOrganizer(node, writer)) return propertiesOf(node, 'ORGANIZER')
  return propertiesOf(node, 'ATTENDEE').filter(({ content }) => !writer.own.has(addressOf(content) ?? ''))
}

/** Whether a server that schedules informs anybody of changes of an event. */
export const hasServed = (node: EventNode, writer: Writer): boolean =>
  informedLines(node, writer).some(({ content }) => (agentOf(content) ?? 'SERVER') === 'SERVER')
